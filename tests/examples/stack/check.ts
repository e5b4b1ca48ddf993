// A gateway, an identity provider and an upstream for one run; every request that the gateway should refuse is asked.
import { createStack } from "portolan/stack"

const stack = createStack({ home: ".portolan" })
await stack.up({ proxyPort: 0, idpPort: 0, upstreamPort: 0 })
try {
  const { rows, asExpected } = await stack.check()
  const different = rows.filter(({ outcome }) => outcome === "different")
  const { state } = await stack.status()
  const token = await stack.token()
  const refused: unknown = await stack.up({ database: "postgres" }).catch((failure: { code?: string }) => failure.code)
  console.log(JSON.stringify({ state, different, many: asExpected > 300, token: token.split(".").length, refused }))
} finally {
  await stack.down()
}
