import { Base64 } from "effect/encoding"
import { realmRoles } from "../identity/claims.ts"
import type { TokenObject } from "../identity/token_kind.ts"
import type { Header } from "./verdict.ts"

/** Servers that hand headers on as variables turn `-` into `_`, so both spellings are one name to them. */
const IDENTITY_NAME =
  /^x[-_](userinfo|id[-_]token|access[-_]token|credential[-_]identifier|consumer[-_].*|authenticated[-_].*|anonymous[-_]consumer)$/

/**
 * True for a header that says who the caller is. Only the gateway may set it.
 *
 * @param name in lower case
 */
export const isIdentityHeader = (name: string): boolean => IDENTITY_NAME.test(name)

const SHOWN_CLAIMS = ["sub", "preferred_username", "name", "email", "azp"] as const
const PLAIN = /^[\x21-\x7e]{1,256}$/

/**
 * Says who is asking, in headers that no claim can break out of: a value that is not plain ASCII is dropped or encoded.
 *
 * @param payload claims of a verified token
 * @returns `x-userinfo` (JSON as base64), and the subject and roles when they are plain ASCII
 */
export const identityHeaders = (payload: TokenObject): ReadonlyArray<Header> => {
  const { sub } = payload
  const shown = Object.fromEntries(
    SHOWN_CLAIMS.flatMap((name) => (typeof payload[name] === "string" ? [[name, payload[name]]] : [])),
  )
  const roles = [...realmRoles(payload)].filter((role) => PLAIN.test(role) && !role.includes(","))
  return [
    ["x-userinfo", Base64.encode(JSON.stringify(shown))],
    ...(typeof sub === "string" && PLAIN.test(sub) ? [["x-credential-identifier", sub] as const] : []),
    ...(roles.length > 0 ? [["x-authenticated-groups", roles.join(", ")] as const] : []),
  ]
}
