import { isObject } from "../json_object.ts"
import type { Fields } from "./record_repository.ts"

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

/** The fields of a record that is created now, an RFC 3339 text in UTC. */
export const stampCreated = (fields: object, now: string): Fields => ({ ...fields, createdAt: now, updatedAt: now })

/** The fields of a record that is changed now. One that was created before its collection had timestamps gets no `createdAt`. */
export const stampUpdated = (before: Fields, fields: object, now: string): Fields => ({
  ...fields,
  ...("createdAt" in before ? { createdAt: before["createdAt"] } : {}),
  updatedAt: now,
})
