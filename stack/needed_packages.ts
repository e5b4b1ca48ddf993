import { existsSync } from "node:fs"
import type { StackOptions } from "../domain/gateway/stack_options.ts"
import { PackageMissing } from "../domain/package_missing.ts"
import { BUN_MISSING, findBun, placesOf } from "./find_bun.ts"
import { isExecutable } from "./program.ts"

/** The package that an engine needs beyond what always comes with the product, with the major version that is meant. */
const NEEDED: Readonly<Record<StackOptions["engine"], readonly [name: string, major: number]>> = {
  embedded: ["oidc-provider", 9],
  docker: ["@bufbuild/protobuf", 2],
}

const isInstalled = (name: string): boolean => placesOf(`${name}/package.json`).some((path) => existsSync(path))

/** What has to be installed before an engine can start, one sentence each: users of other parts do not carry it. */
export const missingParts = (engine: StackOptions["engine"]): ReadonlyArray<string> => {
  // It holds every package, and the runtime.
  if (isExecutable()) return []
  const [name, major] = NEEDED[engine]
  return [
    ...(isInstalled(name) ? [] : [new PackageMissing({ name, major }).message]),
    ...(findBun() === undefined ? [BUN_MISSING] : []),
  ]
}
