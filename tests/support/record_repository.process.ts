// A second process on the same store. Started with the store's address; reads one command a line, answers one line each:
//   create N   N creates at once     -> the ids, as JSON
//   list       the first page        -> the ids, as JSON
//   has ID                           -> true or false
//   churn N    creates and deletes, in N lanes without end, also over failures -> [what, lane, id], one a line: "created" and
//              "deleted" once acknowledged, "deleting" before the call
//   once KEY   creates three records with this key, or one when the key ends in "1", until it is answered
//              -> [KEY, first id], whenever that is
//   count N    N records, each replaced by the next number without end, also over failures -> [id, number] once acknowledged,
//              one a line
//   stream N   creates, N at a time, without end -> each id as soon as it is acknowledged, one a line
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { Cause, Context, Effect, Exit, Layer, Logger, ManagedRuntime, Redacted } from "effect"
import { RecordRepository } from "../../domain/records/record_repository.ts"

const [address = "", collection = ""] = process.argv.slice(2)

const sqliteLayer = async (path: string) => {
  const records = await import("../../adapters/driven/record_repository/sqlite.ts")
  const database = await import("../../adapters/driven/sqlite_database.ts")
  return Layer.provide(records.layer, database.layer({ path }))
}

const mongoLayer = async (url: string) => {
  const records = await import("../../adapters/driven/record_repository/mongo.ts")
  const connection = await import("../../adapters/driven/mongo_connection.ts")
  const options = { url: Redacted.make(url), maxOpenConnections: undefined, maxIdleConnections: undefined }
  const singleWriter = process.env["TEST_MONGODB_ATOMIC_UPDATES"] === "false"
  return Layer.provide(records.layer({ singleWriter }), connection.layer(options))
}

// Standard output is for the answers.
const log = Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])
const store = await (address.startsWith("mongodb") ? mongoLayer(address) : sqliteLayer(address))
const runtime = ManagedRuntime.make(Layer.provideMerge(store, log))
const repository = Context.get(await runtime.context(), RecordRepository)
/** The line has left this process when this returns: a kill at the next moment does not take it back. */
const say = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`)

const create = async (): Promise<number> =>
  (await Effect.runPromise(repository.create(collection, { by: process.pid }))).id

/** The records of a key tell whose they are. */
const once = async (key: string): Promise<void> => {
  const records = Array.from({ length: key.endsWith("1") ? 1 : 3 }, (_, at) => ({ key, at }))
  for (;;)
    try {
      const created = repository.createAll(collection, records, { caller: "c", key, digest: "d", atMs: Date.now() })
      say([key, (await runtime.runPromise(created)).firstId])
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
}

const COMMANDS: Readonly<Record<string, (argument: number) => Promise<unknown>>> = {
  create: (count) => Promise.all(Array.from({ length: count }, create)),
  list: async () => {
    const records = await Effect.runPromise(repository.list(collection, { start: 0, limit: 1000 }))
    return records.map(({ id }) => id)
  },
  has: async (id) => Effect.runPromise(Effect.isSuccess(repository.get(collection, id))),
  churn: async (lanes) => {
    const lane = async (name: number) => {
      const kept: Array<number> = []
      for (;;)
        try {
          const id = await create()
          say(["created", name, id])
          kept.push(id)
          // Now the latest, now an older one: deletes of the highest id are those that could bring it back.
          const victim = id % 3 === 0 ? kept.pop() : id % 3 === 1 ? kept.shift() : undefined
          if (victim === undefined) continue
          say(["deleting", name, victim])
          await Effect.runPromise(repository.remove(collection, victim))
          say(["deleted", name, victim])
        } catch {
          // The server is away: so are the acknowledgements, and nothing else is promised.
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
    }
    return Promise.all(Array.from({ length: lanes }, (_, name) => lane(name)))
  },
  count: async (lanes) => {
    const lane = async () => {
      const { id } = await Effect.runPromise(repository.create(collection, { at: 0 }))
      let acknowledged = 0
      for (;;) {
        const replaced = await Effect.runPromiseExit(
          Effect.gen(function* () {
            const { id: _, ...read } = yield* repository.get(collection, id)
            // A call that failed may have been applied; one that succeeded has been.
            if (Number(read["at"]) < acknowledged)
              return yield* Effect.die(new Error("An acknowledged replace is lost"))
            const at = Number(read["at"]) + 1
            yield* repository.replace(collection, id, read, { at })
            return at
          }),
        )
        if (Exit.isSuccess(replaced)) {
          acknowledged = replaced.value
          say([id, acknowledged])
        } else if (Cause.hasDies(replaced.cause)) throw Cause.squash(replaced.cause)
        else await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    return Promise.all(Array.from({ length: lanes }, lane))
  },
  stream: async (width) => {
    const flow = async () => {
      for (;;) say(await create())
    }
    return Promise.all(Array.from({ length: width }, flow))
  },
}

say("ready")
for await (const line of createInterface({ input: process.stdin })) {
  const [command = "", argument] = line.split(" ")
  if (command === "once") void once(argument ?? "")
  else say(await COMMANDS[command]?.(Number(argument)))
}
await runtime.dispose()
