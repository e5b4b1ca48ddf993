// Builds what the package holds, into `dist`: run by npm before it packs. Plain Node without dependencies: in a fresh clone it
// installs them first. Arguments go to the compiler.
import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

process.chdir(fileURLToPath(new URL("..", import.meta.url)))

// Standard output belongs to npm, which prints the name of the packed file there.
const run = (...words) => {
  if (spawnSync(process.execPath, words, { stdio: ["ignore", 2, 2] }).status !== 0) process.exit(1)
}

run("bootstrap/install.mjs")
rmSync("dist", { recursive: true, force: true })
run("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", ...process.argv.slice(2))

// The compiler copies the whole manifest for the version in it; its other fields mean nothing in there.
const { type, version } = JSON.parse(readFileSync("package.json", "utf8"))
writeFileSync("dist/package.json", JSON.stringify({ type, version }))

cpSync("stack/docker/guard", "dist/stack/docker/guard", { recursive: true })

// The API page's viewer travels with the package, beside the code that serves it: its own package is six times as large, and
// depends on one that reports every installation to a company.
const VIEWER = "node_modules/swagger-ui-dist"
const PAGE = "dist/adapters/driving/http"
for (const name of ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "favicon-32x32.png"])
  cpSync(`${VIEWER}/${name}`, `${PAGE}/${name}`)
for (const name of ["LICENSE", "NOTICE"]) cpSync(`${VIEWER}/${name}`, `${PAGE}/swagger-ui-${name}`)

chmodSync("dist/bootstrap/launcher.js", 0o755)
