// One binary for the gateway's container: `gate -dump`, `gate serve <socket> <settings file>`, `gate upstream <port> <secret file>`.
import { readFileSync, rmSync } from "node:fs"
import { Layer, ManagedRuntime } from "effect"
import { decide } from "../../application/gateway/decide.ts"
import { failed } from "../../domain/gateway/verdict.ts"
import { policyPorts } from "../gateway/policy_ports.ts"
import { redact } from "../service_log.ts"
import { echoServer } from "../upstream/echo_server.ts"
import type { GateSettings } from "./gate_settings.ts"
import { pluginDump } from "./plugin_info.ts"
import { pluginServer } from "./plugin_server.ts"

/** The gateway puts each line into its own log. */
const say = (line: string): void => void process.stderr.write(`portolan-gate: ${redact(line)}\n`)

// The gateway's worker that reads these lines may end before this process; there is nobody left to tell then.
process.stderr.on("error", () => {})

const serveGate = (socketPath: string, settingsPath: string): void => {
  const { settings, realmUrl, webSecret } = JSON.parse(readFileSync(settingsPath, "utf8")) as GateSettings
  const runtime = ManagedRuntime.make(Layer.orDie(policyPorts({ realmUrl, webSecret })))
  const server = pluginServer({
    decide: (request) => runtime.runPromise(decide(request, settings)).catch(() => failed),
    publicUrl: settings.publicUrl,
    say,
  })
  rmSync(socketPath, { force: true })
  server.listen(socketPath, () => say(`listens on ${socketPath}`))
}

const [command, first = "", second = ""] = process.argv.slice(2)
if (command === "-dump") process.stdout.write(`${pluginDump()}\n`)
else if (command === "serve") serveGate(first, second)
else if (command === "upstream") echoServer(readFileSync(second, "utf8").trim()).listen(Number(first))
else process.exit(2)
