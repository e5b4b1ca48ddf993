import type { Line, Route } from "../../domain/gateway/route_profile.ts"
import { ALLOWED } from "../plugin/judge_event.ts"
import { PLUGIN } from "../plugin/plugin_info.ts"
import { type GuardSettings, guardPlugin } from "./guard.ts"

/** Name and port of a service as the other containers reach it. */
const UPSTREAM_ADDRESS = "http://upstream:8900"

/**
 * Runs after every other plugin and refuses requests that the policies have not allowed. The gateway itself would let a
 * request go on when its plugin server is dead, slow or broken.
 */
const SENTINEL = {
  name: "post-function",
  config: {
    access: [
      `if kong.ctx.shared.${ALLOWED.name} ~= '${ALLOWED.value}' then return kong.response.exit(500, { message = 'authorization did not run' }) end`,
    ],
  },
} as const

/** A route's path as the line's router reads it: a regular expression that ends at a segment boundary. */
const routePath = (line: Line, { prefix }: Route): string => `${line === "3.9" ? "~" : ""}${prefix}(?:/|$)`

/**
 * The gateway's declarative configuration: the guard before everything, and a route per prefix, each with the policies and the
 * sentinel.
 */
export const kongConfig = (line: Line, routes: ReadonlyArray<Route>, guard: GuardSettings) => ({
  _format_version: line === "3.9" ? "3.0" : "2.1",
  plugins: [guardPlugin(guard)] as const,
  services: [
    {
      name: "upstream",
      url: UPSTREAM_ADDRESS,
      retries: 0,
      routes: routes.map((route) => ({
        name: route.prefix.slice(1),
        paths: [routePath(line, route)],
        // The policies set the path that they judged. The gateway must not make another one of it.
        strip_path: false,
        preserve_host: false,
        plugins: [{ name: PLUGIN.Name, config: {} }, SENTINEL],
      })),
    },
  ],
})
