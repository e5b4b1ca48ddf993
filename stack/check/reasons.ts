/** Why a difference matters, and who says so. */
export interface Reason {
  readonly why: string
  /** RFC, advisory or weakness (CWE). */
  readonly source: string
}

/** Every reason, the gravest first: in this order differences of one severity are shown. */
export const REASONS = {
  "no-credential": {
    why: "A caller without any credential reaches what is behind the gateway.",
    source: "RFC 9110 section 11.6.1; CWE-306",
  },
  "refused-path": {
    why: "A path that the policy refuses reaches the upstream.",
    source: "CWE-862",
  },
  unsigned: {
    why: "A token that nobody signed is believed: whoever can write JSON is any user.",
    source: "RFC 8725 section 3.2; CVE-2022-23540",
  },
  forged: {
    why: "The signature is not checked against the realm's key: a token that was changed, or made up, is believed.",
    source: "RFC 7515 section 5.2; RFC 8725 section 3.3; CWE-347",
  },
  "confused-algorithm": {
    why: "The realm's public key is taken for a shared secret, and everybody has it.",
    source: "RFC 8725 section 3.1; CVE-2015-9235",
  },
  "key-from-token": {
    why: "The token says which key it is checked with, so an attacker's own key does.",
    source: "RFC 8725 section 3.10; CVE-2018-0114",
  },
  "path-confusion": {
    why: "The policy judges one spelling of the path and the upstream reads another, so a refused path is reached.",
    source: "RFC 3986 section 6.2.2; CVE-2021-29492",
  },
  "path-prefix": {
    why: "The rule ends in the middle of a name, so other paths that begin alike are open with it.",
    source: "RFC 3986 section 3.3; CWE-863",
  },
  smuggling: {
    why: "Two readers end this request at different places: one caller's bytes become another request, which nobody judges.",
    source: "RFC 9112 sections 6.1 and 11.2; CWE-444",
  },
  issuer: {
    why: "A token of somebody else's realm is believed.",
    source: "RFC 7519 section 4.1.1; RFC 8725 section 3.8",
  },
  audience: {
    why: "A token that was made for another application is believed, so every application can act as its users here.",
    source: "RFC 7519 section 4.1.3; RFC 8725 section 3.9",
  },
  kind: {
    why: "A token of another kind is taken for the kind that this route asks for; ID, refresh and logout tokens travel elsewhere.",
    source: "RFC 8725 sections 3.11 and 3.12; RFC 9068 section 4",
  },
  expiry: {
    why: "A token is believed outside its time, so one that was stolen or withdrawn stays good.",
    source: "RFC 7519 sections 4.1.4 and 4.1.5",
  },
  leeway: {
    why: "A token outlives its time by seconds. Small leeway is allowed; ours is none.",
    source: "RFC 7519 section 4.1.4",
  },
  binding: {
    why: "A token that is bound to its owner's key works for whoever copied it.",
    source: "RFC 9449 section 7.2",
  },
  critical: {
    why: "The token demands an extension that the gateway does not know, and is believed all the same.",
    source: "RFC 7515 section 4.1.11",
  },
  role: {
    why: "A caller without the role that the route asks for is let in.",
    source: "RFC 6750 section 3.1; CWE-862",
  },
  "token-place": {
    why: "A credential counts where it does not belong: in addresses and cookies it is logged, and sent along by other sites.",
    source: "RFC 6750 sections 2.3 and 5.3; RFC 9700 section 4.3.2",
  },
  "two-credentials": {
    why: "With two credentials the gateway may judge one and the upstream use the other.",
    source: "RFC 9110 section 5.3; CWE-436",
  },
  host: {
    why: "With two hosts, or none, the gateway may judge one site and the upstream serve another.",
    source: "RFC 9112 section 3.2; CWE-436",
  },
  "header-syntax": {
    why: "Another reader sees another header in this line than the gateway did.",
    source: "RFC 9112 sections 5.1 and 5.2; CWE-444",
  },
  "identity-header": {
    why: "The upstream believes these headers when they say who asks, and here the client wrote them.",
    source: "CWE-290; CVE-2025-64484",
  },
  injection: {
    why: "A claim of a token breaks out of its header, so its owner writes headers of the gateway's.",
    source: "RFC 9110 section 5.5; CWE-113",
  },
  "arrival-header": {
    why: "The client says where it comes from or which host it asked for, and the upstream builds links and rules on that.",
    source: "RFC 7239 section 8.1; CWE-348",
  },
  "hop-header": {
    why: "Headers of one connection are handed on, or name others that the gateway then drops.",
    source: "RFC 9110 section 7.6.1; CVE-2024-45410",
  },
  "session-cookie": {
    why: "The upstream sets the gateway's session cookie, so it can put a browser into somebody else's session.",
    source: "RFC 6265 section 8.6; CWE-384",
  },
  "login-host": {
    why: "The login leads back to a host the client made up, and the code goes there.",
    source: "RFC 9700 section 4.1; CWE-601",
  },
  login: {
    why: "Without PKCE, state and nonce another browser can end, or begin, this login.",
    source: "RFC 9700 sections 2.1.1 and 4.7; OpenID Connect Core section 15.5.2",
  },
  cookie: {
    why: "Scripts can read this cookie, or other sites send it along.",
    source: "RFC 6265 section 8.2; CWE-1004; CWE-1275",
  },
  logout: {
    why: "Another site can log a browser out.",
    source: "OpenID Connect RP-Initiated Logout section 6; CWE-352",
  },
  method: {
    why: "The method that is judged is not the one that is used, or TRACE shows a client its own credentials.",
    source: "RFC 9110 section 9.3.8; CWE-650",
  },
  "bad-target": {
    why: "This is no valid address; readers that mend it do so in different ways.",
    source: "RFC 3986 section 2.1; RFC 3629 section 3",
  },
  size: {
    why: "A request without a limit costs the gateway memory, and the upstream too.",
    source: "RFC 6585 section 5; CWE-770",
  },
  challenge: {
    why: "A client cannot tell what to do about the refusal, or is told too much.",
    source: "RFC 6750 section 3; RFC 9110 section 15.5.2",
  },
  "no-browser": {
    why: "A program is sent to a login page that only a person can use.",
    source: "RFC 9110 section 15.5.2",
  },
  "repeated-line": {
    why: "A header that came in two lines loses one of them.",
    source: "RFC 9110 section 5.3; RFC 6265 section 5.4",
  },
  bytes: { why: "A header's bytes are changed, or not taken.", source: "RFC 9110 section 5.5" },
  scheme: { why: "The name of the scheme may be written in any case.", source: "RFC 9110 section 11.1" },
  upgrade: {
    why: "An offer to change the protocol may be ignored, and the request is an ordinary one.",
    source: "RFC 9110 section 7.8",
  },
  open: { why: "What should be open to this caller is not.", source: "the check's own expectation" },
} as const satisfies Readonly<Record<string, Reason>>

/** Name of a reason. */
export type ReasonName = keyof typeof REASONS

/** A reason's place, 0 for the gravest. */
export const rankOf = (name: ReasonName): number => Object.keys(REASONS).indexOf(name)
