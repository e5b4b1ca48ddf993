import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"

/** File the plugin server starts from; only its owner may read it. */
export interface GateSettings {
  readonly settings: GatewaySettings
  /** Base address of the realm as this process reaches it. */
  readonly realmUrl: string
  readonly webSecret: string
}
