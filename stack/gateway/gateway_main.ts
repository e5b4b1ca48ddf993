import { Layer, ManagedRuntime } from "effect"
import { issuerOf, REALM } from "../realm.ts"
import { runService } from "../run_service.ts"
import { startGateway } from "./gateway_server.ts"
import { policyPorts, policySettings } from "./policy_ports.ts"

await runService("gateway", async (state, log) => {
  const { urls, secrets, options } = state
  const ports = policyPorts({ realmUrl: issuerOf(urls.idp, REALM.name), webSecret: secrets.webClient })
  return startGateway(await ManagedRuntime.make(Layer.orDie(ports)).context(), {
    settings: policySettings(state),
    upstreamUrl: urls.upstream,
    controlSecret: secrets.control,
    port: options.proxyPort,
    log: log.write,
  })
})
