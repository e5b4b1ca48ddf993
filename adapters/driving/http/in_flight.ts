/** The requests that are running, and whether there may be one more. */
export interface InFlight {
  /** True while {@link InFlight.run} starts a request that is one too many: whoever sees it must refuse the request. */
  readonly isFull: () => boolean
  /**
   * Starts a request, and counts it to the end of its answering unless it is one too many.
   *
   * The end is that of the work, not of the connection: a client that goes away takes its work with it only when that has
   * noticed, and one that does not read its answer holds no place.
   */
  readonly run: (answer: () => Response | Promise<Response>) => Response | Promise<Response>
}

/**
 * Counts running requests.
 *
 * @param max how many may run at a time
 */
export const makeInFlight = (max: number): InFlight => {
  let running = 0
  let full = false
  const end = () => {
    running--
  }
  const counted = (answer: () => Response | Promise<Response>) => {
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
  }
  return {
    isFull: () => full,
    run: (answer) => {
      if (running < max) return counted(answer)
      full = true
      try {
        return answer()
      } finally {
        full = false
      }
    },
  }
}
