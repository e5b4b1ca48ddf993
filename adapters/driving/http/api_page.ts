import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath, URL } from "node:url"
import { type AnyElysia, Elysia, file } from "elysia"
import { startScript } from "./api_page_script.ts"
import { PROBLEM_SCHEMA, type Schemas } from "./problem_docs.ts"

const VIEWER = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
} as const

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portolan API</title>
<link rel="stylesheet" href="/openapi/swagger-ui.css"><link rel="icon" href="/openapi/favicon-32x32.png">
</head>
<body><div id="viewer"></div>
<script src="/openapi/swagger-ui-bundle.js"></script><script src="/openapi/start.js"></script>
</body>
</html>
`

// Everything comes from this service; the viewer styles elements inline and draws its icons from data URLs.
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const HIDDEN = { detail: { hide: true } } as const

/** Path of a packaged file of the viewer; the single executable holds it beside the code. */
const viewerPath = (name: string): string => {
  const beside = fileURLToPath(new URL(name, import.meta.url))
  return existsSync(beside) ? beside : createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)
}

/** It is sent piece by piece: clients that never read it must not cost memory. */
const viewerFile = (name: string) => file(viewerPath(name))

/** Routes of an application, as Elysia lists them. */
type Routes = AnyElysia["routes"]

/** What each group of operations is about; a collection is described by its name. */
const TAGS: Readonly<Record<string, string>> = {
  scheduler: "Jobs of the cluster: look, run, scale, restart, delete",
  media: "Pictures, videos and carousels: prepare and publish, each at most once",
  operations: "Health and figures of this service",
}

/** An OpenAPI operation, as a route carries it. */
interface DocumentedOperation {
  readonly hide?: boolean
  readonly operationId?: string
  readonly tags?: ReadonlyArray<string>
}

/**
 * The documented operations: those of records first, so that a handler mounted a second time comes after its collection's
 * own, else in the order of the routes. The `detail` of a route is its whole operation.
 */
const operationsOf = (routes: Routes) => {
  const documented = routes.flatMap(({ method, path, hooks }) => {
    const operation: DocumentedOperation = hooks?.detail ?? {}
    return operation.hide === true ? [] : [{ method: method.toLowerCase(), path, operation }]
  })
  const ofRecords = ({ path }: { readonly path: string }) => path.startsWith("/api/")
  return [...documented.filter(ofRecords), ...documented.filter((each) => !ofRecords(each))]
}

type Operations = ReturnType<typeof operationsOf>

const pathsOf = (operations: Operations): Readonly<Record<string, object>> => {
  const paths: Record<string, object> = {}
  for (const { method, path, operation } of operations) {
    const name = path.replace(/:(\w+)/g, "{$1}")
    paths[name] = { ...paths[name], [method]: operation }
  }
  return paths
}

/** The groups in the order in which they are shown: collections, then areas, the service itself last. */
const tagsOf = (operations: Operations) => {
  const used = new Set(operations.flatMap(({ operation }) => operation.tags ?? []))
  const known = Object.keys(TAGS)
  return [...[...used].filter((name) => !known.includes(name)), ...known.filter((name) => used.has(name))].map(
    (name) => ({ name, description: TAGS[name] ?? `Records of the collection ${name}` }),
  )
}

const documentOf = (version: string, schemas: Schemas, operations: Operations) => ({
  openapi: "3.1.2",
  info: {
    title: "Portolan",
    version,
    license: { name: "MIT", identifier: "MIT" },
    description:
      "Records, jobs and media behind access tokens of one realm. Press **Authorize** and paste a token to try the requests; in the demo it is there already.",
  },
  // The address that the document was read from.
  servers: [{ url: "/" }],
  tags: tagsOf(operations),
  paths: pathsOf(operations),
  components: {
    schemas: { ...schemas, Problem: PROBLEM_SCHEMA },
    securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
  },
})

/** Names of this machine in a `Host` header, as they stand in a URL. */
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"])

/**
 * True when the page itself asks for the token, under a name of this machine. A page of somebody else cannot: the browser
 * says that it is from elsewhere, and a name that was bent to this machine is none of the machine's own.
 *
 * @see Fetch metadata request headers, `Sec-Fetch-Site`
 */
const isOwnPage = ({ headers, url }: Request): boolean =>
  headers.get("sec-fetch-site") === "same-origin" && LOOPBACK.has(new URL(url).hostname)

/** What the page is made with. */
export interface ApiPageParts {
  /** Version of the service, for the document's `info`. */
  readonly version: string
  /** What the operations refer to, by name. */
  readonly schemas: Schemas
  /** Gives the routes of the whole application, once it is complete. */
  readonly routes: () => Routes
  /** A token that is filled in for whoever opens the page on this machine: the demo's. */
  readonly token: string | undefined
}

/**
 * `/openapi.json` (OpenAPI 3.1) and `/openapi`, a viewer that needs nothing from outside. `/` leads there.
 */
export const apiPage = ({ version, schemas, routes, token }: ApiPageParts) => {
  let text: string | undefined
  return new Elysia()
    .get("/", ({ redirect }) => redirect("/openapi"), HIDDEN)
    .get(
      "/openapi.json",
      ({ set }) => {
        text ??= JSON.stringify(documentOf(version, schemas, operationsOf(routes())))
        set.headers["content-type"] = "application/json"
        return text
      },
      HIDDEN,
    )
    .get(
      "/openapi",
      () =>
        new Response(PAGE, {
          headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": PAGE_POLICY },
        }),
      HIDDEN,
    )
    .get(
      "/openapi/start.js",
      () => {
        const order = operationsOf(routes()).flatMap(({ operation }) => operation.operationId ?? [])
        return new Response(startScript({ order, offersToken: token !== undefined }), {
          headers: { "content-type": "text/javascript; charset=utf-8" },
        })
      },
      HIDDEN,
    )
    .get(
      "/openapi/token",
      ({ request, status }) =>
        token !== undefined && isOwnPage(request)
          ? new Response(token, { headers: { "content-type": "text/plain", "cache-control": "no-store" } })
          : status(404),
      HIDDEN,
    )
    .get(
      "/openapi/:file",
      ({ params, set, status }) => {
        const type = Object.entries(VIEWER).find(([name]) => name === params.file)?.[1]
        if (type === undefined) return status(404)
        set.headers["content-type"] = type
        set.headers["cache-control"] = "public, max-age=3600"
        return viewerFile(params.file)
      },
      HIDDEN,
    )
}
