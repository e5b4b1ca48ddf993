import { isObject } from "../../domain/json_object.ts"
import type { Echo } from "../upstream/echo_server.ts"
import type { RawAnswer } from "./raw_http.ts"

/** How the check knows what reached the upstream. The first of them that is there decides. */
export interface UpstreamWatch {
  /** Requests the upstream has answered so far: the surest way, and the only one that sees a request behind a refusal. */
  readonly hits?: () => Promise<number | undefined>
  /** Text that is in every answer of the upstream and in none of the gateway's own. */
  readonly marker?: string
}

/** What the upstream says it received, if this is its answer and it echoes. */
export const echoOf = (body: string): Echo | undefined => {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) && typeof value["path"] === "string" && Array.isArray(value["headers"])
      ? (value as unknown as Echo)
      : undefined
  } catch {
    return undefined
  }
}

/** What is known of the upstream before the rows are asked. */
export interface Watched extends UpstreamWatch {
  /** True when the upstream's answers say what it received, as our echo upstream's do. */
  readonly echoes: boolean
}

/** How it is known what reached the upstream, as a sentence for people. */
export const watchSentence = ({ hits, marker, echoes }: Watched): string => {
  const how =
    hits !== undefined
      ? "its counter says what reached the upstream"
      : marker !== undefined
        ? "an answer with the marker is the upstream's"
        : echoes
          ? "an answer that echoes is the upstream's"
          : "nothing tells what reached the upstream: every 2xx counts as reached (--upstream or --marker would tell)"
  return echoes ? how : `${how}; it does not echo, so rows about headers are not asked`
}

type Answer = RawAnswer["answers"][number]

/** True when an answer comes from the upstream, as far as its text tells. */
export const isFromUpstream = ({ status, head, body }: Answer, method: string, watched: Watched): boolean => {
  const { marker, echoes } = watched
  if (marker !== undefined) return head.includes(marker) || body.includes(marker)
  // An answer without a body echoes nothing.
  if (echoes && method !== "HEAD" && body !== "") return echoOf(body) !== undefined
  return status.startsWith("2")
}
