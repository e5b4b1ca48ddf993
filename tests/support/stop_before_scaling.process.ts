// Loaded before the program of a process: the process stops itself, as SIGSTOP does, at the moment when it is about to send
// the first scaling of each of the jobs that STOP_BEFORE counts. It sends them when somebody wakes it.
const count = Number(process.env["STOP_BEFORE"])
const send = globalThis.fetch
let about = 0
const together = Promise.withResolvers<void>()

const stopping = async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
  const method = input instanceof Request ? input.method : init?.method
  if (method === "POST" && about < count) {
    about += 1
    if (about === count) {
      process.kill(process.pid, "SIGSTOP")
      together.resolve()
    }
    await together.promise
  }
  return await send(input, init)
}
globalThis.fetch = Object.assign(stopping, { preconnect: send.preconnect })
