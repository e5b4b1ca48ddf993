// The command line in this process: what a process would print and end with, without the price of starting one. What lies
// between it and the operating system (the exit code, log lines) needs `runProcess` of `service_process.ts`.
import { type CommandGroup, runCommandLine } from "../../adapters/driving/cli/command.ts"
import { portolan } from "../../bootstrap/command_line.ts"

let turn: Promise<unknown> = Promise.resolve()

/**
 * Runs a command line, in an environment of nothing but these variables, one at a time.
 *
 * @param root the commands there are, those of the product when omitted
 */
export const runHere = <Name extends string = "portolan">(
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  root?: CommandGroup<Name>,
) => {
  const run = async () => {
    const written = { stdout: "", stderr: "" }
    const write = (to: keyof typeof written) => (text: string) => {
      written[to] += text
    }
    const before = process.env
    process.env = { PATH: before["PATH"], HOME: before["HOME"], PORT: "0", PORTOLAN_HOME: "/nowhere", ...environment }
    try {
      const terminal = { out: write("stdout"), err: write("stderr"), interactive: false }
      const code = await (root === undefined
        ? runCommandLine(portolan, "0.0.0", words, terminal)
        : runCommandLine(root, "0.0.0", words, terminal))
      return { code, ...written }
    } finally {
      process.env = before
    }
  }
  const result = turn.then(run)
  turn = result.catch(() => {})
  return result
}
