// One dependency that fails under a running service: what its routes answer meanwhile, that others are untouched, and that
// the service recovers by itself.

/** A request and what must come of it. */
export interface Probe {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  /** Status, and the code of a refusal: `503 STORE_UNAVAILABLE`. */
  readonly expected: string
  /** Documented deadline, ms; at once (0) when omitted. */
  readonly withinMs?: number
  /** How long after the dependency has failed it is asked, ms; at once (0) when omitted. */
  readonly afterMs?: number
}

export interface FailingCase {
  readonly name: string
  /** Address of the service. */
  readonly service: () => string
  readonly breakIt: () => unknown
  readonly mendIt: () => unknown
  /** While it is broken, all at once. */
  readonly broken: ReadonlyArray<Probe>
  /** Once it is mended. */
  readonly mended: ReadonlyArray<Probe>
  /** Longest time until the service is well again, ms. */
  readonly backWithinMs?: number
}

/** What a machine under heavy load may add to a deadline, ms. */
const SLACK_MS = 3_000

const BACK_MS = 5_000

/** @param headers of every request: a token, and the type of bodies */
const ask = async (address: string, probe: Probe, headers: () => Record<string, string>) => {
  const startedAt = performance.now()
  const { method = probe.body === undefined ? "GET" : "POST", path, body } = probe
  const init = { method, headers: headers(), ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  const response = await fetch(`${address}${path}`, init)
  const { code } = (await response.json()) as { readonly code?: string }
  const seen = code === undefined ? String(response.status) : `${response.status} ${code}`
  const tookMs = Math.round(performance.now() - startedAt)
  const isLate = tookMs > (probe.withinMs ?? 0) + SLACK_MS
  const isWrong = seen !== probe.expected || (response.status === 503 && !response.headers.has("retry-after"))
  const line = `${method} ${path} ${seen} in ${(tookMs / 1000).toFixed(1)} s`
  return {
    line: isWrong ? `${line} instead of ${probe.expected}` : isLate ? `${line}, too late` : line,
    held: !isWrong && !isLate,
  }
}

/** Breaks, asks, mends, asks again; what was seen, one text for each request, and whether all of it held. */
export const runCase = async (failing: FailingCase, headers: () => Record<string, string>) => {
  const { broken, mended, backWithinMs = BACK_MS } = failing
  const address = failing.service()
  const seen: Array<string> = []
  let held = true
  const note = (outcome: Awaited<ReturnType<typeof ask>>) => {
    seen.push(outcome.line)
    held &&= outcome.held
  }
  await failing.breakIt()
  try {
    const outcomes = broken.map(async (probe) => {
      await Bun.sleep(probe.afterMs ?? 0)
      return ask(address, probe, headers)
    })
    for (const outcome of await Promise.all(outcomes)) note(outcome)
  } finally {
    await failing.mendIt()
  }
  const startedAt = performance.now()
  for (const probe of mended) {
    let outcome = await ask(address, probe, headers)
    while (!outcome.held && performance.now() - startedAt < backWithinMs + SLACK_MS) {
      await Bun.sleep(100)
      outcome = await ask(address, probe, headers)
    }
    note(outcome)
  }
  seen.push(`back after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return { seen, held }
}
