import type { Effect } from "effect"

/** A value that records can be filtered by. */
type Scalar = string | number | boolean

/**
 * The fields of a collection's records.
 *
 * @typeParam C `typeof products`, where `products` is what `defineCollection` gave, or the type of the fields itself
 */
export type FieldsOf<C extends object> = C extends {
  readonly check: (input: never) => Effect.Effect<infer F extends object, infer _Error>
}
  ? F
  : C

/** A record as the service answers with it. */
export type RecordOf<C extends object> = Readonly<{ id: number } & FieldsOf<C>>

/** What is left to the service in a request: fields with a `default`, and those that it sets by itself. */
type Without<F extends object, Optional extends PropertyKey> = Omit<F, Optional> & Partial<Pick<F, Optional & keyof F>>

/**
 * A record as it is submitted.
 *
 * @typeParam Optional names of the fields with a `default`, which a type does not tell
 */
export type Submitted<C extends object, Optional extends PropertyKey = never> = Readonly<Without<FieldsOf<C>, Optional>>

/** A JSON Merge Patch of a record: `null` takes a field away, what is not named stays (RFC 7396). */
export type Patch<F> = {
  readonly [name in keyof F]?:
    | (NonNullable<F[name]> extends ReadonlyArray<unknown> | Scalar ? F[name] : Patch<F[name]>)
    | null
}

/** What a field's value is compared with; several comparisons of one field all hold. A value alone means `eq`. */
export type Comparisons<V> =
  | V
  | {
      readonly eq?: V
      readonly neq?: V
      readonly gt?: V
      readonly gte?: V
      readonly lt?: V
      readonly lte?: V
      /** One of 1 to 100 values. */
      readonly in?: ReadonlyArray<V>
      /** `*` stands for any text, `\*` and `\\` for themselves. */
      readonly like?: V extends string ? string : never
      /** The record has no such value. */
      readonly is?: null
    }

/** Fields that lists can be filtered and sorted by: those of texts, numbers or flags. */
type Sortable<R> = { [name in keyof R]-?: NonNullable<R[name]> extends Scalar ? name : never }[keyof R] & string

/** Conditions that all hold for every record of a list. */
export type Where<R> = { readonly [name in Sortable<R>]?: Comparisons<Widened<NonNullable<R[name]>>> }

/** `boolean` as one type rather than two. */
type Widened<V> = V extends boolean ? boolean : V

/** A field to sort by, with its direction; ascending when it names none. */
export type Order<R> = Sortable<R> | `${Sortable<R>}.${"asc" | "desc"}`

/** What to list. */
export interface ListQuery<R, Select extends keyof R> {
  readonly where?: Where<R>
  /** At most three fields; by ascending id when omitted. */
  readonly order?: ReadonlyArray<Order<R>>
  /** Fields to answer with; all of them when omitted. */
  readonly select?: ReadonlyArray<Select>
  /** Records in one answer, 1..1000; 100 when omitted. */
  readonly limit?: number
}

/** A page, and how to get on. */
export interface Page<R> {
  readonly records: ReadonlyArray<R>
  /** Records that the conditions hold for, when it was asked for. */
  readonly total?: number
  /** True when there may be more records behind these. */
  readonly more: boolean
}

/** A change as a client is told it: first the position at which the feed begins, then one write after the other. */
export type ClientChange<R> =
  | { readonly kind: "start"; readonly position: string }
  | { readonly kind: "create" | "replace"; readonly position: string; readonly record: R }
  | { readonly kind: "delete"; readonly position: string; readonly record: { readonly id: number } }

/** What every call may be given. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal
}

/** Options of a create. */
export interface CreateOptions extends CallOptions {
  /** The same key and the same fields create once, however often they are sent. */
  readonly idempotencyKey?: string
}

/** Options of a change to one record. */
export interface ChangeOptions extends CallOptions {
  /** Entity tag of the record as it was read: the change is refused with 412 when the record is another one by now. */
  readonly ifMatch?: string
}
