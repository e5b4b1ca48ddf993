/**
 * Why a server gave no usable answer, in a few words: the system's own code (`ECONNREFUSED`) where there is one, which people
 * look up; else what the failure says.
 *
 * @param failure what a request, or a connection, failed with
 */
export const connectionFailure = (failure: unknown): string => {
  if (!(failure instanceof Error)) return "no answer"
  // A deadline's exception has a number for its code (DOM standard, 4.3), which says nothing to anybody.
  if (failure.name === "TimeoutError") return "no answer in time"
  return "code" in failure && typeof failure.code === "string" ? failure.code : failure.message
}
