import { Data } from "effect"

/** A package that only some users need, and that they install themselves, is not there. */
export class PackageMissing extends Data.TaggedError("PackageMissing")<{
  readonly name: string
  /** The major version that is meant. */
  readonly major: number
}> {
  readonly code = "PACKAGE_MISSING"
  override get message(): string {
    return `the package '${this.name}' is not installed; install it with: npm install ${this.name}@${this.major}`
  }
}
