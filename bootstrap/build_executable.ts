// `npm run build:executable [-- <file>]`: the whole product and its runtime as one file, for the system that builds it.
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath, URL } from "node:url"

const ROOT = fileURLToPath(new URL("..", import.meta.url))
const VIEWER = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"))

/** Where the executable goes when no other file is named, from the root. */
const EXECUTABLE = "build/portolan"

/** Files that are no code. They are read beside the code that wants them. */
const ASSETS = [
  join(ROOT, "stack/docker/guard"),
  ...["swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"].map((name) => join(VIEWER, name)),
]

/**
 * Builds the single executable.
 *
 * @param outfile path of the file; a folder on the way is made
 * @throws {AggregateError} of the bundler's messages
 */
export const buildExecutable = (outfile: string): Promise<unknown> =>
  Bun.build({
    entrypoints: [join(ROOT, "bootstrap/executable.ts")],
    target: "bun",
    format: "esm",
    // A command reads only its own part of the code, as when it runs from source.
    splitting: true,
    // Nothing is parsed at the start, which is most of the time from source to the first answer.
    bytecode: true,
    // It would save 1 % of the file, and the identity provider reads the names of its classes.
    minify: false,
    compile: {
      outfile,
      assets: ASSETS,
      // What it does depends on its words and its environment, not on files of the folder it is started in.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  })

if (import.meta.main) {
  const outfile = resolve(process.argv[2] ?? join(ROOT, EXECUTABLE))
  await buildExecutable(outfile)
  process.stdout.write(`${outfile}: ${(Bun.file(outfile).size / 1e6).toFixed(0)} MB\n`)
}
