import type { JsonObject } from "../json_object.ts"

/** Text that is there but shows nothing: white space and invisible code points. */
const BLANK_REGEXP = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}]*$/u

/** True for the schema of a text that must not be empty; it may be one that can also be `null`. */
export const isRequiredText = (schema: JsonObject): boolean =>
  [schema["type"]].flat().includes("string") && Number(schema["minLength"]) >= 1

/** True for a text that is not empty and shows nothing (specification 2.1). */
export const isBlank = (value: unknown): boolean =>
  typeof value === "string" && value !== "" && BLANK_REGEXP.test(value)
