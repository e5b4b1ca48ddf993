import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import type { Header } from "../../domain/gateway/verdict.ts"
import type { Frames } from "./frames.ts"
import {
  ExitArgsSchema,
  IntSchema,
  KVSchema,
  StringSchema,
  StructSchema,
  type Value,
  type ValueSchema,
} from "./pluginsocket_pb.ts"

const NOTHING = new Uint8Array()

/** Text of the protocol is what HTTP has: each byte a character (Latin-1), not UTF-8. */
const bytesOf = (text: string): Uint8Array => Buffer.from(text, "latin1")
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

type ValueInit = MessageInitShape<typeof ValueSchema>

const textValue = (text: string): ValueInit => ({ kind: { case: "stringValue", value: bytesOf(text) } })

const text = (v: string): Uint8Array => toBinary(StringSchema, create(StringSchema, { v: bytesOf(v) }))

const pair = (k: string, v: string): Uint8Array =>
  toBinary(KVSchema, create(KVSchema, { k: bytesOf(k), v: textValue(v) }))

/** The texts of a header's value: one, or a list when the request had several lines of the name. */
const textsOf = ({ kind }: Value): ReadonlyArray<string> => {
  if (kind.case === "listValue") return kind.value.values.flatMap(textsOf)
  return [kind.case === "stringValue" ? textOf(kind.value) : ""]
}

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
    return textOf((await this.#ask("kong.request.get_method", NOTHING, StringSchema)).v)
  }

  /** A variable of the server, such as `request_uri`: the request target as it was sent. */
  async variable(name: string): Promise<string> {
    return textOf((await this.#ask("kong.nginx.get_var", text(name), StringSchema)).v)
  }

  /** Header lines of the request, names in lower case; lines of one name stay in order. */
  async headers(max: number): Promise<ReadonlyArray<Header>> {
    const args = toBinary(IntSchema, create(IntSchema, { v: max }))
    const { fields } = await this.#ask("kong.request.get_headers", args, StructSchema)
    return fields.flatMap(({ key, value }) => {
      const name = textOf(key).toLowerCase()
      return (value === undefined ? [""] : textsOf(value)).map((each): Header => [name, each])
    })
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

  /**
   * Answers the client. The gateway ends the event with it and sends nothing back.
   *
   * @param headers several of one name, as `Set-Cookie` may be, go as a list
   */
  exit(status: number, body: string, headers: ReadonlyArray<Header>): void {
    const fields = [...new Set(headers.map(([name]) => name))].map((name) => {
      const [first, ...more] = headers.filter(([each]) => each === name).map(([, value]) => textValue(value))
      const list: ValueInit = { kind: { case: "listValue", value: { values: [first ?? {}, ...more] } } }
      return { key: bytesOf(name), value: more.length === 0 ? first : list }
    })
    this.#frames.write(Buffer.from("kong.response.exit"))
    const args = create(ExitArgsSchema, { status, body: Buffer.from(body), headers: { fields } })
    this.#frames.write(toBinary(ExitArgsSchema, args))
  }
}
