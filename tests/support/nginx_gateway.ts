// The texts of the generated kong.yml in real nginx with its Lua module. `kong_played.lua` plays Kong around them; the texts,
// nginx, Lua's sockets, the plugin server and the upstream are real.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { routesOf } from "../../domain/gateway/route_profile.ts"
import { kongConfig } from "../../stack/docker/kong_config.ts"
import { probePort } from "../../stack/loopback.ts"
import type { Nginx } from "./real_servers.ts"

const READY_MS = 30_000

export interface NginxGatewayOptions {
  /** Path of the plugin server's socket, there or not. */
  readonly socket: string
  readonly publicUrl: string
  readonly upstreamUrl: string
  /** Milliseconds the guard waits for the plugin server. */
  readonly answerMs: number
  /** The limit of every socket of Lua, as nginx writes it. */
  readonly readTimeout: string
  /** False leaves the guard's first text out, to show what it is for. */
  readonly guarded?: boolean
}

export const nginxGateway = async ({ command, modules }: Nginx, options: NginxGatewayOptions) => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-nginx-"))
  const { socket, publicUrl, upstreamUrl, answerMs, readTimeout, guarded = true } = options
  const { plugins, services } = kongConfig("2.8", routesOf("3.9", "standard"), { socket, answerMs, publicUrl })
  const [guard] = plugins
  const routes = services.flatMap((service) => service.routes)
  const sentinel = routes[0]?.plugins.flatMap((plugin) => ("access" in plugin.config ? plugin.config.access : []))[0]
  writeFileSync(
    join(folder, "config.json"),
    JSON.stringify({
      socket,
      guard: {
        rewrite: guarded ? guard.config.rewrite[0] : "return function() end",
        access: guard.config.access[0],
        header_filter: guard.config.header_filter[0],
      },
      sentinel,
      routes: routes.map(({ name, paths: [path] }) => ({ name, path })),
    }),
  )
  const port = (await probePort(0)) ?? 0
  const upstream = new URL(upstreamUrl).host
  writeFileSync(
    join(folder, "nginx.conf"),
    `load_module ${modules}/ndk_http_module.so;
load_module ${modules}/ngx_http_lua_module.so;
${process.getuid?.() === 0 ? "user root;" : ""}
worker_processes 2;
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log info;
events { worker_connections 512; }
http {
  log_format asked "$pid $request_uri $status";
  access_log ${folder}/access.log asked;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  lua_package_path "${import.meta.dir}/?.lua;/usr/share/lua/5.1/?.lua;;";
  lua_socket_log_errors off;
  underscores_in_headers on;
  large_client_header_buffers 4 32k;
  init_by_lua_block { played = require "kong_played"; played.init("${folder}/config.json") }
  server {
    listen 127.0.0.1:${port} reuseport;
    lua_socket_read_timeout ${readTimeout};
    rewrite_by_lua_block { played.rewrite() }
    access_by_lua_block { played.access() }
    header_filter_by_lua_block { played.header_filter() }
    location / {
      set $upstream_uri "";
${["for", "proto", "host", "port", "path", "prefix"].map((name) => `      set $upstream_x_forwarded_${name} "";\n      proxy_set_header X-Forwarded-${name} $upstream_x_forwarded_${name};`).join("\n")}
      set $upstream_connection "";
      set $upstream_upgrade "";
      set $upstream_te "";
      proxy_http_version 1.1;
      proxy_set_header Host ${upstream};
      proxy_set_header Connection $upstream_connection;
      proxy_set_header Upgrade $upstream_upgrade;
      proxy_set_header TE $upstream_te;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_pass http://${upstream}$upstream_uri;
    }
  }
}
`,
  )
  const nginx = Bun.spawn([command, "-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")], {
    stdio: ["ignore", "ignore", "ignore"],
  })
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    nginx.kill()
    await nginx.exited
    rmSync(folder, { recursive: true })
  }
  const log = (): string => readFileSync(join(folder, "error.log"), "utf8")
  for (const deadline = Date.now() + READY_MS; ; await Bun.sleep(20)) {
    if (await fetch(url).catch(() => undefined)) break
    if (nginx.exitCode === null && Date.now() <= deadline) continue
    const said = log()
    await stop()
    throw new Error(`nginx did not start: ${said}`)
  }
  return {
    url,
    log,
    /** What was asked so far: `worker target status` each. */
    asked: (): ReadonlyArray<string> => readFileSync(join(folder, "access.log"), "utf8").trimEnd().split("\n"),
    stop,
  }
}
