import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { openapi } from "@elysiajs/openapi"
import { Elysia } from "elysia"
import { PROBLEM_SCHEMA } from "./problem_docs.ts"

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

const viewerFiles = new Map<string, Uint8Array<ArrayBuffer>>()

/** A packaged file of the viewer, read at the first visit: many strangers who ask for it must not cost a reading each. */
const viewerFile = (name: string): Uint8Array<ArrayBuffer> => {
  const read = viewerFiles.get(name)
  if (read !== undefined) return read
  const bytes = new Uint8Array(readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`)))
  viewerFiles.set(name, bytes)
  return bytes
}

/**
 * `/openapi.json` (OpenAPI 3.1) and `/openapi`, a viewer that needs nothing from outside.
 *
 * @param version of the service, for the document's `info`
 */
export const apiPage = (version: string) =>
  new Elysia()
    .use(
      openapi({
        provider: null,
        specPath: "/openapi.json",
        documentation: {
          info: {
            title: "Portolan",
            version,
            description:
              "Records behind bearer tokens of an identity realm. Press **Authorize** and paste an access token to try the requests.",
          },
          components: {
            schemas: { Problem: PROBLEM_SCHEMA as never },
            securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
          },
        },
      }),
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
      ({ params, status }) => {
        const type = Object.entries(VIEWER).find(([name]) => name === params.file)?.[1]
        if (type === undefined) return status(404)
        return new Response(viewerFile(params.file), {
          headers: { "content-type": type, "cache-control": "public, max-age=3600" },
        })
      },
      HIDDEN,
    )
