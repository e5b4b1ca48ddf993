import { Effect, Layer, ManagedRuntime } from "effect"
import * as S from "./adapters/driven/record_repository/sqlite.ts"
import * as D from "./adapters/driven/sqlite_database.ts"
import { RecordRepository } from "./domain/records/record_repository.ts"
import { rmSync } from "node:fs"
rmSync("/tmp/st/db", { recursive: true, force: true })
const rt = ManagedRuntime.make(S.layer.pipe(Layer.provide(D.layer({ path: "/tmp/st/db/r.sqlite" }))))
const ctx = await rt.context()
const repo = Effect.runSync(RecordRepository.pipe(Effect.provide(ctx)))
const N = 400
for (let r = 0; r < 3; r++) {
const t = performance.now()
for (let i = 0; i < N; i++) await Promise.all(Array.from({ length: 64 }, (_, j) => Effect.runPromise(repo.create("products", { name: "item " + j, price: j }))))
console.log("creates/s", (N * 64 / (performance.now() - t) * 1000).toFixed(0)) }
await rt.dispose()
