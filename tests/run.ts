// `npm test`: runs every test that needs no other server, names what was skipped and why, and ends with
// "N passed, N failed, N skipped". Arguments are passed on to `bun test`.
import { runTests } from "./support/test_run.ts"

process.exitCode = (await runTests(process.argv.slice(2), process.env)) ? 0 : 1
