// The scripted graph behind HTTP: parses requests as the platform does and answers with the graph's own words.
import type { GraphModel, ModelCall } from "./graph_model.ts"
import { type Answer, localServer, type Seen } from "./local_server.ts"

const VERSION = /^\/v\d+\.\d+\//

/** What a request asks the model; the token must have come one way or the other. */
const callOf = ({ method, path, headers, body }: Seen): ModelCall | "unauthorized" => {
  const [target = "", query = ""] = path.split("?", 2)
  const parameters = Object.fromEntries(new URLSearchParams(body === "" ? query : body))
  if (target === "/oauth/access_token") return { operation: "app-token", subject: "", parameters }
  const { access_token: token, ...rest } = parameters
  if (!token && !/^Bearer \S/.test(headers.authorization ?? "")) return "unauthorized"
  const [subject = "", edge = ""] = target.replace(VERSION, "").split("/").map(decodeURIComponent)
  const operations: Readonly<Record<string, ModelCall["operation"]>> = {
    "POST media": "create",
    "POST media_publish": "publish",
    "GET content_publishing_limit": "limit",
    "GET ": "status",
  }
  return { operation: operations[`${method} ${edge}`] ?? "unknown", subject, parameters: rest }
}

const UNAUTHORIZED: Answer = {
  status: 400,
  body: JSON.stringify({ error: { message: "An access token is required", type: "OAuthException", code: 190 } }),
}

/**
 * Serves a model; a lost request or answer becomes a connection that ends without one.
 *
 * @param now the model's time, ms
 */
export const graphServer = (model: GraphModel, now: () => number) =>
  localServer((request) => {
    const call = callOf(request)
    if (call === "unauthorized") return UNAUTHORIZED
    const answer = model.answer(call, now())
    if ("lost" in answer) return "drop"
    const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body)
    return { status: answer.status, headers: answer.headers ?? {}, body }
  })
