import { CONTAINER_LIFETIME_MS } from "../../domain/media/policy.ts"

/** How the modelled graph behaves. */
export interface GraphModelOptions {
  /** Processing time of a video or reel, ms; pictures and carousels are ready at once. */
  readonly processingMs?: number
  readonly quotaTotal?: number
  readonly containersPerDay?: number
  /** Time until the status of a published container says so, ms. */
  readonly publishedLagMs?: number
  /** What a second publish call on one container does: `refuse` as the platform, or the worst, `duplicate`. */
  readonly republish?: "refuse" | "duplicate"
}

/** What happens to a call. `lose-request`: never arrives. `lose-answer`: acted on, and the answer is lost. */
export type Fault =
  | { readonly kind: "lose-request" }
  | { readonly kind: "lose-answer" }
  /** Answered with this instead; acted on first when `applied`. */
  | { readonly kind: "answer"; readonly answer: ModelAnswer; readonly applied?: boolean }

export interface ModelAnswer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

type ModelParameters = Readonly<Record<string, string>>

/** A call as the graph sees it. */
export interface ModelCall {
  readonly operation: "create" | "status" | "publish" | "limit" | "app-token" | "unknown"
  /** Account or container the path names; empty for the app token. */
  readonly subject: string
  readonly parameters: ModelParameters
}

export interface ModelContainer {
  readonly id: string
  readonly accountId: string
  readonly parameters: ModelParameters
  readonly createdAtMs: number
  /** A status set by a test; else it follows from time. */
  readonly forced?: { readonly status_code?: string; readonly status?: string }
}

/** A visible post. */
interface ModelPost {
  readonly mediaId: string
  readonly containerId: string
  readonly accountId: string
  readonly atMs: number
}

const DAY_MS = 86_400_000

const refusal = (status: number, code: number, subcode: number | undefined, message: string): ModelAnswer => ({
  status,
  body: {
    error: {
      message,
      type: "OAuthException",
      code,
      ...(subcode === undefined ? {} : { error_subcode: subcode }),
      is_transient: false,
      fbtrace_id: "Amodel",
    },
  },
})

/**
 * A scripted graph: containers with processing time and a life of 24 hours, publish once, quota, caps, and any fault.
 *
 * It takes the time of every call from the caller and speaks the graph's own parameters and answers. `graph_server.ts`
 * serves it over a socket; `graph_model_port.ts` is a port over it for tests on virtual time.
 */
export const makeGraphModel = (options: GraphModelOptions = {}) => {
  const { processingMs = 30_000, quotaTotal = 50, containersPerDay = 400, publishedLagMs = 0 } = options
  const containers = new Map<string, ModelContainer>()
  const posts: Array<ModelPost> = []
  const calls: Array<ModelCall & { readonly atMs: number }> = []
  let made = 0
  let fault: (call: ModelCall) => Fault | undefined = () => undefined
  let headers: Readonly<Record<string, string>> = {}

  // 17 digits, beyond 2^53, as the platform's ids are.
  const nextId = (): string => String(17_900_000_000_000_000n + BigInt(++made))

  const ready = (container: ModelContainer, nowMs: number): boolean =>
    !("video_url" in container.parameters) || nowMs - container.createdAtMs >= processingMs

  const statusOf = (container: ModelContainer, nowMs: number): { status_code?: string; status?: string } => {
    if (container.forced !== undefined) return container.forced
    const post = posts.find(({ containerId }) => containerId === container.id)
    if (post !== undefined && nowMs - post.atMs >= publishedLagMs) return { status_code: "PUBLISHED" }
    if (post === undefined && nowMs - container.createdAtMs >= CONTAINER_LIFETIME_MS) return { status_code: "EXPIRED" }
    return { status_code: ready(container, nowMs) ? "FINISHED" : "IN_PROGRESS" }
  }

  const createRefusal = ({ subject, parameters }: ModelCall, nowMs: number): ModelAnswer | undefined => {
    const recent = [...containers.values()].filter((each) => nowMs - each.createdAtMs < DAY_MS)
    if (recent.filter(({ accountId }) => accountId === subject).length >= containersPerDay)
      return refusal(400, 80002, undefined, "There have been too many calls to this account")
    const { media_type: type = "IMAGE", image_url, video_url, children } = parameters
    if (type === "CAROUSEL") {
      const ids = children?.split(",") ?? []
      if (ids.length < 2 || ids.length > 10) return refusal(400, 100, 2207028, "Wrong number of carousel children")
      const found = ids.map((id) => containers.get(id))
      if (found.some((child) => child?.parameters["is_carousel_item"] !== "true"))
        return refusal(400, 100, 2207023, "A child is not a carousel item")
      return found.some((child) => child !== undefined && !ready(child, nowMs))
        ? refusal(400, 9007, 2207027, "Media ID is not available")
        : undefined
    }
    const medium = type === "IMAGE" ? image_url : video_url
    return medium === undefined ? refusal(400, 100, undefined, "The media address is missing") : undefined
  }

  const create = (call: ModelCall, nowMs: number): ModelAnswer => {
    const refused = createRefusal(call, nowMs)
    if (refused !== undefined) return refused
    const id = nextId()
    containers.set(id, { id, accountId: call.subject, parameters: call.parameters, createdAtMs: nowMs })
    return { status: 200, body: { id } }
  }

  const postsOfDay = (accountId: string, nowMs: number): number =>
    posts.filter((post) => post.accountId === accountId && nowMs - post.atMs < DAY_MS).length

  const publish = ({ subject, parameters }: ModelCall, nowMs: number): ModelAnswer => {
    const container = containers.get(parameters["creation_id"] ?? "")
    if (container === undefined || container.accountId !== subject)
      return refusal(400, 24, 2207006, "The media with this id was not found")
    if (posts.some(({ containerId }) => containerId === container.id) && options.republish !== "duplicate")
      return refusal(400, 24, 2207006, "The media was published before")
    const status = statusOf(container, nowMs).status_code
    if (status === "EXPIRED") return refusal(400, 24, 2207008, "The container expired")
    if (status === "IN_PROGRESS") return refusal(400, 9007, 2207027, "Media ID is not available")
    if (container.parameters["media_type"] === "VIDEO")
      return refusal(400, 100, 2207089, "Use media_type=REELS to publish a video")
    if (postsOfDay(subject, nowMs) >= quotaTotal) return refusal(400, 9, 2207042, "Publishing quota reached")
    const post = { mediaId: nextId(), containerId: container.id, accountId: subject, atMs: nowMs }
    posts.push(post)
    return { status: 200, body: { id: post.mediaId } }
  }

  const act = (call: ModelCall, nowMs: number): ModelAnswer => {
    switch (call.operation) {
      case "create":
        return create(call, nowMs)
      case "publish":
        return publish(call, nowMs)
      case "status": {
        const container = containers.get(call.subject)
        return container === undefined
          ? refusal(400, 100, 33, "Unsupported get request")
          : { status: 200, body: { id: container.id, ...statusOf(container, nowMs) } }
      }
      case "limit": {
        const config = { quota_total: quotaTotal, quota_duration: DAY_MS / 1000 }
        return { status: 200, body: { data: [{ quota_usage: postsOfDay(call.subject, nowMs), config }] } }
      }
      case "app-token": {
        const { client_id: id, client_secret: secret } = call.parameters
        return id && secret
          ? { status: 200, body: { access_token: `${id}|model-app-token`, token_type: "bearer" } }
          : refusal(400, 101, undefined, "Error validating application")
      }
      case "unknown":
        return refusal(400, 2500, undefined, "Unknown path components")
    }
  }

  return {
    /** Answers a call, or `undefined` when request or answer are lost (`applied` says which). */
    answer: (call: ModelCall, nowMs: number): ModelAnswer | { readonly lost: true; readonly applied: boolean } => {
      calls.push({ ...call, atMs: nowMs })
      const met = fault(call)
      if (met === undefined) return { headers, ...act(call, nowMs) }
      if (met.kind === "lose-request") return { lost: true, applied: false }
      if (met.kind === "lose-answer" || met.applied === true) act(call, nowMs)
      return met.kind === "lose-answer" ? { lost: true, applied: true } : met.answer
    },
    /** Decides the fate of every later call. */
    setFault: (decide: (call: ModelCall) => Fault | undefined): void => {
      fault = decide
    },
    /** Headers of every later answer that is not a fault. */
    setHeaders: (later: Readonly<Record<string, string>>): void => {
      headers = later
    },
    /** Forces what a container's status says. */
    force: (id: string, forced: { readonly status_code?: string; readonly status?: string }): void => {
      const container = containers.get(id)
      if (container !== undefined) containers.set(id, { ...container, forced })
    },
    /** The posts people see; what counts in the end. */
    posts: posts as ReadonlyArray<ModelPost>,
    containers: containers as ReadonlyMap<string, ModelContainer>,
    calls: calls as ReadonlyArray<ModelCall & { readonly atMs: number }>,
  }
}

export type GraphModel = ReturnType<typeof makeGraphModel>
