// The plugin server as it is shipped: one binary, a process of its own, that a test may stop and kill.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { policySettings } from "../../stack/gateway/policy_ports.ts"
import { issuerOf, REALM } from "../../stack/realm.ts"
import type { StackState } from "../../stack/state.ts"

const ROOT = join(import.meta.dir, "../..")

/** A running plugin server; what it prints can be read. */
export type PluginProcess = Bun.Subprocess<"ignore", "ignore", "pipe">

/** Resolves once it says that it listens. */
export const listens = async ({ stderr }: PluginProcess): Promise<void> => {
  let said = ""
  for await (const text of stderr.pipeThrough(new TextDecoderStream())) {
    said += text
    if (said.includes("portolan-gate: listens on ")) return
  }
  throw new Error(`the plugin server ended: ${said}`)
}

/** Builds the binary, and the settings it starts from, for a running stack's realm. */
export const pluginBinary = (state: StackState) => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-gate-"))
  const [binary, settingsPath] = [join(folder, "gate"), join(folder, "gate.json")]
  const realmUrl = issuerOf(state.urls.idp, REALM.name)
  writeFileSync(
    settingsPath,
    JSON.stringify({ settings: policySettings(state), realmUrl, webSecret: state.secrets.webClient }),
  )
  const built = Bun.spawnSync(
    [process.execPath, "build", "--compile", "--minify", "stack/plugin/gate_main.ts", "--outfile", binary],
    { cwd: ROOT },
  )
  if (built.exitCode !== 0) throw new Error(built.stderr.toString())
  return {
    folder,
    binary,
    socketPath: (name: string): string => join(folder, `${name}.socket`),
    /** Starts it on a socket. Whether it answers yet is for the test to find out. */
    start: (socket: string): PluginProcess =>
      Bun.spawn([binary, "serve", socket, settingsPath], { stdio: ["ignore", "ignore", "pipe"], env: {} }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
