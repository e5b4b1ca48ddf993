import { readFileSync } from "node:fs"
import { URL } from "node:url"
import { cookieNames } from "../../domain/gateway/cookies.ts"
import { publicOrigin } from "../gateway/forward_headers.ts"
import { HEADERS_MAX } from "../plugin/judge_event.ts"

/** What the guard needs to know of a stack. */
export interface GuardSettings {
  /** Path of the plugin server's unix socket. */
  readonly socket: string
  /** Milliseconds the plugin server may take to answer before the guard refuses. */
  readonly answerMs: number
  /** Origin a browser reaches the gateway at. */
  readonly publicUrl: string
}

/** A text as Lua writes it: every byte that is not a plain character as a decimal escape. */
const luaText = (text: string): string => {
  const escaped = Buffer.from(text)
    .toString("latin1")
    .replace(/[^\w./:[\]-]/g, (byte) => `\\${String(byte.charCodeAt(0)).padStart(3, "0")}`)
  return `"${escaped}"`
}

const luaSettings = ({ socket, answerMs, publicUrl }: GuardSettings): string => {
  const { scheme, host } = publicOrigin(publicUrl)
  const cookies = Object.values(cookieNames(publicUrl)).map((name) => `[${luaText(name.toLowerCase())}] = true`)
  return `local settings = {
  socket = ${luaText(socket)},
  answer_ms = ${answerMs},
  headers_max = ${HEADERS_MAX - 1},
  public_scheme = ${luaText(scheme)},
  public_host = ${luaText(host)},
  cookies = { ${cookies.join(", ")} },
}
`
}

/**
 * The plugin that runs before all others on every request, and on every answer: what Kong itself does not do as the embedded
 * gateway does. Which headers pass is not decided here but by the plugin server, with the embedded gateway's own code.
 */
export const guardPlugin = (settings: GuardSettings) => {
  const phase = (name: string): readonly [string] => [
    luaSettings(settings) + readFileSync(new URL(`./guard/${name}.lua`, import.meta.url), "utf8"),
  ]
  return {
    name: "pre-function",
    config: { rewrite: phase("rewrite"), access: phase("access"), header_filter: phase("header_filter") },
  } as const
}
