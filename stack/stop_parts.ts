import { Effect } from "effect"
import { stopContainers } from "./docker/docker_engine.ts"
import { stopProcesses } from "./embedded_engine.ts"
import type { StackState } from "./state.ts"

/** Stops every part of a stack, whichever engine runs it. */
export const stopParts = (home: string, { project, processes }: StackState) =>
  project === undefined ? stopProcesses(processes) : Effect.asVoid(stopContainers(home, project))
