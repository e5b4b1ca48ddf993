// The servers of the ring as containers, for machines with a Docker engine.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers"
import { mongoAnswers } from "./mongo_answers.ts"
import type { Environment } from "./real_servers.ts"

export interface Started {
  /** The variables that lead the suites to the server. */
  readonly variables: Environment
  readonly stop: () => Promise<unknown>
}

interface ServerImage {
  readonly variable: string
  readonly standard: string
  readonly start: (image: string) => Promise<Started>
}

const STARTUP_TIMEOUT_MS = 180_000
const USER = "portolan"
const PASSWORD = "portolan-container-password"
const REALM_FILE = join(import.meta.dir, "../fixtures/keycloak/realm.json")

const address = (container: StartedTestContainer, port: number): string =>
  `${container.getHost()}:${container.getMappedPort(port)}`

/** Below the ports of outgoing connections: a client calling while the server is away might be given that very port. */
const freePort = (): number => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => {} } }).stop()
      return port
    } catch {
      // Taken: try another.
    }
  }
}

const startMongo = async (image: string): Promise<Started> => {
  const container = await new GenericContainer(image)
    .withEnvironment({ MONGO_INITDB_ROOT_USERNAME: USER, MONGO_INITDB_ROOT_PASSWORD: PASSWORD })
    // A port of its own choosing would change when the container is killed and started again.
    .withExposedPorts({ container: 27017, host: freePort() })
    .withWaitStrategy(Wait.forLogMessage(/waiting for connections|listening on/i))
    .withStartupTimeout(STARTUP_TIMEOUT_MS)
    .start()
  const url = `mongodb://${USER}:${PASSWORD}@${address(container, 27017)}/?authSource=admin`
  await mongoAnswers(url, STARTUP_TIMEOUT_MS).catch(async (error) => {
    await container.stop()
    throw error
  })
  return {
    variables: {
      TEST_MONGODB_URL: url,
      TEST_MONGODB_KILL: `docker kill ${container.getId()}`,
      TEST_MONGODB_START: `docker start ${container.getId()}`,
    },
    stop: () => container.stop(),
  }
}

const startKeycloak = async (image: string): Promise<Started> => {
  const container = await new GenericContainer(image)
    .withEnvironment({ KC_BOOTSTRAP_ADMIN_USERNAME: USER, KC_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD })
    .withCopyContentToContainer([
      { content: readFileSync(REALM_FILE, "utf8"), target: "/opt/keycloak/data/import/realm.json" },
    ])
    .withCommand(["start-dev", "--import-realm"])
    .withExposedPorts(8080)
    .withWaitStrategy(Wait.forHttp("/realms/demo/.well-known/openid-configuration", 8080))
    .withStartupTimeout(STARTUP_TIMEOUT_MS)
    .start()
  return {
    variables: {
      TEST_KEYCLOAK_URL: `http://${address(container, 8080)}`,
      TEST_KEYCLOAK_ADMIN: USER,
      TEST_KEYCLOAK_ADMIN_PASSWORD: PASSWORD,
    },
    stop: () => container.stop(),
  }
}

const startNomad = async (image: string): Promise<Started> => {
  const container = await new GenericContainer(image)
    .withPrivilegedMode()
    .withCommand(["agent", "-dev", "-bind=0.0.0.0"])
    .withExposedPorts(4646)
    .withWaitStrategy(Wait.forHttp("/v1/status/leader", 4646))
    .withStartupTimeout(STARTUP_TIMEOUT_MS)
    .start()
  return {
    variables: { TEST_NOMAD_ADDR: `http://${address(container, 4646)}` },
    stop: () => container.stop(),
  }
}

/** By the first variable of the server they stand for. */
const IMAGES: Readonly<Record<string, ServerImage>> = {
  TEST_MONGODB_URL: { variable: "TEST_MONGODB_IMAGE", standard: "mongo:8", start: startMongo },
  TEST_KEYCLOAK_URL: {
    variable: "TEST_KEYCLOAK_IMAGE",
    standard: "quay.io/keycloak/keycloak:26.4.7",
    start: startKeycloak,
  },
  TEST_NOMAD_ADDR: { variable: "TEST_NOMAD_IMAGE", standard: "hashicorp/nomad:1.10.5", start: startNomad },
}

/** @fails when no engine answers, or the image can neither be found nor pulled, or does not get ready */
export const startContainer = async (addressVariable: string, environment: Environment): Promise<Started> => {
  const image = IMAGES[addressVariable]
  if (image === undefined) throw new Error(`no image stands for ${addressVariable}`)
  await getContainerRuntimeClient()
  return image.start(environment[image.variable] || image.standard)
}
