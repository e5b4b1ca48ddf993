import { running, runService } from "../run_service.ts"
import { echoServer } from "./echo_server.ts"

await runService("upstream", ({ options, secrets }) => running(echoServer(secrets.control), options.upstreamPort))
