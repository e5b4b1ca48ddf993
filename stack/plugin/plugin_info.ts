/** The plugin as the gateway is told about it (`-dump`). It takes no settings: they are in a file of its own. */
export const PLUGIN = {
  Name: "portolan-gate",
  Version: "1.0.0",
  // After the gateway's own request size and bot checks, before every plugin that changes the request.
  Priority: 1050,
  Phases: ["access"],
  Schema: { name: "portolan-gate", fields: [{ config: { type: "record", fields: [] } }] },
} as const

/** What the gateway reads from the query command. */
export const pluginDump = (): string => JSON.stringify({ Protocol: "ProtoBuf:1", Plugins: [PLUGIN] })
