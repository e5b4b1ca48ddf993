// What is to be sent leaves in order, none of it twice, however little the socket takes at a time.
import { deepEqual, equal } from "node:assert/strict"
import { Buffer } from "node:buffer"
import { describe, test } from "node:test"
import fc from "fast-check"
import { Outbox } from "../../../adapters/driving/http_server/outbox.ts"
import type { Piece, Wire } from "../../../adapters/driving/http_server/wire.ts"

/** A socket that takes as many bytes as it is told to. */
class NarrowWire implements Wire {
  readonly writes: Array<string> = []
  ends = 0
  /** Bytes it takes before it is full. */
  room: number

  constructor(room: number) {
    this.room = room
  }

  /** Everything taken, a byte as a character. */
  get taken(): string {
    return this.writes.join("")
  }

  write(piece: Piece): number {
    equal(this.ends, 0, "written after the end")
    const bytes = Buffer.from(piece as Uint8Array)
    const length = Math.min(this.room, bytes.length)
    this.room -= length
    this.writes.push(bytes.toString("latin1", 0, length))
    return length
  }
  pause(): void {}
  resume(): void {}
  end(): void {
    this.ends++
  }
  terminate(): void {}
}

const setUp = (room = Number.POSITIVE_INFINITY) => {
  const wire = new NarrowWire(room)
  const outbox = new Outbox(wire)
  const give = (bytes: number) => {
    wire.room = bytes
    outbox.unblock()
  }
  return { wire, outbox, give }
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, "latin1")

describe("Outbox", () => {
  test("writes at once what can be taken at once", () => {
    const { wire, outbox } = setUp()
    outbox.send("ab")
    outbox.send(bytesOf("c\xff"))
    deepEqual([wire.writes, outbox.blocked], [["ab", "c\xff"], false])
  })

  for (const [what, piece] of [
    ["a text", "abcdef"],
    ["bytes", bytesOf("abcdef")],
  ] as const)
    test(`goes on with ${what} where the socket stopped`, () => {
      const { wire, outbox, give } = setUp(2)
      outbox.send(piece)
      deepEqual([wire.taken, outbox.blocked], ["ab", true])
      give(3)
      deepEqual([wire.taken, outbox.blocked], ["abcde", true])
      give(1)
      deepEqual([wire.taken, outbox.blocked], ["abcdef", false])
    })

  test("writes nothing while the socket takes nothing", () => {
    const { wire, outbox, give } = setUp(1)
    outbox.send("ab")
    const writes = wire.writes.length
    wire.room = 100
    outbox.send("cd")
    outbox.send(bytesOf("ef"))
    outbox.uncork()
    outbox.end()
    deepEqual([wire.writes.length, wire.ends], [writes, 0])
    give(100)
    deepEqual([wire.taken, wire.ends > 0], ["abcdef", true])
  })

  test("a closed socket takes nothing, and nothing is lost of the order", () => {
    let accepts = -1
    const taken: Array<string> = []
    const outbox = new Outbox({
      write: (piece) => {
        if (accepts < 0) return -1
        taken.push(Buffer.from(piece as Uint8Array).toString())
        return piece.length
      },
      end: () => {},
    })
    outbox.send("abc")
    equal(outbox.blocked, true)
    accepts = 1
    outbox.unblock()
    deepEqual(taken, ["abc"])
  })

  test("gathers texts and bytes into one write", () => {
    const { wire, outbox } = setUp()
    outbox.cork()
    for (const piece of ["a", bytesOf("b\x80"), "c", "d", bytesOf("e")]) outbox.send(piece)
    deepEqual(wire.writes, [])
    outbox.uncork()
    deepEqual(wire.writes, ["ab\x80cde"])
    outbox.send("f")
    deepEqual(wire.writes, ["ab\x80cde", "f"])
  })

  test("gathers no more than it has to: long texts leave before the end", () => {
    const { wire, outbox } = setUp()
    outbox.cork()
    for (let sent = 0; sent < 10; sent++) outbox.send("a".repeat(20_000))
    equal(wire.taken.length > 60_000, true)
    outbox.uncork()
    equal(wire.taken, "a".repeat(200_000))
  })

  test("what is too long to be joined leaves in order all the same", () => {
    const pieces = [
      "a".repeat(10),
      bytesOf("b".repeat(100_000)),
      "c".repeat(100_000),
      bytesOf("d".repeat(300_000)),
      "e",
    ]
    const expected = pieces.map((piece) => Buffer.from(piece as Uint8Array).toString("latin1")).join("")
    for (const room of [Number.POSITIVE_INFINITY, 5, 70_000, 150_000]) {
      const { wire, outbox, give } = setUp(room)
      outbox.cork()
      for (const piece of pieces) outbox.send(piece)
      outbox.uncork()
      while (outbox.blocked) give(Math.max(room, 50_000))
      equal(wire.taken === expected, true, `room of ${room}`)
    }
  })

  test("ends after everything sent", () => {
    const { wire, outbox, give } = setUp(1)
    outbox.send("ab")
    outbox.end()
    equal(wire.ends, 0)
    give(1)
    deepEqual([wire.taken, wire.ends > 0], ["ab", true])
  })

  test("drained() waits for the last byte", async () => {
    const { outbox, give } = setUp(1)
    outbox.send("abc")
    let isDrained = false
    const drained = outbox.drained().then(() => {
      isDrained = true
    })
    give(1)
    await Promise.resolve()
    equal(isDrained, false)
    give(1)
    await drained
  })

  test("drained() is over when nobody will take anything any more", async () => {
    const full = setUp(0)
    full.outbox.send("a")
    const drained = full.outbox.drained()
    full.outbox.wake()
    await drained
  })

  test("what one has joined and not got rid of is not overwritten by another", () => {
    const { wire, outbox, give } = setUp(3)
    outbox.cork()
    outbox.send("abcd")
    outbox.send(bytesOf("efgh"))
    outbox.uncork()
    const other = setUp()
    other.outbox.cork()
    other.outbox.send("12345678")
    other.outbox.send(bytesOf("9".repeat(100)))
    other.outbox.uncork()
    give(100)
    deepEqual([wire.taken, other.wire.taken], ["abcdefgh", `12345678${"9".repeat(100)}`])
  })

  test("bytes a caller holds on to are not written to", () => {
    const { outbox, give } = setUp(1)
    const bytes = bytesOf("abc")
    outbox.cork()
    outbox.send(bytes)
    outbox.send("def")
    outbox.uncork()
    give(100)
    equal(Buffer.from(bytes).toString(), "abc")
  })
})

describe("any sequence", () => {
  type Step =
    | { readonly kind: "send"; readonly piece: Piece; readonly text: string }
    | { readonly kind: "cork" | "uncork" }
    | { readonly kind: "give"; readonly bytes: number }

  const length = fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 0, max: 20 }) },
    { weight: 1, arbitrary: fc.constantFrom(64 * 1024, 64 * 1024 + 1, 128 * 1024, 200_000) },
  )
  /** Text that differs at every place, so that nothing can take another's. */
  const textOf = (of: number, seed: number): string =>
    Array.from({ length: Math.ceil(of / 7) }, (_, at) => ((seed * 977 + at) % 10_000_000).toString().padStart(7, "x"))
      .join("")
      .slice(0, of)

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(length, fc.nat(9999), fc.boolean()).map(([of, seed, isText]): Step => {
        const text = textOf(of, seed)
        return { kind: "send", piece: isText ? text : bytesOf(text), text }
      }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: "cork" }) },
    { weight: 1, arbitrary: fc.constant<Step>({ kind: "uncork" }) },
    {
      weight: 4,
      arbitrary: fc
        .oneof(fc.integer({ min: 0, max: 30 }), fc.constantFrom(1000, 100_000))
        .map((bytes): Step => ({ kind: "give", bytes })),
    },
  )

  test("of pieces, on two connections, through sockets as narrow as they like, arrives whole and in order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(1), step), { maxLength: 60 }),
        fc.integer({ min: 0, max: 40 }),
        (steps, room) => {
          const both = [setUp(room), setUp(room)]
          const expected = ["", ""]
          for (const [at, each] of steps) {
            const one = both[at]
            if (one === undefined) continue
            if (each.kind === "send") {
              one.outbox.send(each.piece)
              expected[at] += each.text
            } else if (each.kind === "give") one.give(each.bytes)
            else one.outbox[each.kind]()
            equal(expected[at]?.startsWith(one.wire.taken), true, "a byte lost, doubled or out of order")
          }
          both.forEach(({ wire, outbox, give }, at) => {
            outbox.uncork()
            outbox.end()
            if (wire.taken !== expected[at]) equal(wire.ends, 0, "ended before everything was sent")
            for (let more = 1; outbox.blocked; more *= 2) give(more)
            equal(wire.taken === expected[at], true)
            equal(wire.ends > 0, true)
          })
        },
      ),
      { numRuns: 200 },
    )
  })
})
