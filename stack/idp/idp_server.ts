import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Provider } from "oidc-provider"
import { answerControl, isControl, isSameSecret } from "../control.ts"
import { REALM } from "../realm.ts"
import { loginPage, PAGE_HEADERS } from "./pages.ts"
import { grantLogin } from "./provider.ts"

/** Longest login form, in characters. */
const FORM_MAX = 4096

/** What the identity provider serves. */
export interface IdpServerOptions {
  /** Realm name -> its provider. */
  readonly realms: ReadonlyMap<string, Provider>
  readonly userPassword: string
  readonly controlSecret: string
  readonly log: (entry: Readonly<Record<string, unknown>>) => void
}

const readForm = async (request: IncomingMessage): Promise<URLSearchParams> => {
  let text = ""
  for await (const chunk of request) {
    text += chunk
    if (text.length > FORM_MAX) throw new Error("the login form is too long")
  }
  return new URLSearchParams(text)
}

/** The login page of an interaction. Its cookie ties the form to the browser that began it, so no other site can post it. */
const login = async (
  request: IncomingMessage,
  response: ServerResponse,
  provider: Provider,
  realm: string,
  password: string,
): Promise<void> => {
  const { params } = await provider.interactionDetails(request, response)
  const form = request.method === "POST" ? await readForm(request) : undefined
  if (form?.get("username") === REALM.user.name && isSameSecret(form.get("password") ?? "", password)) {
    const result = await grantLogin(provider, String(params["client_id"]))
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  }
  response.writeHead(form === undefined ? 200 : 401, PAGE_HEADERS)
  response.end(loginPage(realm, form !== undefined))
}

/** The identity provider: each realm below `/realms/<name>`, and the login page of the test user. */
export const idpServer = ({ realms, userPassword, controlSecret, log }: IdpServerOptions): Server => {
  let hits = 0
  const callbacks = new Map([...realms].map(([name, provider]) => [name, provider.callback()]))
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    hits++
    const original = request.url ?? "/"
    const [, name = "", rest = "/"] = /^\/realms\/([\w-]+)(\/.*)?$/.exec(original) ?? []
    const [provider, callback] = [realms.get(name), callbacks.get(name)]
    response.on("finish", () =>
      log({ method: request.method, path: original.split("?", 1)[0], outcome: response.statusCode }),
    )
    if (provider === undefined || callback === undefined) return void response.writeHead(404).end()
    // The provider builds its addresses from the original one and finds its routes by the rest.
    Object.assign(request, { originalUrl: original })
    if (rest.startsWith("/login/")) return login(request, response, provider, name, userPassword)
    request.url = rest
    await callback(request, response)
  }
  return createServer((request, response) => {
    if (isControl(request.headers, controlSecret))
      return answerControl(request, response, { service: "idp", pid: process.pid, hits })
    serve(request, response).catch((failure: unknown) => {
      log({ level: "error", message: failure instanceof Error ? failure.message : "request failed" })
      if (!response.headersSent) response.writeHead(400)
      response.end()
    })
  })
}
