// A stack, its plugin server as a binary, and nginx with the generated Lua before the same upstream as the embedded gateway.
import { sendRaw } from "../../stack/check/raw_http.ts"
import { GUARD_ANSWER_MS } from "../../stack/docker/images.ts"
import { startStack } from "../stack/running_stack.ts"
import { type NginxGatewayOptions, nginxGateway } from "./nginx_gateway.ts"
import { type PluginProcess, pluginBinary } from "./plugin_process.ts"
import type { Nginx } from "./real_servers.ts"

/** A request line and its header lines as the bytes of a request on a connection of its own. */
export const requestBytes = (target: string, ...lines: ReadonlyArray<string>): string =>
  [`GET ${target} HTTP/1.1`, "Host: gateway.example", "Connection: close", ...lines, "", ""].join("\r\n")

const PATIENCE_MS = 30_000

export const startNginxStack = async (server: Nginx, socketName: string) => {
  const stack = await startStack()
  const plugin = pluginBinary(stack.state)
  const socket = plugin.socketPath(socketName)
  const { proxy, upstream } = stack.state.urls
  const closers: Array<() => unknown> = [() => stack.stop(), plugin.remove]
  const gatewayWith = async (more: Partial<NginxGatewayOptions> = {}) => {
    const options = { socket, publicUrl: proxy, upstreamUrl: upstream, answerMs: GUARD_ANSWER_MS, readTimeout: "5s" }
    const gateway = await nginxGateway(server, { ...options, ...more })
    closers.push(gateway.stop)
    const ask = async (target: string, ...lines: ReadonlyArray<string>) => {
      const startedAt = performance.now()
      const answer = await sendRaw(gateway.url, requestBytes(target, ...lines))
      return { ...answer, ms: performance.now() - startedAt }
    }
    return {
      ...gateway,
      ask,
      /** Waits until a target is answered with a status. */
      until: async (target: string, status: string): Promise<void> => {
        for (const deadline = Date.now() + PATIENCE_MS; ; await Bun.sleep(10)) {
          const { statuses } = await ask(target)
          if (statuses === status) return
          if (Date.now() > deadline)
            throw new Error(`${target} still answers ${statuses}: ${gateway.log().slice(-2000)}`)
        }
      },
    }
  }
  return {
    stack,
    socket,
    plugin,
    gatewayWith,
    startPlugin: (): PluginProcess => {
      const started = plugin.start(socket)
      closers.push(async () => {
        started.kill("SIGKILL")
        await started.exited
      })
      return started
    },
    stop: async () => {
      for (const close of closers.reverse()) await close()
    },
  }
}

export type NginxStack = Awaited<ReturnType<typeof startNginxStack>>
export type NginxGateway = Awaited<ReturnType<NginxStack["gatewayWith"]>>
