import manifest from "../package.json" with { type: "json" }

/** Version of the product, as released. */
export const VERSION: string = manifest.version
