// A real agent in dev mode, when there is a `nomad` command (TEST_NOMAD_COMMAND, or on the PATH): started for a suite and
// ended with it.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface NomadAgent {
  readonly url: string
  readonly nodeId: string
  /** Management token, with access control on. */
  readonly token?: string
  readonly stop: () => Promise<void>
}

export const NOMAD_COMMAND = process.env["TEST_NOMAD_COMMAND"] ?? Bun.which("nomad")

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const configuration = (
  ports: { readonly http: number; readonly rpc: number; readonly serf: number },
  acl: boolean,
) => ({
  bind_addr: "127.0.0.1",
  disable_update_check: true,
  ports,
  // Tokens that expire soon are there to be refused.
  acl: { enabled: acl, token_min_expiration_ttl: "1s" },
  plugin: [{ raw_exec: [{ config: [{ enabled: true }] }] }],
  client: {
    enabled: true,
    options: {
      "driver.allowlist": "raw_exec,mock_driver",
      // What asks the surroundings (clouds, other servers) takes seconds and finds nothing here.
      "fingerprint.denylist": "env_aws,env_gce,env_azure,env_digitalocean,vault,consul",
    },
  },
})

/** An agent that ends leaves the secrets of its allocations mounted, and the folders below them cannot be removed. */
const unmountBelow = (folder: string): void => {
  if (!existsSync("/proc/mounts")) return
  const points = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
  for (const point of points) if (point.startsWith(`${folder}/`)) Bun.spawnSync(["umount", "--lazy", point])
}

const until = async <A>(look: () => Promise<A | undefined>, seconds: number): Promise<A> => {
  for (let tries = 0; tries < seconds * 10; tries++) {
    const found = await look().catch(() => undefined)
    if (found !== undefined) return found
    await Bun.sleep(100)
  }
  throw new Error("The agent did not come up")
}

/** The node of an agent, once it is ready to run something. */
export const readyNode = (url: string, token?: string): Promise<string> =>
  until(async () => {
    const headers = token === undefined ? {} : { "x-nomad-token": token }
    const nodes = (await (await fetch(`${url}/v1/nodes`, { headers })).json()) as ReadonlyArray<{
      readonly ID: string
      readonly Status: string
      readonly Drivers: Readonly<Record<string, { readonly Healthy: boolean }>>
    }>
    return nodes.find((node) => node.Status === "ready" && node.Drivers["mock_driver"]?.Healthy === true)?.ID
  }, 30)

/** @param acl access control on; the management token is made here */
export const startNomad = async ({ acl }: { readonly acl: boolean }): Promise<NomadAgent> => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-nomad-"))
  const ports = { http: await freePort(), rpc: await freePort(), serf: await freePort() }
  writeFileSync(join(folder, "agent.json"), JSON.stringify(configuration(ports, acl)))
  const agent = Bun.spawn([NOMAD_COMMAND ?? "nomad", "agent", "-dev", "-config", join(folder, "agent.json")], {
    cwd: folder,
    env: { ...process.env, TMPDIR: folder },
    stdio: ["ignore", "ignore", "ignore"],
  })
  const url = `http://127.0.0.1:${ports.http}`
  const stop = async () => {
    agent.kill("SIGINT")
    await Promise.race([agent.exited, Bun.sleep(5000).then(() => agent.kill("SIGKILL"))])
    await agent.exited
    unmountBelow(folder)
    rmSync(folder, { recursive: true, force: true })
  }
  const bootstrap = () =>
    until(async () => {
      const answer = await fetch(`${url}/v1/acl/bootstrap`, { method: "POST" })
      return answer.ok ? ((await answer.json()) as { readonly SecretID: string }).SecretID : undefined
    }, 30)
  try {
    const token = acl ? await bootstrap() : undefined
    return { url, nodeId: await readyNode(url, token), stop, ...(token === undefined ? {} : { token }) }
  } catch (failure) {
    await stop()
    throw failure
  }
}
