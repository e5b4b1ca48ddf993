// Creates: one record, several at once as JSON or as lines, and either of them once for an Idempotency-Key.
import { Effect } from "effect"
import type { CreateOnceError, RecordService } from "../../../application/records/record_service.ts"
import type { KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"
import { entityTag } from "./entity_tag.ts"
import type { Guard } from "./guard.ts"
import type { HttpRefusal } from "./http_refusal.ts"
import { keyReader } from "./idempotency_key.ts"
import { readJson, readLines } from "./json_body.ts"
import type { RequestContext } from "./request_context.ts"
import { type Answer, envelope, type Responder } from "./respond.ts"

type CreateError = CreateOnceError | HttpRefusal | Unauthenticated | KeysUnavailable

/** What an import answers: the ids of its records follow each other. */
export interface Imported {
  readonly created: number
  readonly firstId: number
  readonly lastId: number
}

const created = (path: string, value: object): Answer => {
  const json = JSON.stringify(value)
  const headers =
    "id" in value ? { location: `${path.replace(/\/$/, "")}/${value.id}`, etag: entityTag(json) } : undefined
  return { status: 201, ...(headers === undefined ? {} : { headers }), body: envelope(json) }
}

const imported = (records: ReadonlyArray<Stored<object>>): Imported => {
  const [first, last] = [records[0]?.id ?? 0, records.at(-1)?.id ?? 0]
  return { created: records.length, firstId: first, lastId: last }
}

/**
 * The handlers that create.
 *
 * @param guard knows whose an Idempotency-Key is
 */
export const makeCreateHandlers = <F extends object>(
  service: RecordService<F>,
  { respond }: Responder,
  guard: Pick<Guard, "identify">,
) => {
  const jsonKey = keyReader(guard, "json")
  const linesKey = keyReader(guard, "lines")

  const create = (request: Request): Effect.Effect<object, CreateError> =>
    Effect.flatMapEager(jsonKey(request), (keyOf) =>
      Effect.flatMap(readJson(request), (input): Effect.Effect<object, CreateError> => {
        if (Array.isArray(input)) return service.createAll(input, keyOf?.(input))
        return keyOf === undefined ? service.create(input) : service.createOnce(input, keyOf(input))
      }),
    )
  const importLines = (request: Request): Effect.Effect<Imported, CreateError> =>
    Effect.flatMapEager(linesKey(request), (keyOf) =>
      Effect.flatMap(readLines(request), (input) =>
        Effect.mapEager(service.createAll(input, keyOf?.(input)), imported),
      ),
    )

  return {
    create: async ({ request, set, route, path }: RequestContext & { readonly path: string }) =>
      respond(
        { request, set, route },
        () => create(request),
        (value) => created(path, value),
      ),
    import: async ({ request, set, route }: RequestContext) =>
      respond(
        { request, set, route },
        () => importLines(request),
        (value) => ({ status: 201, body: envelope(JSON.stringify(value)) }),
      ),
  }
}
