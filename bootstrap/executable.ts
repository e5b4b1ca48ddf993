// The entry of the single executable: the whole product in one file. It is also each part of the stack that it starts, and
// the plugin server in the gateway's containers.
import { basename } from "node:path"
import { PART_WORD } from "../stack/program.ts"
import type { Service } from "../stack/state.ts"

const PARTS: Readonly<Record<Service, () => Promise<unknown>>> = {
  upstream: () => import("../stack/upstream/upstream_main.ts"),
  idp: () => import("../stack/idp/idp_main.ts"),
  gateway: () => import("../stack/gateway/gateway_main.ts"),
}

const isPart = (name: string): name is Service => Object.hasOwn(PARTS, name)

const [word, part = ""] = process.argv.slice(2)
if (basename(process.execPath) === "gate") await import("../stack/plugin/gate_main.ts")
else if (word === PART_WORD && isPart(part)) await PARTS[part]()
else await import("./main.ts")
