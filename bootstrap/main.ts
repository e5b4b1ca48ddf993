#!/usr/bin/env bun
import { runCommandLine } from "../adapters/driving/cli/command.ts"
import { portolan } from "./command_line.ts"
import { VERSION } from "./version.ts"

const exitCode = await runCommandLine(portolan, VERSION, process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  drained: () => new Promise((resolve) => process.stdout.write("", () => resolve())),
  interactive: process.stderr.isTTY === true,
  // https://no-color.org: any text but an empty one.
  coloured: process.stdout.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb",
})
// The process ends once the pipe has taken all results.
process.stdout.write("", () => process.exit(exitCode))
