// The yardstick: Bun's own server giving the same bytes without looking at the request.
// Environment: PORT, BODY_FILE, STATUS, CONTENT_LENGTH is the runtime's own.
import { readFileSync } from "node:fs"

const body = readFileSync(process.env["BODY_FILE"] ?? "", "utf8")
const status = Number(process.env["STATUS"] ?? 200)
const headers = { "content-type": "application/json", "x-request-id": crypto.randomUUID() }

Bun.serve({ port: Number(process.env["PORT"]), fetch: () => new Response(body, { status, headers }) })
