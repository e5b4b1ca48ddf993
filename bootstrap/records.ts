// The library's records face, `portolan`: what an integrator needs to serve record types of their own.
//
//   const products = defineCollection({ name: "products", fields: Type.Object({ ... }) })
//   const { repository, guard, responder, close } = await openRecords({ store: { sqlite: "records.sqlite" }, realm: { keys } })
//   const { store, service, handler, routes } = setupCollection(products, { repository, guard, responder })
//   app.group("/api", (api) => api.use(guard.protect()).use(routes))
//   app.delete("/admin/products/:id", handler.delete, { beforeHandle: guard.requireRoles(["catalogue-admin"]) })
import { Context, Layer } from "effect"
import type { Static, TObject } from "typebox"
import { judgePattern } from "../adapters/driven/pattern_judge/redos_detector.ts"
import { type JoseOptions, layer as verifierLayer } from "../adapters/driven/token_verifier/jose.ts"
import { type Guard, makeGuard } from "../adapters/driving/http/guard.ts"
import { makeOpenFeeds, type OpenFeeds } from "../adapters/driving/http/open_feeds.ts"
import { makeResponder, type Responder } from "../adapters/driving/http/respond.ts"
import { TokenVerifier } from "../domain/identity/token_verifier.ts"
import {
  type Collection,
  type CollectionDefinition,
  defineCollection as defineJudged,
} from "../domain/records/collection.ts"
import { RecordRepository } from "../domain/records/record_repository.ts"
import { libraryRuntime } from "./library_runtime.ts"
import { type StoreChoice, storeOf } from "./store.ts"

export {
  type CollectionHandler,
  type CollectionSetup,
  setupCollection,
} from "../adapters/driving/http/collection_routes.ts"
export type { RecordService, RecordStore } from "../application/records/record_service.ts"
export type { Meant } from "../application/records/record_updates.ts"
export type { Access, Claims } from "../domain/identity/claims.ts"
export { Forbidden, InvalidIdentitySetup, KeysUnavailable, Unauthenticated } from "../domain/identity/errors.ts"
export type { Issue } from "../domain/issue.ts"
export { PackageMissing } from "../domain/package_missing.ts"
export type { Change, ChangeFeed, Position } from "../domain/records/change.ts"
export type { Collection, CollectionDefinition } from "../domain/records/collection.ts"
export {
  ChangesUnsupported,
  InvalidCollectionSetup,
  InvalidPage,
  InvalidQuery,
  InvalidRecord,
  NotUnique,
  PositionGone,
  RecordChanged,
  RecordNotFound,
} from "../domain/records/errors.ts"
export type { WantedCondition, WantedList, WantedOrder } from "../domain/records/list_query.ts"
export type { Page } from "../domain/records/page.ts"
export type { Comparison, Condition, Order, Place, Query, Scalar } from "../domain/records/query.ts"
export type { FieldKind, QueryField } from "../domain/records/query_field.ts"
export { type Fields, RecordRepository, type Stored } from "../domain/records/record_repository.ts"
export { StoreUnavailable } from "../domain/store_unavailable.ts"
export type { Guard, JoseOptions, Responder, StoreChoice }

/**
 * Defines a record type.
 *
 * A text field with a `pattern` or a `format` and no `maxLength` gets one of 4,096 code points, and an array of unique items a
 * `maxItems` of 4,096. A pattern that hostile text could keep busy is refused.
 *
 * @throws {InvalidCollectionSetup} naming every place and rule that can never work
 */
export const defineCollection = <S extends TObject>(definition: CollectionDefinition<S>): Collection<Static<S>> =>
  defineJudged(definition, judgePattern)

/** Where records live, and whose tokens are accepted. */
export interface RecordsOptions {
  readonly store: StoreChoice
  /** Keys, issuer and audience of the identity realm whose access tokens are accepted. */
  readonly realm: JoseOptions
  /** Feeds of changes that may be open at a time; 256 when omitted. */
  readonly maxFeeds?: number
}

/** What {@link setupCollection} needs, open until `close`. */
export interface Records {
  readonly repository: RecordRepository["Service"]
  readonly guard: Guard
  readonly responder: Responder
  readonly feeds: OpenFeeds
  /** Ends the open feeds of changes, finishes queued writes, and closes the store. */
  readonly close: () => Promise<void>
}

/**
 * Opens the store and the realm's verifier.
 *
 * @throws {StoreUnavailable} when the store cannot be opened; nothing is held open then, and it can be called again
 * @throws {PackageMissing} when records are to live in MongoDB and the package `mongodb` is not installed
 * @throws {InvalidIdentitySetup} when a key or rule of the realm can never work
 */
export const openRecords = async ({ store, realm, maxFeeds }: RecordsOptions): Promise<Records> => {
  const runtime = libraryRuntime(Layer.mergeAll(storeOf(store), verifierLayer(realm)))
  const context = await runtime.context()
  const responder = makeResponder(context)
  const feeds = makeOpenFeeds(maxFeeds)
  return {
    repository: Context.get(context, RecordRepository),
    guard: makeGuard(Context.get(context, TokenVerifier), responder),
    responder,
    feeds,
    close: () => {
      feeds.end()
      return runtime.close()
    },
  }
}
