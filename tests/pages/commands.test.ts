// Every shell command of the documents, run on a page's own world: only addresses and ports are replaced.
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { probePort } from "../../stack/loopback.ts"
import { ENDPOINTS, issuerOf, REALM } from "../../stack/realm.ts"
import { startLocalGateway } from "../stack/local_gateway.ts"
import { startStack } from "../stack/running_stack.ts"
import { makeGraphModel } from "../support/graph_model.ts"
import { graphServer } from "../support/graph_server.ts"
import { localServer } from "../support/local_server.ts"
import { endProcesses, serve, stop } from "../support/service_process.ts"
import { AGENT_TOKEN, scaledTo, startAgentWith } from "./agent_with_jobs.ts"
import { blocksOf, executed, pageAt, ROOT } from "./pages.ts"
import { command, environmentIn, makeReaderFolder, type ReaderFolder } from "./reader_folder.ts"
import { openShell } from "./shell.ts"

/**
 * What a block must do: end well and show this; or show it and go on, alone (`goesOn`) or beside what goes on already
 * (`follows`), until it is stopped.
 */
type Expected = { readonly shows: RegExp } | { readonly goesOn: RegExp } | { readonly follows: RegExp }

/** What a page's commands run in. */
interface Scene {
  readonly environment?: Readonly<Record<string, string>>
  /** Addresses of the page, and those of this run. */
  readonly replaced?: ReadonlyArray<readonly [text: string, instead: string]>
  readonly blocks: ReadonlyArray<Expected>
  /** Looks at what came of it. */
  readonly check?: () => Promise<void> | void
}

/** Milliseconds the commands of a page may take on a busy machine; some start a stack and ask it 300 times. */
const PAGE_MS = 300_000

const scope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const serving = <A>(server: Effect.Effect<A, never, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Scope.provide(server, scope))

const cleanups: Array<() => Promise<unknown>> = []
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
  await endProcesses()
})

const freePort = async (): Promise<string> => String(await probePort(0))

/** The ports of a stack, for a page that names the usual ones. */
const stackPorts = async (): Promise<NonNullable<Scene["replaced"]>> => {
  const [proxy, idp, upstream] = [await freePort(), await freePort(), await freePort()]
  return [
    ["stack up\n", `stack up --proxy-port ${proxy} --idp-port ${idp} --upstream-port ${upstream}\n`],
    ["127.0.0.1:8000", `127.0.0.1:${proxy}`],
    ["stack upstream", `stack upstream --port ${upstream}`],
    ["127.0.0.1:8900", `127.0.0.1:${upstream}`],
  ]
}

/** A service of its own port for a page of records, and a token for it. */
const recordsPlace = async (token: string): Promise<Pick<Scene, "environment" | "replaced">> => {
  const port = await freePort()
  return { environment: { PORT: port, TOKEN: token }, replaced: [["127.0.0.1:8080", `127.0.0.1:${port}`]] }
}

const SCENES: Readonly<Record<string, (place: ReaderFolder) => Promise<Scene>>> = {
  "README.md": async ({ folder }) => {
    // As in a clone: everything of it, and a folder of its own for what is made.
    rmSync(join(folder, "package.json"))
    rmSync(join(folder, "tsconfig.json"))
    for (const name of readdirSync(ROOT))
      if (!name.startsWith(".") && !existsSync(join(folder, name))) symlinkSync(join(ROOT, name), join(folder, name))
    return {
      environment: { PORT: await freePort() },
      replaced: await stackPorts(),
      blocks: [
        { goesOn: /API page .*Stop with Ctrl-C/s },
        { goesOn: /Listening/ },
        { shows: /as expected.*0 holes, 0 leaks|0 holes, 0 leaks/s },
      ],
    }
  },
  "domain/records/README.md": async ({ token }) => ({
    ...(await recordsPlace(token)),
    blocks: [
      { goesOn: /Listening/ },
      {
        shows:
          /^\{"response":"OK","data":(\{"id":1,"name":"Vasa","length_m":69\})\}\{"response":"OK","data":\[\1\]\}\{"response":"OK","data":\1\}$/,
      },
    ],
  }),
  "domain/records/reading.md": async ({ token }) => ({
    ...(await recordsPlace(token)),
    blocks: [
      { goesOn: /Listening/ },
      { shows: /"data":\[\{"id":1,"name":"Anchor"\},\{"id":2,"name":"Anchor chain"\}\]\}$/ },
      { shows: /^link: <[^>]*after=[^>]+>; rel="next"/i },
    ],
  }),
  "domain/records/writing.md": async ({ token }) => ({
    ...(await recordsPlace(token)),
    blocks: [
      { goesOn: /Listening/ },
      { shows: /"data":\[\{"id":1,"name":"Vasa",[^[]*\{"id":2,"name":"Amphion",/ },
      { shows: /"data":\{"created":2,"firstId":3,"lastId":4\}/ },
      { shows: /^(\{"response":"OK","data":\{"id":5,.*\}\})\1$/ },
      { shows: /"length_m":69,.*"length_m":69\.2,/ },
    ],
  }),
  "domain/records/transfer.md": async ({ token, folder }) => ({
    ...(await recordsPlace(token)),
    blocks: [
      { goesOn: /Listening/ },
      { shows: /Sextant.*Buoy.*Log line/s },
      { shows: /^\{"id":2,"name":"Buoy","price":0\}\n.*\n\{"id":4,"name":"Log line","price":3\}\n$/ },
    ],
    check: () => expect(readFileSync(join(folder, "copy.ndjson"), "utf8").trim().split("\n")).toHaveLength(3),
  }),
  "domain/records/changes.md": async ({ token }) => ({
    ...(await recordsPlace(token)),
    blocks: [{ goesOn: /Listening/ }, { follows: /^retry: \d+\nid: \S+\n\n/ }],
  }),
  "domain/identity/README.md": async () => {
    const { url, seen } = await serving(localServer(() => ({ body: '{"access_token":"a-token","expires_in":60}' })))
    return {
      replaced: [["https://idp.example", url]],
      blocks: [{ shows: /1 RSA key\b/ }, { shows: /^$/ }],
      check: () => {
        expect(seen.map(({ path }) => path)).toEqual(["/realms/main/protocol/openid-connect/token"])
        expect(new URLSearchParams(seen[0]?.body).get("client_secret")).toBe("secret-of-the-client")
      },
    }
  },
  "domain/scheduler/README.md": async () => {
    const agent = await startAgentWith(["cam-1", "cam-2"])
    cleanups.push(agent.stop)
    return {
      environment: { SCHEDULER_TOKEN: AGENT_TOKEN },
      replaced: [["http://127.0.0.1:4646", agent.url]],
      blocks: [{ shows: /cam-1/ }, { shows: /cam-2/ }],
      check: () => {
        expect(scaledTo(agent, "cam-1")).toEqual([1])
        expect(scaledTo(agent, "cam-2")).toEqual([0, 1])
      },
    }
  },
  "domain/media/README.md": async () => {
    const model = makeGraphModel({ processingMs: 0 })
    const { url } = await serving(graphServer(model, Date.now))
    return {
      environment: { GRAPH_ACCESS_TOKEN: "token-of-the-account" },
      replaced: [["https://graph.facebook.com", url]],
      blocks: [
        { shows: /media_type=CAROUSEL.*media_publish\?creation_id=CONTAINER/s },
        { shows: /Published: \d+\n1 of 50/ },
      ],
      check: () => expect(model.posts).toHaveLength(1),
    }
  },
  "stack/README.md": async ({ folder }) => {
    const replaced = await stackPorts()
    const upstream = replaced.find(([text]) => text === "127.0.0.1:8900")?.[1]
    // A gateway of the reader's own: ours, under the paths that the page names.
    const realm = await startStack()
    const issuer = issuerOf(realm.state.urls.idp, REALM.name)
    const gateway = await startLocalGateway({
      settings: {
        routes: [
          { prefix: "/health", policy: "path-allow" },
          { prefix: "/admin", policy: "path-allow" },
          { prefix: "/orders", policy: "realm-jwt" },
        ],
        allowedPaths: ["/health"],
        realm: REALM.name,
        issuer,
        clientId: REALM.webClient,
        accessAudience: REALM.accessAudience,
        jwtRoles: [],
        authorizationUrl: `${issuer}${ENDPOINTS.authorization}`,
        endSessionUrl: `${issuer}${ENDPOINTS.endSession}`,
      },
      realmUrl: issuer,
      upstream: `http://${upstream}`,
    })
    cleanups.push(realm.stop, gateway.stop)
    command(folder, "../my-token", `PORTOLAN_HOME='${realm.home}' exec portolan stack token`)
    return {
      replaced: [...replaced, ["https://gateway.example", gateway.url]],
      blocks: [
        { shows: /200 OK.*403 Forbidden.*0 holes, 0 leaks/s },
        { goesOn: /upstream +http/ },
        { shows: /0 holes, 0 leaks/ },
      ],
      check: () => expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("Gateway check: passed"),
    }
  },
  "bootstrap/README.md": async ({ folder }) => {
    if (Bun.which("sqlite3") === null) {
      // The same statement, by the SQLite of the runtime.
      const script = `new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec(process.argv[2])`
      command(folder, "sqlite3", `exec '${process.execPath}' -e '${script}' "$1" "$2"`)
    }
    return {
      environment: { PORT: "0" },
      replaced: [["env -u DB_HOST", "DB_HOST=of-other-software env -u DB_HOST"]],
      blocks: [
        { shows: /MAX_IN_FLIGHT +1024.*"MAX_IN_FLIGHT": ?1024/s },
        { shows: /MAX_IN_FLIGHT +1024/ },
        { shows: /portolan stack up \[flags\]/ },
        { goesOn: /Listening/ },
        { shows: /CORS_ORIGINS +https:\/\/app\.example\.com,http:\/\/localhost:5173/ },
        { shows: /^$/ },
        { shows: /^$/ },
        { shows: /STORE +mongo.*MONGODB_URL +<set>/s },
        { shows: /POST \/scheduler\/jobs\/:id\/restart.*restart\.second_step/s },
      ],
      // The restored file is served.
      check: async () => {
        const served = await serve({ PORTOLAN_HOME: join(folder, ".portolan") })
        expect(await stop(served)).toBe(0)
      },
    }
  },
}

/** Writes the JSON files that a page shows, under the names that stand before them. */
const writeFiles = (page: string, folder: string): void => {
  for (const { language, before, text } of blocksOf(pageAt(page))) {
    if (language !== "json") continue
    const name = [...before.matchAll(/`([\w.-]+\.json)`/g)].at(-1)?.[1]
    if (name === undefined) throw new Error(`${page}: a JSON block without the name of its file before it`)
    writeFileSync(join(folder, name), text)
  }
}

const pages = [...new Set(executed("sh").map(({ page }) => page))]

describe("the commands of the documents", () => {
  test("have a world on every page", () => {
    expect(pages.sort()).toEqual(Object.keys(SCENES).sort())
  })

  test.each(pages)(
    "%s",
    async (page) => {
      const place = makeReaderFolder()
      cleanups.push(async () => place.remove())
      writeFiles(page, place.folder)
      const scene = await SCENES[page]?.(place)
      const blocks = blocksOf(pageAt(page)).filter(
        ({ language, notExecuted }) => language === "sh" && notExecuted === undefined,
      )
      expect(scene?.blocks).toHaveLength(blocks.length)
      const shell = openShell(place.folder, environmentIn(place, scene?.environment ?? {}))
      cleanups.push(shell.stop)
      try {
        for (const [at, { text }] of blocks.entries()) {
          const expected = scene?.blocks[at]
          const script = (scene?.replaced ?? []).reduce((line, [from, to]) => line.replaceAll(from, to), text)
          if (expected === undefined) throw new Error(`${page}: block ${at + 1} is not known`)
          if (!("shows" in expected)) {
            if ("goesOn" in expected) await shell.stop()
            await shell.start(script, "goesOn" in expected ? expected.goesOn : expected.follows)
            continue
          }
          const { code, written } = await shell.run(script)
          expect({ block: at + 1, code, written: code === 0 ? "" : written }).toEqual({
            block: at + 1,
            code: 0,
            written: "",
          })
          expect(written).toMatch(expected.shows)
        }
      } finally {
        await shell.stop()
      }
      await scene?.check?.()
    },
    PAGE_MS,
  )
})
