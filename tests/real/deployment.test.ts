// The Nomad job that deploys the executable, on an agent. The compose file is in image.test.ts, its realm in deployed_realm.test.ts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { executable } from "../support/executable.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { NOMAD_COMMAND, type NomadAgent, startNomad } from "../support/nomad_agent.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { callerHeaders, serveEnvironment } from "../support/service_process.ts"

const JOB = join(import.meta.dir, "../../bootstrap/deploy/portolan.nomad.hcl")
const START_MS = 120_000

const nomadSuite = (command: string): void =>
  describe("the Nomad job", () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-deployment-"))
    let agent: NomadAgent
    beforeAll(async () => {
      agent = await startNomad({ acl: false })
    }, START_MS)
    afterAll(async () => {
      await agent?.stop()
      rmSync(folder, { recursive: true })
    }, START_MS)

    const nomad = async (...words: ReadonlyArray<string>) => {
      const child = Bun.spawn([command, ...words], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], HOME: folder, NOMAD_ADDR: agent.url },
      })
      const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { code: await child.exited, said: texts.join("") }
    }
    const succeeds = async (...words: ReadonlyArray<string>): Promise<void> => {
      const { code, said } = await nomad(...words)
      expect([code, code === 0 ? "" : said]).toEqual([0, ""])
    }
    const asked = async (path: string): Promise<unknown> => (await fetch(`${agent.url}/v1/${path}`)).json()

    test("is a job that an agent accepts, and is refused without its archive", async () => {
      const checksum = `sha256:${"0".repeat(64)}`
      await succeeds(
        "job",
        "validate",
        "-var",
        "executable=https://a.example/b.tar.gz",
        "-var",
        `checksum=${checksum}`,
        JOB,
      )
      const refused = await nomad("job", "validate", JOB)
      expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('"executable"')])
    })

    realSuite(MONGODB, "the job with MongoDB", (server) => {
      ownDatabase(server, "deployment")

      test(
        "runs the executable from its archive until it is healthy, and its service answers",
        async () => {
          const program = await executable()
          const archive = join(folder, "portolan.tar")
          expect(Bun.spawnSync(["tar", "-cf", archive, "-C", dirname(program), "portolan"]).exitCode).toBe(0)
          const checksum = createHash("sha256").update(readFileSync(archive)).digest("hex")
          const files = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(Bun.file(archive)) })
          try {
            const variables = {
              ...serveEnvironment(),
              MONGODB_URL: server.database(`portolan_deployment_${process.pid}`),
              ...(server.atomicUpdates ? {} : { MONGODB_SINGLE_WRITER: "true" }),
            }
            await succeeds(
              ...["var", "put", "-out", "none", "nomad/jobs/portolan"],
              ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
            )
            // `job run` returns once the deployment is healthy by the job's own check, or has failed.
            await succeeds(
              ...["job", "run", "-var", `executable=http://127.0.0.1:${files.port}/portolan.tar`],
              ...["-var", `checksum=sha256:${checksum}`, "-var", "driver=raw_exec", "-var", "instances=1", JOB],
            )
          } finally {
            await files.stop()
          }
          const [service] = (await asked("service/portolan")) as ReadonlyArray<{ Address: string; Port: number }>
          const list = await fetch(`http://${service?.Address}:${service?.Port}/api/products`, {
            headers: callerHeaders(),
          })
          expect([list.status, await list.json()]).toEqual([200, { response: "OK", data: [] }])
          const [allocation] = (await asked("job/portolan/allocations")) as ReadonlyArray<{ ID: string }>
          await succeeds("job", "stop", "portolan")
          for (;;) {
            const { TaskStates } = (await asked(`allocation/${allocation?.ID}`)) as {
              TaskStates: Readonly<Record<string, { Events: ReadonlyArray<{ Type: string; ExitCode: number }> }>>
            }
            const end = TaskStates["portolan"]?.Events.find(({ Type }) => Type === "Terminated")
            if (end !== undefined) return expect(end.ExitCode).toBe(0)
            await Bun.sleep(100)
          }
        },
        3 * START_MS,
      )
    })
  })

if (NOMAD_COMMAND === null)
  test.skip("the Nomad job: needs a nomad command: set TEST_NOMAD_COMMAND, or put it on the PATH", () => {})
else nomadSuite(NOMAD_COMMAND)
