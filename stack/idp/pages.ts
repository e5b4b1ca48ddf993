import { escapeHtml } from "../escape_html.ts"

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; background: #f3f5f7; color: #1b2733; display: grid; place-items: center; min-height: 90vh }
  main { background: #fff; padding: 2rem; border-radius: 8px; box-shadow: 0 1px 4px #0003; width: 20rem }
  h1 { font-size: 1.2rem; margin: 0 0 1rem }
  label { display: block; margin: .75rem 0 }
  input { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit; border: 1px solid #9aa7b4; border-radius: 4px }
  button { margin-top: 1rem; padding: .5rem 1rem; font: inherit; color: #fff; background: #14508c; border: 0; border-radius: 4px; cursor: pointer }
  .wrong { color: #a4161a }
</style>
</head>
<body><main>
<h1>${escapeHtml(title)}</h1>
${body}
</main></body>
</html>
`

/** Headers of every page: nothing is loaded, framed or kept. */
export const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
} as const

/**
 * The login form of the test realm.
 *
 * @param wrong true after a login that failed
 */
export const loginPage = (realm: string, wrong: boolean): string =>
  page(
    `Log in to realm ${realm}`,
    `<form method="post">
${wrong ? '<p class="wrong" role="alert">Wrong user name or password.</p>' : ""}
<label>User name <input name="username" autocomplete="username" autofocus required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Log in</button>
</form>`,
  )

/**
 * The page that asks whether to log out.
 *
 * @param form the provider's own form, which carries its protection against forged logouts
 */
export const logoutPage = (form: string): string =>
  page(
    "Log out?",
    `${form}
<button type="submit" form="op.logoutForm" name="logout" value="yes">Log out</button>`,
  )

/** The page after a logout. */
export const loggedOutPage = (): string => page("Logged out", "<p>You are logged out.</p>")

/**
 * The page of a login or logout that failed.
 *
 * @param error OAuth error code; the error's description may repeat what was sent and is not shown
 */
export const errorPage = (error: string): string => page("This did not work", `<p>${escapeHtml(error)}</p>`)
