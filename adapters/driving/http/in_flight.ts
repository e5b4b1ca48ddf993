/** The requests that are running, and whether there may be more. */
export interface InFlight {
  /** True when more requests are running than may. */
  readonly isExceeded: () => boolean
  /**
   * Counts a request from here to the end of its answering.
   *
   * The end is that of the work, not of the connection: a client that goes away takes its work with it only when that has
   * noticed, and one that does not read its answer holds no place.
   */
  readonly count: (answer: () => Response | Promise<Response>) => Response | Promise<Response>
}

/**
 * Counts running requests.
 *
 * @param max how many may run at a time
 */
export const makeInFlight = (max: number): InFlight => {
  let running = 0
  const end = () => {
    running--
  }
  return {
    isExceeded: () => running > max,
    count: (answer) => {
      running++
      try {
        const answered = answer()
        if (answered instanceof Promise) answered.then(end, end)
        else end()
        return answered
      } catch (failure) {
        end()
        throw failure
      }
    },
  }
}
