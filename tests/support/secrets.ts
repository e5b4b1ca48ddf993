// The secrets of the media tests and the one question asked of everything that leaves the product: are they in it?
import { inspect } from "node:util"

export const TOKEN = "TKN-s3cr3t|x y+z&w"
export const APP_SECRET = "s&c/r=t+APPS3CR3T"
const SIGNATURE = "ab%2BcS1GNATUR3"
export const SIGNED_URL = `https://s3.example.com/k.jpg?X-Amz-Signature=${SIGNATURE}&id=9`

/** Pieces that survive any spelling: whoever shows one of them shows the secret. */
const TRACES = /s3cr3t|APPS3CR3T|S1GNATUR3/i

const chain = (failure: unknown): ReadonlyArray<unknown> =>
  failure instanceof Error && failure.cause !== undefined ? [failure, ...chain(failure.cause)] : [failure]

/** Every way a value gets into a log, a report or a person's eyes. */
const shownForms = (value: unknown): ReadonlyArray<string> =>
  chain(value).flatMap((each) => [
    String(each),
    each instanceof Error ? `${each.message} ${each.stack}` : "",
    JSON.stringify(each, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? "",
    inspect(each, { depth: 10, showHidden: each instanceof Error }),
  ])

/** The first form that gives a secret away, or `undefined`. */
export const leakIn = (value: unknown): string | undefined => shownForms(value).find((form) => TRACES.test(form))

/** A text that gives every secret away, in several spellings, as a hostile or careless server would. */
export const TATTLE = [
  `Malformed access token ${TOKEN}`,
  encodeURIComponent(TOKEN),
  encodeURIComponent(encodeURIComponent(TOKEN)),
  `cannot fetch ${SIGNED_URL}`,
  encodeURIComponent(SIGNED_URL),
  `client_secret=${APP_SECRET}`,
  encodeURIComponent(APP_SECRET),
  decodeURIComponent(SIGNATURE),
].join(" ; ")
