/** The realm both engines bring up: one test user, two clients (specification 17). */
export const REALM = {
  name: "demo",
  /** A second realm of the same provider, whose tokens must open nothing. */
  otherName: "other",
  /** Audience every access token carries, as an identity provider's own default does. */
  accessAudience: "account",
  user: {
    id: "5a1d0f5c-3f0b-4c5e-9a51-7f6f0c3a9b10",
    name: "alice",
    firstName: "Alice",
    lastName: "Example",
    email: "alice@example.test",
    roles: ["user", "catalogue-admin", "operator", "publisher"],
  },
  webClient: "portolan-web",
  serviceClient: "portolan-service",
  serviceRoles: ["service"],
  signingKeyId: "portolan-stack-1",
} as const

/** Where a realm's endpoints are, below its issuer. */
export const ENDPOINTS = {
  authorization: "/protocol/openid-connect/auth",
  token: "/protocol/openid-connect/token",
  keys: "/protocol/openid-connect/certs",
  userinfo: "/protocol/openid-connect/userinfo",
  endSession: "/protocol/openid-connect/logout",
  introspection: "/protocol/openid-connect/token/introspect",
  revocation: "/protocol/openid-connect/revoke",
} as const

/** Issuer of a realm. */
export const issuerOf = (idpUrl: string, realm: string): string => `${idpUrl}/realms/${realm}`
