import { stringify } from "yaml"
import { routesOf } from "../../domain/gateway/route_profile.ts"
import { policySettings } from "../gateway/policy_ports.ts"
import type { GateSettings } from "../plugin/gate_settings.ts"
import { REALM } from "../realm.ts"
import type { StackState } from "../state.ts"
import { composeDocument } from "./compose.ts"
import { GUARD_ANSWER_MS, gatewayDockerfile, SOCKET, upstreamDockerfile } from "./images.ts"
import { kongConfig } from "./kong_config.ts"
import { realmImport } from "./realm_import.ts"

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

// Repeated parts are written out, as not every reader follows anchors; to YAML 1.1 an unquoted `off` is no text.
const yaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, version: "1.1" })

/** Every file of the Docker engine but the binary: path in its folder -> text. */
export const dockerFiles = (state: StackState): ReadonlyMap<string, string> => {
  const { options, secrets, urls } = state
  const gate: GateSettings = {
    settings: policySettings(state),
    realmUrl: `http://idp:8080/realms/${REALM.name}`,
    webSecret: secrets.webClient,
  }
  const guard = { socket: SOCKET, answerMs: GUARD_ANSWER_MS, publicUrl: urls.proxy }
  const realm = (name: string) => json(realmImport(name, secrets, [urls.proxy]))
  return new Map([
    ["compose.yml", yaml(composeDocument(options))],
    ["kong.yml", yaml(kongConfig(options.gateway, routesOf(options.gateway, options.variant), guard))],
    ["gateway.Dockerfile", gatewayDockerfile(options.gateway)],
    ["upstream.Dockerfile", upstreamDockerfile],
    ["gate.json", json(gate)],
    ["control", `${secrets.control}\n`],
    [`realms/${REALM.name}.json`, realm(REALM.name)],
    [`realms/${REALM.otherName}.json`, realm(REALM.otherName)],
  ])
}
