// As much of a browser as a login needs: cookies by host, redirects, one form.
interface Page {
  readonly url: string
  readonly status: number
  readonly text: string
}

const REDIRECTS_MAX = 12

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()

  #jar(url: string): Map<string, string> {
    // Like a browser: by host name, not by port.
    const { hostname } = new URL(url)
    const jar = this.#cookies.get(hostname) ?? new Map<string, string>()
    this.#cookies.set(hostname, jar)
    return jar
  }

  cookie(url: string, name: string): string | undefined {
    return this.#jar(url).get(name)
  }

  /** One request, no redirect followed. */
  async get(url: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.#jar(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
    const headers = { ...(cookie === "" ? {} : { cookie }), accept: "text/html", ...init.headers }
    const response = await fetch(url, { ...init, redirect: "manual", headers })
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line) || value === "") jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** A page, redirects followed, until an address holds `until`: that one is returned and not opened. */
  async open(url: string, init: RequestInit = {}, until?: string): Promise<Page> {
    let [at, options] = [url, init]
    for (let step = 0; step < REDIRECTS_MAX; step++) {
      if (until !== undefined && at.includes(until)) return { url: at, status: 0, text: "" }
      const response = await this.get(at, options)
      const location = response.headers.get("location")
      if (location === null) return { url: at, status: response.status, text: await response.text() }
      at = new URL(location, at).href
      options = {}
    }
    throw new Error(`redirected in circles at ${at}`)
  }

  /** Submits the page's form with its hidden fields and these. */
  submit({ url, text }: Page, fields: Readonly<Record<string, string>>, until?: string): Promise<Page> {
    const action = /<form[^>]*action="([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? url
    const hidden = [...text.matchAll(/<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"/g)].map(
      ([, name = "", value = ""]): [string, string] => [name, value],
    )
    const body = new URLSearchParams([...hidden, ...Object.entries(fields)])
    return this.open(new URL(action, url).href, { method: "POST", body }, until)
  }

  /** Opens a page behind the login and logs in. */
  async logIn(url: string, password: string, until?: string): Promise<Page> {
    return this.submit(await this.open(url), { username: "alice", password }, until)
  }

  /** Logs in up to the address the provider sends the browser back to. */
  async logInUntil(url: string, password: string, until: string): Promise<string> {
    return (await this.logIn(url, password, until)).url
  }
}
