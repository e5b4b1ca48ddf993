// `portolan stack check` in this process, as a person would call it.
import { runCommandLine } from "../../adapters/driving/cli/command.ts"
import { portolan } from "../../bootstrap/command_line.ts"

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export const stackCheck = async (words: ReadonlyArray<string>, interactive = false): Promise<Ran> => {
  let [out, err] = ["", ""]
  const code = await runCommandLine(portolan, "0", ["stack", "check", ...words], {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    interactive,
    coloured: interactive,
  })
  return { code, out, err }
}
