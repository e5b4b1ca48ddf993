import { exportSPKI, generateKeyPair, SignJWT } from "jose"

/** Lifetime of the demo token. */
const TOKEN_LIFETIME = "12h"

/** Realm roles of the demo token: all that any route of the demo asks for. */
export const DEMO_ROLES = ["catalogue-admin", "operator", "publisher"]

/**
 * Makes a realm that exists for one run of the demo.
 *
 * @returns its public key in PEM, and an access token signed by it; the private key never leaves this function
 */
export const makeDemoRealm = async (): Promise<{ readonly publicKey: string; readonly token: string }> => {
  const { publicKey, privateKey } = await generateKeyPair("RS256")
  const token = await new SignJWT({ typ: "Bearer", preferred_username: "alice", realm_access: { roles: DEMO_ROLES } })
    .setProtectedHeader({ alg: "RS256", typ: "JWT" })
    .setSubject("alice")
    .setIssuedAt()
    .setExpirationTime(TOKEN_LIFETIME)
    .sign(privateKey)
  return { publicKey: await exportSPKI(publicKey), token }
}
