import { generateKeyPairSync } from "node:crypto"
import type { JWK } from "oidc-provider"
import { issuerOf, REALM } from "../realm.ts"
import { running, runService } from "../run_service.ts"
import type { StackState } from "../state.ts"
import { idpServer } from "./idp_server.ts"
import { makeProvider } from "./provider.ts"

const newKey = (): JWK => ({
  ...(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }) as JWK),
  kid: "portolan-other-1",
  alg: "RS256",
  use: "sig",
})

const realm = ({ urls, secrets }: StackState, name: string, signingKey: JWK) =>
  makeProvider({
    issuer: issuerOf(urls.idp, name),
    signingKey,
    cookieSecret: secrets.control,
    userPassword: secrets.userPassword,
    webSecret: secrets.webClient,
    serviceSecret: secrets.serviceClient,
    proxyUrls: [urls.proxy],
  })

await runService("idp", (state, log) =>
  running(
    idpServer({
      realms: new Map([
        [REALM.name, realm(state, REALM.name, state.secrets.signingKey as JWK)],
        [REALM.otherName, realm(state, REALM.otherName, newKey())],
      ]),
      userPassword: state.secrets.userPassword,
      controlSecret: state.secrets.control,
      log: log.write,
    }),
    state.options.idpPort,
  ),
)
