import { Layer, ManagedRuntime } from "effect"
import { issuerOf, REALM } from "../realm.ts"
import { runService } from "../run_service.ts"
import { gatewayServer } from "./gateway_server.ts"
import { policyPorts, policySettings } from "./policy_ports.ts"

await runService(
  "gateway",
  ({ options }) => options.proxyPort,
  (state, log) => {
    const { urls, secrets } = state
    const ports = policyPorts({ realmUrl: issuerOf(urls.idp, REALM.name), webSecret: secrets.webClient })
    return gatewayServer(ManagedRuntime.make(Layer.orDie(ports)), {
      settings: policySettings(state),
      upstreamUrl: urls.upstream,
      controlSecret: secrets.control,
      log: log.write,
    })
  },
)
