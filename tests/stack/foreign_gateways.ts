// Gateways of others before our echo upstream, each with what a team may get wrong.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { probePort } from "../../stack/loopback.ts"
import type { StackState } from "../../stack/state.ts"
import type { Nginx } from "../support/real_servers.ts"
import { serveOn } from "./local_gateway.ts"

export interface ForeignGateway {
  readonly url: string
  readonly stop: () => Promise<void>
}

const ANSWER_MS = 20_000

/** Runs a gateway and waits until it answers. */
const launch = async (command: ReadonlyArray<string>, url: string, ended: () => void): Promise<ForeignGateway> => {
  const child = Bun.spawn([...command], { stdio: ["ignore", "ignore", "pipe"] })
  const complaint = new Response(child.stderr).text()
  const stop = async () => {
    child.kill("SIGKILL")
    await child.exited
    ended()
  }
  const until = Date.now() + ANSWER_MS
  for (;;) {
    const answers = await fetch(url, { redirect: "manual" }).then(
      () => true,
      () => false,
    )
    if (answers) return { url, stop }
    if (child.exitCode !== null || Date.now() > until) {
      await stop()
      throw new Error(`${command[0]} does not answer: ${(await complaint).slice(-500)}`)
    }
    await Bun.sleep(50)
  }
}

const freePort = async (): Promise<number> => {
  const port = await probePort(0)
  if (port === undefined) throw new Error("no port is free")
  return port
}

/** Believes whatever says that it comes from the realm and is not over: nobody looks at the signature. */
const carelessChecker = (issuer: string) =>
  createServer((request, response) => {
    request.resume()
    const [, body = ""] = (request.headers.authorization ?? "").replace(/^Bearer /, "").split(".")
    const text = Buffer.from(body, "base64url").toString("utf8")
    const claims = text.startsWith("{") ? (JSON.parse(text) as { readonly iss?: unknown; readonly exp?: unknown }) : {}
    const isGood = claims.iss === issuer && typeof claims.exp === "number" && claims.exp > Date.now() / 1000
    if (isGood) return void response.end()
    response.writeHead(401, { "www-authenticate": 'Bearer realm="demo"' }).end()
  })

/** nginx with a checker of tokens beside it. Its open location ends in the middle of a name. */
export const startNginx = async ({ command }: Nginx, upstreamUrl: string, issuer: string): Promise<ForeignGateway> => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-nginx-"))
  const checker = carelessChecker(issuer)
  const [checkerUrl, port] = [await serveOn(checker), await freePort()]
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const configuration = join(folder, "nginx.conf")
  writeFileSync(
    configuration,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr error; worker_processes 1;
events {}
http {
  access_log off; ${temporary.join(" ")}
  server {
    listen 127.0.0.1:${port};
    location /shop/list { proxy_pass ${upstreamUrl}; }
    location /shop/admin { return 403; }
    location /shop/orders { auth_request /judge; proxy_pass ${upstreamUrl}; }
    location /judge { internal; proxy_pass ${checkerUrl}; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
    location / { return 404; }
  }
}
`,
  )
  return launch([command, "-p", folder, "-c", configuration, "-e", "stderr"], `http://127.0.0.1:${port}`, () => {
    checker.closeAllConnections()
    checker.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** oauth2-proxy as an application's only guard, its open path a pattern without an end. */
export const startOauth2Proxy = async (command: string, upstreamUrl: string, { urls, secrets }: StackState) => {
  const port = await freePort()
  const options = {
    provider: "oidc",
    "oidc-issuer-url": `${urls.idp}/realms/demo`,
    "client-id": "portolan-web",
    "client-secret": secrets.webClient,
    "cookie-secret": "0123456789abcdef0123456789abcdef",
    "cookie-secure": "false",
    "email-domain": "*",
    "insecure-oidc-allow-unverified-email": "true",
    "redirect-url": `http://127.0.0.1:${port}/oauth2/callback`,
    "skip-jwt-bearer-tokens": "true",
    "skip-auth-route": "GET=^/shop/list",
    "api-route": "^/shop/orders",
    "skip-provider-button": "true",
    "standard-logging": "false",
    "request-logging": "false",
    "auth-logging": "false",
    upstream: upstreamUrl,
    "http-address": `127.0.0.1:${port}`,
  }
  const words = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  return launch([command, ...words], `http://127.0.0.1:${port}`, () => {})
}
