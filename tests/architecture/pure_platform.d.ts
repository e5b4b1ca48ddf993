// What `domain` and `application` may use of the platform: two classes of the URL Standard (https://url.spec.whatwg.org)
// that Bun, Deno and Node all have. Only tsconfig.pure.json reads this file; everywhere else the runtime's types hold.

interface URLSearchParams extends Iterable<[name: string, value: string]> {
  get(name: string): string | null
  toString(): string
}
declare const URLSearchParams: {
  new (init?: string | ReadonlyArray<readonly [name: string, value: string]>): URLSearchParams
}

interface URL {
  readonly href: string
  readonly origin: string
  readonly protocol: string
  readonly hostname: string
  readonly pathname: string
  search: string
  readonly searchParams: URLSearchParams
}
declare const URL: {
  new (url: string, base?: string): URL
  canParse(url: string, base?: string): boolean
}
