// `bun run check`: everything that needs no server, in one command. Stops at the first step that fails.
const DENO = "deno@2.9.6"
const UNIT = "tests/unit"

const deno = (...args: ReadonlyArray<string>) => ["npx", "-y", DENO, ...args]

const STEPS: ReadonlyArray<readonly [name: string, command: ReadonlyArray<string>]> = [
  ["format and lint", ["biome", "check", "--error-on-warnings", "."]],
  ["types", ["tsc"]],
  ["types of the pure rooms, without any platform", ["tsc", "-p", "tsconfig.pure.json"]],
  ["unused code", ["knip"]],
  ["types under Deno", deno("check", "domain", "application", "adapters", "bootstrap")],
  ["unit tests under Deno", deno("test", "--no-check", "-A", "--quiet", UNIT)],
  ["tests", [process.execPath, "tests/run.ts"]],
]

for (const [name, command] of STEPS) {
  const startedAt = performance.now()
  process.stdout.write(`\n== ${name}\n`)
  const exitCode = await Bun.spawn([...command], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, PATH: `node_modules/.bin:${process.env["PATH"]}` },
  }).exited
  if (exitCode !== 0) {
    process.stdout.write(`\n${name}: failed\n`)
    process.exit(1)
  }
  process.stdout.write(`${name}: fine, ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`)
}
