import { equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { RecordCache } from "../../../adapters/driven/record_repository/record_cache.ts"

const MILLION = 1_000_000
const record = (id: number) => Object.freeze({ id })
const page = (start: number) => ({ start, limit: 10 })

describe("RecordCache", () => {
  const cache = () => new RecordCache().of("c")

  test("forgets what was not asked for lately, and stays within its bound", () => {
    const records = cache()
    records.keep(record(0), MILLION)
    for (let id = 1; id <= 100; id++) {
      records.keep(record(id), MILLION)
      equal(records.record(0)?.id, 0)
    }
    const kept = Array.from({ length: 101 }, (_, id) => records.record(id)).filter((each) => each !== undefined)
    equal(kept.length > 5 && kept.length <= 17, true, `${kept.length} records of a million characters`)
    equal(records.record(100)?.id, 100)
    equal(records.record(50), undefined)
  })

  test("does not let one giant displace everything", () => {
    const records = cache()
    records.keep(record(1), 10)
    records.keep(record(2), 100 * MILLION)
    equal(records.record(1)?.id, 1)
    equal(records.record(2), undefined)
  })

  test("forgets a record that has grown old as well as a young one", () => {
    const records = cache()
    records.keep(record(1), MILLION)
    for (let id = 2; id <= 10; id++) records.keep(record(id), MILLION)
    records.forget(1)
    records.forget(10)
    equal(records.record(1), undefined)
    equal(records.record(10), undefined)
    equal(records.record(9)?.id, 9)
  })

  test("keeps pages by start and limit, bounded too, until they are forgotten together", () => {
    const pages = cache()
    for (let start = 0; start < 100; start++) pages.keepPage(page(start), [record(start)], MILLION)
    equal(pages.page(page(99))?.[0]?.id, 99)
    equal(pages.page({ start: 99, limit: 11 }), undefined)
    equal(pages.page(page(0)), undefined)
    pages.forgetPages()
    equal(pages.page(page(99)), undefined)
  })

  test("holds collections apart", () => {
    const all = new RecordCache()
    all.of("a").keep(record(1), 1)
    equal(all.of("b").record(1), undefined)
    all.clear()
    equal(all.of("a").record(1), undefined)
  })
})
