import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath, URL } from "node:url"
import { type AnyElysia, Elysia, file } from "elysia"
import { PROBLEM_SCHEMA, type Schemas } from "./problem_docs.ts"

const VIEWER = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "favicon-32x32.png": "image/png",
} as const

const START_SCRIPT = `SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#viewer", deepLinking: true, tryItOutEnabled: true, displayRequestDuration: true,
  validatorUrl: null
})`

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

/** The documented operations by path and method: the `detail` of a route is its whole OpenAPI operation. */
const pathsOf = (routes: Routes): Readonly<Record<string, object>> => {
  const paths: Record<string, object> = {}
  for (const { method, path, hooks } of routes) {
    const operation: { readonly hide?: boolean } = hooks?.detail ?? {}
    if (operation.hide === true) continue
    const name = path.replace(/:(\w+)/g, "{$1}")
    paths[name] = { ...paths[name], [method.toLowerCase()]: operation }
  }
  return paths
}

const documentOf = (version: string, schemas: Schemas, routes: Routes) => ({
  openapi: "3.1.2",
  info: {
    title: "Portolan",
    version,
    license: { name: "MIT", identifier: "MIT" },
    description:
      "Records behind bearer tokens of an identity realm. Press **Authorize** and paste an access token to try the requests.",
  },
  // The address that the document was read from.
  servers: [{ url: "/" }],
  paths: pathsOf(routes),
  components: {
    schemas: { ...schemas, Problem: PROBLEM_SCHEMA },
    securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
  },
})

/**
 * `/openapi.json` (OpenAPI 3.1) and `/openapi`, a viewer that needs nothing from outside.
 *
 * @param version of the service, for the document's `info`
 * @param schemas what the operations refer to, by name
 * @param routes gives the routes of the whole application, once it is complete
 */
export const apiPage = (version: string, schemas: Schemas, routes: () => Routes) => {
  let text: string | undefined
  return new Elysia()
    .get(
      "/openapi.json",
      ({ set }) => {
        text ??= JSON.stringify(documentOf(version, schemas, routes()))
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
      () => new Response(START_SCRIPT, { headers: { "content-type": "text/javascript; charset=utf-8" } }),
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
