import { okDoc, PROTECTED_RESPONSES, problemDoc, SECURITY, unavailableDoc } from "./problem_docs.ts"

const NOT_FOUND = problemDoc(
  404,
  "SCHEDULER_NOT_FOUND",
  "Not found",
  "The scheduler knows no such job, allocation or node",
)
const REFUSED = problemDoc(422, "SCHEDULER_REFUSED", "The scheduler refuses", "The scheduler's own text")
const UNAVAILABLE = unavailableDoc(
  "SCHEDULER_UNREACHABLE",
  "Scheduler unavailable",
  "The scheduler cannot be reached now",
)
const BROKEN = problemDoc(
  502,
  "SCHEDULER_DENIED",
  "Bad answer from the scheduler",
  "The scheduler does not accept our token",
)

const ANY_OBJECT = { type: "object", additionalProperties: true } as const

const doc = (summary: string, status: number, data: object, extra: object = {}): object => ({
  tags: ["scheduler"],
  summary,
  security: SECURITY,
  ...extra,
  responses: {
    ...PROTECTED_RESPONSES,
    [status]: okDoc(summary, data, {}),
    404: NOT_FOUND,
    422: REFUSED,
    502: BROKEN,
    503: UNAVAILABLE,
  },
})

const body = (schema: object) => ({ requestBody: { required: true, content: { "application/json": { schema } } } })

/** What the API page says about the scheduler's routes. */
export const schedulerDocs = {
  get: doc("Get a job's definition", 200, ANY_OBJECT),
  run: doc("Run a job; the body is its definition", 200, ANY_OBJECT, body(ANY_OBJECT)),
  scale: doc(
    "Scale the configured task group",
    200,
    ANY_OBJECT,
    body({ type: "object", required: ["count"], properties: { count: { type: "integer", minimum: 0 } } }),
  ),
  restart: doc("Restart a job: scaled to 0 now, back to 1 one second later", 202, ANY_OBJECT),
  delete: doc("Delete a job; purge=true forgets it", 200, ANY_OBJECT),
  stats: doc("What an allocation uses now", 200, ANY_OBJECT),
  allocations: doc("The allocations of a node", 200, ANY_OBJECT),
  restarts: doc("Restarts that are pending or stuck", 200, { type: "array", items: ANY_OBJECT }),
} as const
