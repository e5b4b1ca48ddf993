// Random numbers that a run can be repeated with.

/**
 * Numbers in 0..1 that follow from a seed: the one in the variable SEED, else one of this moment.
 *
 * The generator is mulberry32: small, and good enough to choose moments and faults.
 */
export const seededRandom = () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31)
  let state = seed
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { random, seed }
}
