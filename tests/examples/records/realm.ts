// A realm for this run. In production the public key is that of the identity provider, and it makes the tokens.
import { exportSPKI, generateKeyPair, SignJWT } from "jose"

/** Makes a key pair and a token of it with these realm roles, good for five minutes. */
export const makeRealm = async (roles: ReadonlyArray<string>) => {
  const { publicKey, privateKey } = await generateKeyPair("RS256")
  const token = await new SignJWT({ typ: "Bearer", realm_access: { roles } })
    .setProtectedHeader({ alg: "RS256" })
    .setExpirationTime("5m")
    .sign(privateKey)
  return { publicKey: await exportSPKI(publicKey), token }
}
