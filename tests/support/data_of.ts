import { expect } from "bun:test"

/** The data of an answer in the envelope of success (specification 12), and of nothing else. */
export const dataOf = async <A>(response: Response): Promise<A> => {
  const { data, ...rest } = (await response.json()) as { readonly response: string; readonly data: A }
  expect(rest).toEqual({ response: "OK" })
  return data
}
