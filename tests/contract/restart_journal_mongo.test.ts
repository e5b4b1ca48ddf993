// The restart journal in MongoDB, against a real server; in memory and in SQLite it is tested among the unit tests.
import { Effect, Layer, Redacted } from "effect"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import * as mongo from "../../adapters/driven/restart_journal/mongo.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { restartJournalContract } from "../unit/scheduler/restart_journal_contract.ts"

realSuite(MONGODB, "the restart journal in MongoDB", ({ database }) => {
  const url = Redacted.make(database(`portolan_restarts_${process.pid}`))
  restartJournalContract(
    "mongo",
    Effect.succeed(
      Layer.provide(
        mongo.layer,
        connection.layer({ url, maxOpenConnections: undefined, maxIdleConnections: undefined }),
      ),
    ),
  )
})
