import { createServer, type Server, type Socket } from "node:net"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import type { GatewayRequest } from "../../domain/gateway/gateway_request.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { Frames } from "./frames.ts"
import { GatewayCalls } from "./gateway_calls.ts"
import { judgeEvent } from "./judge_event.ts"
import { PLUGIN } from "./plugin_info.ts"
import { type RpcCall, RpcCallSchema, RpcReturnSchema } from "./pluginsocket_pb.ts"

/** What the plugin server decides by. */
export interface PluginServerOptions {
  readonly decide: (request: GatewayRequest) => Promise<Verdict>
  /** Origin a browser reaches the gateway at. */
  readonly publicUrl: string
  /** Takes a line for the log. */
  readonly say: (line: string) => void
}

type Answer = NonNullable<MessageInitShape<typeof RpcReturnSchema>["return"]>

const status = (instanceId: number): Answer => ({
  case: "instanceStatus",
  value: { name: PLUGIN.Name, instanceId, startedAt: BigInt(Math.floor(Date.now() / 1000)) },
})

/** Answers of everything but events. Instances carry no settings: after a restart the gateway may go on using old ones. */
const answerTo = ({ call }: RpcCall, nextInstance: () => number): Answer => {
  switch (call.case) {
    case "cmdGetPluginNames":
      return { case: "pluginNames", value: { names: [PLUGIN.Name] } }
    case "cmdGetPluginInfo":
      return {
        case: "pluginInfo",
        value: {
          name: PLUGIN.Name,
          phases: [...PLUGIN.Phases],
          version: PLUGIN.Version,
          priority: PLUGIN.Priority,
          schema: JSON.stringify(PLUGIN.Schema),
        },
      }
    case "cmdStartInstance":
      return status(nextInstance())
    case "cmdGetInstanceStatus":
    case "cmdCloseInstance":
      return status(call.value.instanceId)
    default:
      return { case: undefined }
  }
}

/** Serves one connection of the gateway: one call after another. */
const serve = async (
  socket: Socket,
  { decide, publicUrl, say }: PluginServerOptions,
  nextInstance: () => number,
): Promise<void> => {
  const frames = new Frames(socket)
  for (;;) {
    const frame = await frames.read()
    if (frame === undefined) return
    const call = fromBinary(RpcCallSchema, frame)
    const isEvent = call.call.case === "cmdHandleEvent"
    if (isEvent) {
      if (!(await judgeEvent(new GatewayCalls(frames), decide, publicUrl, say))) {
        // The gateway ends the event with its answer to the client and closes the connection.
        socket.end()
        return
      }
      // An empty frame: no more questions.
      frames.write(new Uint8Array())
    }
    const answer = create(RpcReturnSchema, { sequence: call.sequence, return: answerTo(call, nextInstance) })
    frames.write(toBinary(RpcReturnSchema, answer))
  }
}

/** The policies as an external plugin server of the gateway, over its ProtoBuf protocol. */
export const pluginServer = (options: PluginServerOptions): Server => {
  let instances = 0
  return createServer((socket) => {
    // A connection that breaks ends its event. The sentinel plugin then refuses the request.
    socket.on("error", () => socket.destroy())
    serve(socket, options, () => ++instances).catch((failure: Error) => {
      // One that the gateway breaks off, as it does with every slow event, is said where the event ends.
      if (!socket.destroyed) options.say(`a connection failed: ${failure.message}`)
      socket.destroy()
    })
  })
}
