// The restart journal in MongoDB, against a real server; in memory and in SQLite it is tested among the unit tests.
import { Effect, Layer } from "effect"
import * as mongo from "../../adapters/driven/restart_journal/mongo.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { restartJournalContract } from "../unit/scheduler/restart_journal_contract.ts"

realSuite(MONGODB, "the restart journal in MongoDB", (server) => {
  restartJournalContract("mongo", Effect.succeed(Layer.provide(mongo.layer, ownDatabase(server, "restarts"))))
})
