// The embedded gateway in this process, with an upstream and an identity provider of the test's choice.
import type { Server as HttpServer } from "node:http"
import type { Server } from "node:net"
import { Layer, ManagedRuntime } from "effect"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { ALLOWED_PATHS, routesOf } from "../../domain/gateway/route_profile.ts"
import { askControl } from "../../stack/control.ts"
import { gatewayServer } from "../../stack/gateway/gateway_server.ts"
import { policyPorts } from "../../stack/gateway/policy_ports.ts"
import { listen } from "../../stack/loopback.ts"
import { echoServer } from "../../stack/upstream/echo_server.ts"

const CONTROL = "control-word-of-the-test"

const portOf = (server: Server): number => (server.address() as { port: number }).port

export const serveOn = async (server: Server): Promise<string> => {
  await listen(server, 0)
  return `http://127.0.0.1:${portOf(server)}`
}

export const ISSUER = "http://idp.example/realms/demo"

/** Every route of specification 4.4, before a realm that nobody serves. */
const SETTINGS: Omit<GatewaySettings, "publicUrl"> = {
  routes: [...routesOf("3.9", "standard"), ...routesOf("2.8", "standard").filter(({ prefix }) => prefix === "/jwt")],
  allowedPaths: ALLOWED_PATHS,
  realm: "demo",
  issuer: ISSUER,
  clientId: "web",
  accessAudience: "account",
  jwtRoles: [],
  authorizationUrl: `${ISSUER}/auth`,
  endSessionUrl: `${ISSUER}/logout`,
}

export interface LocalGatewayOptions {
  /** {@link SETTINGS} when absent. */
  readonly settings?: Omit<GatewaySettings, "publicUrl">
  /** Base address of the realm as the gateway reaches it; nobody listens there when absent. */
  readonly realmUrl?: string
  readonly webSecret?: string
  /** Another upstream than the echoing one; one that already listens is known by its origin. */
  readonly upstream?: HttpServer | string
  /** Milliseconds the upstream may be silent before it answers. */
  readonly answerMs?: number
}

export const startLocalGateway = async ({
  settings = SETTINGS,
  realmUrl = "http://127.0.0.1:1",
  webSecret = "",
  upstream,
  ...more
}: LocalGatewayOptions) => {
  const behind = typeof upstream === "string" ? undefined : (upstream ?? echoServer(CONTROL))
  const upstreamUrl = behind === undefined ? String(upstream) : await serveOn(behind)
  const runtime = ManagedRuntime.make(Layer.orDie(policyPorts({ realmUrl, webSecret })))
  // The public address is known once a port is taken.
  const known = { ...settings, publicUrl: "http://127.0.0.1" }
  const gateway = gatewayServer(await runtime.context(), {
    settings: known,
    upstreamUrl,
    controlSecret: CONTROL,
    log: () => {},
    ...more,
  })
  const url = await serveOn(gateway)
  known.publicUrl = url
  return {
    url,
    server: gateway,
    hits: async (): Promise<number> => {
      const report = await askControl(upstreamUrl, CONTROL)
      if (typeof report === "string") throw new Error(report)
      return report.hits
    },
    stop: async () => {
      gateway.closeAllConnections()
      gateway.close()
      behind?.closeAllConnections()
      behind?.close()
      await runtime.dispose()
    },
  }
}
