import { isObject, type JsonObject } from "../json_object.ts"

const TIMESTAMPS = ["createdAt", "updatedAt"] as const

/**
 * Members of a record that the server assigns: no collection defines them, and no client submits them.
 *
 * @param definition anything that may say `timestamps: true`
 */
export const assignedFields = (definition: unknown): ReadonlyArray<string> =>
  isObject(definition) && definition["timestamps"] === true ? ["id", ...TIMESTAMPS] : ["id"]

/** Said of such a member where it is submitted. */
export const ASSIGNED = "is assigned by the server"

/**
 * The fields of a record with the times of its creation and of this change. One that was created before its collection had
 * timestamps gets no `createdAt`.
 *
 * @param now an RFC 3339 text in UTC
 * @param before its fields so far; none when it is created now
 */
export const stamped = (fields: object, now: string, before?: JsonObject): JsonObject => {
  const createdAt = before === undefined ? now : before["createdAt"]
  return { ...fields, ...(createdAt === undefined ? {} : { createdAt }), updatedAt: now }
}
