// A command of `portolan` in this process: what a process would print and end with, without the price of starting one.
// What lies between the command and the operating system (the words' way to the command, the exit code, log lines) needs
// `runProcess` of `service_process.ts`.
import { type Command, runCommand } from "../../adapters/driving/cli/command.ts"

let turn: Promise<unknown> = Promise.resolve()

/** Runs a command on the words after its name, in an environment of nothing but these variables, one command at a time. */
export const runHere = (
  command: Command,
  words: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
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
      return { code: await runCommand(command, words, terminal), ...written }
    } finally {
      process.env = before
    }
  }
  const result = turn.then(run)
  turn = result.catch(() => {})
  return result
}
