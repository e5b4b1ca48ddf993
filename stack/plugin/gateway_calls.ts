import { create, type DescMessage, fromBinary, type JsonObject, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt"
import type { Frames } from "./frames.ts"
import { ExitArgsSchema, IntSchema, KVSchema, StringSchema } from "./pluginsocket_pb.ts"

const NOTHING = new Uint8Array()

const textValue = (text: string): Value => create(ValueSchema, { kind: { case: "stringValue", value: text } })

const text = (v: string): Uint8Array => toBinary(StringSchema, create(StringSchema, { v }))

const pair = (k: string, v: string): Uint8Array => toBinary(KVSchema, create(KVSchema, { k, v: textValue(v) }))

/**
 * What a plugin may ask of the gateway while an event is open: a frame with the method, one with its arguments, and one
 * frame back.
 */
export class GatewayCalls {
  readonly #frames: Frames

  constructor(frames: Frames) {
    this.#frames = frames
  }

  async #call(method: string, args: Uint8Array): Promise<Uint8Array> {
    this.#frames.write(Buffer.from(method))
    this.#frames.write(args)
    const reply = await this.#frames.read()
    if (reply === undefined) throw new Error("the gateway ended the event")
    return reply
  }

  async #ask<Schema extends DescMessage>(
    method: string,
    args: Uint8Array,
    schema: Schema,
  ): Promise<MessageShape<Schema>> {
    return fromBinary(schema, await this.#call(method, args))
  }

  async method(): Promise<string> {
    return (await this.#ask("kong.request.get_method", NOTHING, StringSchema)).v
  }

  /** A variable of the server, such as `request_uri`: the request target as it was sent. */
  async variable(name: string): Promise<string> {
    return (await this.#ask("kong.nginx.get_var", text(name), StringSchema)).v
  }

  /** Headers of the request as protobuf bytes; a struct of name and value, or list of values. */
  headers(max: number): Promise<Uint8Array> {
    return this.#call("kong.request.get_headers", toBinary(IntSchema, create(IntSchema, { v: max })))
  }

  async clearHeader(name: string): Promise<void> {
    await this.#call("kong.service.request.clear_header", text(name))
  }

  async setHeader(name: string, value: string): Promise<void> {
    await this.#call("kong.service.request.set_header", pair(name, value))
  }

  /** Path the upstream will see, without query. */
  async setPath(path: string): Promise<void> {
    await this.#call("kong.service.request.set_path", text(path))
  }

  /** A word for the plugins that run after this one. */
  async share(name: string, value: string): Promise<void> {
    await this.#call("kong.ctx.shared.set", pair(name, value))
  }

  /** Answers the client. The gateway ends the event with it and sends nothing back. */
  exit(status: number, body: string, headers: JsonObject): void {
    this.#frames.write(Buffer.from("kong.response.exit"))
    const args = create(ExitArgsSchema, { status, body: Buffer.from(body), headers })
    this.#frames.write(toBinary(ExitArgsSchema, args))
  }
}
