// The query of a URL as a list that somebody wants. Every parameter is known or refused.
import { Effect, Result } from "effect"
import { assignedFields } from "../../../domain/records/assigned_fields.ts"
import { InvalidQuery } from "../../../domain/records/errors.ts"
import {
  NO_FIELD,
  type WantedCondition,
  type WantedList,
  type WantedOrder,
} from "../../../domain/records/list_query.ts"
import { type QueryField, queryFieldsOf, type RecordSchema } from "../../../domain/records/query_field.ts"
import { readCondition } from "./condition_text.ts"
import { listFingerprint, readCursor } from "./cursor.ts"
import type { Parameters } from "./page_links.ts"

/** A plain decimal number: no sign, exponent, hex, blank or leading zero. */
const COUNT_REGEXP = /^(?:0|[1-9]\d{0,15})$/

/** A field to sort by, and its direction. */
const ORDER_REGEXP = /^([^.]+)(?:\.(asc|desc))?$/

/** Parameters of a list that are no conditions: a field of such a name cannot be filtered by. */
export const LIST_PARAMETERS: ReadonlySet<string> = new Set(["start", "limit", "order", "select", "after"])

/** What a request for a list asks for. */
export interface ListRequest {
  readonly wanted: WantedList
  /** The fields to answer with; all of them when omitted. */
  readonly select?: ReadonlyArray<string>
  /** What other pages of the list are asked for by, too. */
  readonly kept: Parameters
  /** Tells the list's cursors from others', when the request walks by cursor. */
  readonly fingerprint?: string
}

/** What is known of a collection's parameters. */
export interface QueryRules {
  readonly readList: (url: string) => Effect.Effect<ListRequest, InvalidQuery>
  /** The fields to answer with, of a request for one record. */
  readonly readSelect: (url: string) => Effect.Effect<ReadonlyArray<string> | undefined, InvalidQuery>
}

type Read<A> = Result.Result<A, InvalidQuery>

const refuse = (parameter: string, rule: string) => Result.fail(new InvalidQuery({ parameter, rule }))

/** The refusal of a value that is no count. */
export const invalidCount = (parameter: "start" | "limit"): InvalidQuery =>
  new InvalidQuery({ parameter, rule: "must be a plain decimal number from 0 to 9007199254740991" })

const NO_PARAMETER = "is no parameter of one record"

/** The refusal of a parameter that nobody knows, of a request for one record. */
export const UNKNOWN_PARAMETER = new InvalidQuery({ parameter: "start", rule: NO_PARAMETER })

const decode = (text: string): string | undefined => {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** The parameters in their order (URL Standard, application/x-www-form-urlencoded), but nothing is guessed. */
const readParameters = (url: string): Read<Parameters> => {
  const at = url.indexOf("?")
  const parameters: Array<Parameters[number]> = []
  for (const pair of at < 0 ? [] : url.slice(at + 1).split("&")) {
    if (pair === "") continue
    const end = pair.includes("=") ? pair.indexOf("=") : pair.length
    const key = decode(pair.slice(0, end))
    const value = decode(pair.slice(end + 1))
    if (key === undefined || value === undefined)
      return refuse(key ?? "", "must be percent-encoded UTF-8 (RFC 3986 section 2.1)")
    parameters.push([key, value])
  }
  return Result.succeed(parameters)
}

/** What stands once among the parameters. */
const readOnce = (parameters: Parameters): Read<ReadonlyMap<string, string>> => {
  const once = new Map<string, string>()
  for (const [name, value] of parameters) {
    if (!LIST_PARAMETERS.has(name)) continue
    if (once.has(name)) return refuse(name, "must not be repeated")
    once.set(name, value)
  }
  return Result.succeed(once)
}

const readCount = (parameter: "start" | "limit", text: string): Read<number> =>
  COUNT_REGEXP.test(text) && Number.isSafeInteger(Number(text))
    ? Result.succeed(Number(text))
    : Result.fail(invalidCount(parameter))

const readOrder = (text: string): Read<ReadonlyArray<WantedOrder>> => {
  const order: Array<WantedOrder> = []
  for (const each of text.split(",")) {
    const [, field, direction] = ORDER_REGEXP.exec(each) ?? []
    if (field === undefined) return refuse("order", "must be fields, each with .asc, .desc or neither, between commas")
    order.push({ field, descending: direction === "desc" })
  }
  return Result.succeed(order)
}

const readSelection = (text: string, known: ReadonlySet<string>): Read<ReadonlyArray<string>> => {
  const names = [...new Set(text.split(","))]
  return names.every((name) => known.has(name))
    ? Result.succeed(names)
    : refuse("select", "must be names of fields between commas")
}

const readConditions = (
  parameters: Parameters,
  fields: ReadonlyMap<string, QueryField>,
): Read<ReadonlyArray<WantedCondition>> =>
  Result.gen(function* () {
    const conditions: Array<WantedCondition> = []
    for (const [name, text] of parameters) {
      if (LIST_PARAMETERS.has(name)) continue
      const field = fields.get(name)
      if (field === undefined) return yield* refuse(name, NO_FIELD)
      conditions.push(yield* readCondition(field, text))
    }
    return conditions
  })

const EVERYTHING = Effect.succeed<ListRequest>({ wanted: {}, kept: [] })

/** The rules of a collection, made once. */
export const queryRules = (collection: RecordSchema & { readonly name: string }): QueryRules => {
  const known = queryFieldsOf(collection)
  const selectable = new Set([...assignedFields(collection), ...Object.keys(collection.fields.properties)])

  const readList = (url: string): Read<ListRequest> =>
    Result.gen(function* () {
      const parameters = yield* readParameters(url)
      const once = yield* readOnce(parameters)
      const [startText, limitText, orderText, selectText] = ["start", "limit", "order", "select"].map((each) =>
        once.get(each),
      )
      const start = startText === undefined ? undefined : yield* readCount("start", startText)
      const limit = limitText === undefined ? undefined : yield* readCount("limit", limitText)
      const order = orderText === undefined ? undefined : yield* readOrder(orderText)
      const select = selectText === undefined ? undefined : yield* readSelection(selectText, selectable)
      const where = once.size === parameters.length ? [] : yield* readConditions(parameters, known)
      const wanted: WantedList = {
        ...(start === undefined ? {} : { start }),
        ...(limit === undefined ? {} : { limit }),
        ...(order === undefined ? {} : { order }),
        ...(where.length === 0 ? {} : { where }),
      }
      const kept = parameters.filter(([each]) => each !== "start" && each !== "limit" && each !== "after")
      const request: ListRequest = { wanted, kept, ...(select === undefined ? {} : { select }) }
      const after = once.get("after")
      if (after === undefined) return request
      if (start !== undefined) return yield* refuse("start", "must not stand beside 'after'")
      const fingerprint = listFingerprint(collection.name, wanted)
      if (after === "") return { ...request, fingerprint }
      const place = readCursor(fingerprint, after)
      if (place === undefined)
        return yield* refuse("after", "must be a cursor of this very list, or empty to begin with")
      return { ...request, wanted: { ...wanted, after: place }, fingerprint }
    })

  const readSelect = (url: string): Read<ReadonlyArray<string> | undefined> =>
    Result.gen(function* () {
      const parameters = yield* readParameters(url)
      const strange = parameters.find(([each]) => each !== "select")
      if (strange !== undefined) return yield* refuse(strange[0], NO_PARAMETER)
      const once = yield* readOnce(parameters)
      const select = once.get("select")
      return select === undefined ? undefined : yield* readSelection(select, selectable)
    })

  return {
    readList: (url) => (url.includes("?") ? Effect.fromResult(readList(url)) : EVERYTHING),
    readSelect: (url) => (url.includes("?") ? Effect.fromResult(readSelect(url)) : Effect.undefined),
  }
}
