import { Effect } from "effect"
import type { RecordService } from "../../../application/records/record_service.ts"
import type { Meant } from "../../../application/records/record_updates.ts"
import type { Collection } from "../../../domain/records/collection.ts"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { readJson, readMergePatch } from "./json_body.ts"
import { readId, recordAnswer, render } from "./record_answer.ts"
import { readCondition } from "./record_condition.ts"
import type { RequestContext } from "./request_context.ts"
import type { Responder } from "./respond.ts"

/** A handler that needs an `:id` in its path. */
export type ItemHandler = (
  context: RequestContext & { readonly params: { readonly id?: string | null } },
) => Promise<string>

/** The handlers that change one record. Each takes `If-Match` and `If-None-Match`; a change that they forbid is 412. */
export interface WriteHandlers {
  /** PUT: the whole record without what the server assigns. */
  readonly replace: ItemHandler
  /** PATCH: a JSON Merge Patch (RFC 7396). */
  readonly patch: ItemHandler
  readonly delete: ItemHandler
}

/** Makes the handlers that change one record of a collection. */
export const makeWriteHandlers = <F extends object>(
  { name, requireMatch = false }: Collection<F>,
  service: RecordService<F>,
  { respond }: Responder,
): WriteHandlers => {
  // Every text that is no id is a miss, as for a GET.
  const miss = Effect.fail(new RecordNotFound({ collection: name }))
  /** A change of the record in the path, under the request's conditions. */
  const change = <A, E>(
    { headers }: Request,
    idText: string | null | undefined,
    make: (id: number, meant: Meant<object> | undefined) => Effect.Effect<A, E>,
  ) => {
    const id = readId(idText)
    if (id === undefined) return miss
    return Effect.flatMapEager(readCondition(headers, requireMatch), (meant) => make(id, meant))
  }
  return {
    replace: async ({ request, set, route, params }) =>
      respond(
        { request, set, route },
        () =>
          change(request, params.id, (id, meant) =>
            Effect.flatMap(readJson(request), (input) => service.replace(id, input, meant)),
          ),
        recordAnswer,
      ),
    patch: async ({ request, set, route, params }) =>
      respond(
        { request, set, route },
        () =>
          change(request, params.id, (id, meant) =>
            Effect.flatMap(readMergePatch(request), (patch) => service.patch(id, patch, meant)),
          ),
        recordAnswer,
      ),
    delete: async ({ request, set, route, params }) =>
      respond(
        { request, set, route },
        () => change(request, params.id, service.remove),
        (record) => ({ status: 200, body: render(record) }),
      ),
  }
}
