// The gateway in a process of its own, so that its memory can be measured. Its argument is the upstream's origin; it prints
// its own.
import { startLocalGateway } from "./local_gateway.ts"

const { url } = await startLocalGateway({ upstream: process.argv[2] ?? "" })
process.stdout.write(url)
