#!/usr/bin/env node
// The command `portolan` as npm installs it. It runs on Node, so that it starts wherever npm does, and hands over to the
// installed Bun.
import { spawn } from "node:child_process"
import { BUN_MISSING, findBun } from "../stack/find_bun.ts"
import { siblingOf } from "../stack/program.ts"

const main = siblingOf(import.meta.url, "main")

/** Runs Bun as a child that gets every signal once, and ends as it ends. */
const follow = (bun: string): void => {
  const child = spawn(bun, [main, ...process.argv.slice(2)], { stdio: "inherit" })
  for (const name of ["SIGTERM", "SIGHUP", "SIGINT"] as const)
    process.on(name, () => {
      // A terminal sends Ctrl-C to the child too.
      if (name !== "SIGINT" || process.stdin.isTTY !== true) child.kill(name)
    })
  child.on("exit", (code, signal) => {
    process.removeAllListeners()
    if (signal === null) process.exitCode = code ?? 1
    else process.kill(process.pid, signal)
  })
}

if (process.versions.bun !== undefined) await import("./main.ts")
else {
  const bun = findBun()
  if (bun === undefined) {
    process.stderr.write(`portolan: ${BUN_MISSING}\n`)
    process.exitCode = 1
  } else follow(bun)
}
