import { isObject } from "../../domain/json_object.ts"
import { PackageMissing } from "../../domain/package_missing.ts"

/**
 * Loads the driver: only users of MongoDB install it, and it takes as long to load as all else together.
 *
 * @throws {PackageMissing} when it is not installed
 */
export const loadDriver = (): Promise<typeof import("mongodb")> =>
  import("mongodb").catch((failure: unknown) => {
    const isMissing = isObject(failure) && failure["code"] === "ERR_MODULE_NOT_FOUND"
    throw isMissing ? new PackageMissing({ name: "mongodb", major: 7 }) : failure
  })
