import { Layer, ManagedRuntime } from "effect"
import { issuerOf, REALM } from "../realm.ts"
import { running, runService } from "../run_service.ts"
import { gatewayServer } from "./gateway_server.ts"
import { policyPorts, policySettings } from "./policy_ports.ts"

await runService("gateway", async (state, log) => {
  const { urls, secrets, options } = state
  const ports = policyPorts({ realmUrl: issuerOf(urls.idp, REALM.name), webSecret: secrets.webClient })
  const server = gatewayServer(await ManagedRuntime.make(Layer.orDie(ports)).context(), {
    settings: policySettings(state),
    upstreamUrl: urls.upstream,
    controlSecret: secrets.control,
    log: log.write,
  })
  return running(server, options.proxyPort)
})
