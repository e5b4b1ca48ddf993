import { runService } from "../run_service.ts"
import { echoServer } from "./echo_server.ts"

await runService(
  "upstream",
  ({ options }) => options.upstreamPort,
  ({ secrets }) => echoServer(secrets.control),
)
