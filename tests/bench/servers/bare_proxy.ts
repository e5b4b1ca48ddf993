// The least a proxy on Bun can be: Bun.serve and fetch, no routes, no checks, no log. UPSTREAM is where it sends everything.
const { UPSTREAM = "", PORT = "0" } = process.env

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(PORT),
  fetch: (request) => {
    const { pathname, search } = new URL(request.url)
    const { method, headers, body } = request
    return fetch(UPSTREAM + pathname + search, { method, headers, body, redirect: "manual", decompress: false })
  },
})
