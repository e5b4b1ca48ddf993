/** What the page's script is made with. */
export interface PageSetup {
  /** Ids of the operations in the order in which they are shown. */
  readonly order: ReadonlyArray<string>
  /** True when the service itself hands out a token to the page: the demo. */
  readonly offersToken: boolean
}

/**
 * The script that starts the viewer.
 *
 * The token is kept in the storage of this tab and this origin, so that a reload does not lose it; it is gone with the tab. No
 * other origin can read it, and the page's policy lets no script run but the service's own, which could read the token from
 * the viewer's memory just as well.
 */
export const startScript = ({ order, offersToken }: PageSetup): string => `const ORDER = ${JSON.stringify(order)}
const KEPT = "portolan.token"
const keep = (token) => token ? sessionStorage.setItem(KEPT, token) : sessionStorage.removeItem(KEPT)

// The token that the service offers belongs to the realm of this run; a kept one may be of the run before.
const findToken = async () => {
  const answer = ${offersToken} ? await fetch("/openapi/token") : undefined
  return answer?.ok ? answer.text() : sessionStorage.getItem(KEPT)
}

const keepsToken = () => ({
  statePlugins: { auth: { wrapActions: {
    authorize: (original) => (given) => { keep(given.bearer?.value); return original(given) },
    logout: (original) => (names) => { keep(); return original(names) }
  } } }
})

const position = (operation) => ORDER.indexOf(operation.getIn(["operation", "operationId"]))

const dark = matchMedia("(prefers-color-scheme: dark)")
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches)
dark.addEventListener("change", follow)
follow()

const viewer = SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#viewer", deepLinking: true, tryItOutEnabled: true, displayRequestDuration: true,
  validatorUrl: null, plugins: [keepsToken],
  operationsSorter: (one, other) => position(one) - position(other),
  onComplete: async () => {
    const token = await findToken()
    if (token) viewer.preauthorizeApiKey("bearer", token)
  }
})
`
