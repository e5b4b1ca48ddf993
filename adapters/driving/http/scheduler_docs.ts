import {
  ActiveDeployment,
  ForeignAnswer,
  InvalidJob,
  InvalidSchedulerArgument,
  JobIndexConflict,
  NoLeader,
  NoRegion,
  SchedulerConnectionLost,
  SchedulerDenied,
  SchedulerFailed,
  SchedulerNotFound,
  SchedulerRateLimited,
  SchedulerRedirected,
  SchedulerRefused,
  SchedulerTimeout,
  SchedulerUnreachable,
  UnreadableAnswer,
} from "../../../domain/scheduler/errors.ts"
import { HttpRefusal } from "./http_refusal.ts"
import { BODY_REFUSALS } from "./json_body.ts"
import type { ServiceError } from "./problem.ts"
import {
  guardRefusals,
  jsonBody,
  okDoc,
  type ResponseDoc,
  refusalDocs,
  rolesSentence,
  type Schemas,
  SECURITY,
  STORE_AWAY,
  schemaRef,
} from "./problem_docs.ts"

const text = { type: "string" } as const
const integer = { type: "integer" } as const
const COUNT = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const

const open = (description: string, required: ReadonlyArray<string>, properties: object) => ({
  type: "object",
  description,
  required,
  properties,
  additionalProperties: true,
})

/** The scheduler's shapes. Objects are open: every field the agent knows is passed on, integers with all their digits. */
export const SCHEDULER_SCHEMAS: Schemas = {
  Job: open("A job's definition; fields that are not named here are kept as they are. At most 64 levels deep", ["ID"], {
    ID: { ...text, minLength: 1 },
    Name: { type: ["string", "null"] },
    Namespace: { type: ["string", "null"] },
    Region: { type: ["string", "null"] },
    Stop: { type: ["boolean", "null"], description: "True for a job that was deleted and not purged" },
    JobModifyIndex: { type: ["integer", "null"] },
    TaskGroups: {
      type: ["array", "null"],
      items: open("A group of tasks", ["Name"], { Name: text, Count: { ...COUNT, type: ["integer", "null"] } }),
    },
  }),
  JobReceipt: {
    type: "object",
    description: "What the agent says about a change; everything is absent when it answered with an empty body",
    properties: {
      jobModifyIndex: integer,
      evaluationId: { ...text, description: "Empty for jobs that are not evaluated at once" },
      warnings: text,
    },
  },
  AcceptedRestart: {
    type: "object",
    required: ["jobId", "region"],
    properties: { jobId: text, region: text, namespace: text },
  },
  UnfinishedRestart: {
    type: "object",
    required: ["agent", "jobId", "region", "state", "dueAt", "attempts", "lastError"],
    properties: {
      agent: { ...text, description: "Address of the agent" },
      jobId: text,
      region: text,
      namespace: text,
      state: { ...text, enum: ["intent", "stopped", "starting", "stuck"] },
      dueAt: { ...text, format: "date-time", description: "When the next request is due" },
      attempts: { ...integer, description: "Tries to bring the job back so far" },
      lastError: { type: ["string", "null"] },
    },
  },
  ResourceUsage: open(
    "What an allocation uses; `CpuStats` is empty while the driver gives no numbers",
    ["MemoryStats", "CpuStats"],
    {
      MemoryStats: open("Bytes", ["RSS"], {
        RSS: integer,
        Usage: integer,
        Measured: { type: ["array", "null"], items: text, description: "Fields that the driver measures" },
      }),
      CpuStats: open("Percent of one core", [], { Percent: { type: "number" } }),
      Timestamp: { ...integer, description: "Nanoseconds since 1970" },
    },
  ),
  NodeAllocations: {
    type: "object",
    required: ["NomadAllocations"],
    properties: {
      NomadAllocations: {
        type: "array",
        items: open("An allocation; agents leave empty fields out", ["ID", "JobID", "TaskGroup"], {
          ID: text,
          JobID: text,
          TaskGroup: text,
          ClientStatus: { ...text, description: "`pending`, `running`, `complete`, `failed`, `lost` or `unknown`" },
          DesiredStatus: text,
        }),
      },
    },
  },
}

const sent = { operation: "getDefinition", method: "GET", path: "/v1/job/cam-1", applied: "no" } as const
const refused = (status: number, body: string) => ({ ...sent, status, body })

const REPEATED = new HttpRefusal({ code: "INVALID_QUERY", detail: "Query parameter 'region' must not be repeated" })

/** What a call to the agent can end with. */
const AGENT_ERRORS: ReadonlyArray<ServiceError> = [
  REPEATED,
  new SchedulerNotFound(refused(404, "job not found")),
  new InvalidSchedulerArgument({ argument: "count", rule: "must be a whole number from 0 to 9007199254740991" }),
  new SchedulerRefused(refused(400, "Permission to scale is missing")),
  new ActiveDeployment(refused(400, "job scaling blocked due to active deployment")),
  new JobIndexConflict(refused(500, "Enforcing job modify index 7: job exists with conflicting job modify index: 9")),
  new InvalidJob(refused(500, "1 error occurred: Missing job task groups")),
  new NoRegion(refused(500, "No path to region")),
  new SchedulerDenied({ ...refused(403, "Permission denied"), reason: "permission" }),
  new SchedulerRedirected(sent),
  new ForeignAnswer(refused(404, "")),
  new SchedulerFailed(refused(500, "rpc error")),
  new UnreadableAnswer({ ...refused(200, ""), rule: "is not JSON" }),
  new SchedulerUnreachable({ ...sent, reason: "connection" }),
  new SchedulerTimeout(sent),
  new SchedulerConnectionLost(sent),
  new NoLeader(refused(500, "No cluster leader")),
  new SchedulerRateLimited(refused(429, "")),
]

const query = (name: string, description: string, schema: object = text) => ({ name, in: "query", description, schema })
const PLACE = [
  query("region", "Region of the job, allocation or node; the agent's own when absent or empty"),
  query("namespace", "Namespace; the agent's default when absent or empty"),
]
const id = (what: string, example: string) => ({
  name: "id",
  in: "path",
  required: true,
  description: `Id of the ${what}`,
  schema: { ...text, minLength: 1 },
  example,
})
const JOB_ID = id("job", "cam-1")

const EXAMPLE_JOB = { ID: "cam-1", Name: "cam-1", TaskGroups: [{ Name: "restreamer", Count: 1 }] }
const EXAMPLE_RECEIPT = { jobModifyIndex: 42, evaluationId: "5456bd7a-9fc0-c0dd-6131-cbee77f57577", warnings: "" }
const JOB_LINKS = Object.fromEntries(
  ["get", "scale", "restart", "delete"].map((kind) => [
    kind,
    { operationId: `${kind}_job`, parameters: { id: "$request.body#/ID" } },
  ]),
)

/**
 * OpenAPI operations of the scheduler's routes.
 *
 * @param roles realm roles that may use them, any one of them
 */
export const schedulerDocs = (roles: ReadonlyArray<string>) => {
  const operation = (
    operationId: string,
    summary: string,
    rest: object,
    [status, success]: readonly [status: number, success: ResponseDoc],
    errors: ReadonlyArray<ServiceError> = AGENT_ERRORS,
  ): object => ({
    tags: ["scheduler"],
    operationId,
    summary,
    description: rolesSentence(roles),
    security: SECURITY,
    ...rest,
    responses: { [status]: success, ...refusalDocs([...errors, ...guardRefusals(roles)]) },
  })
  const changed = okDoc("What the agent says", schemaRef("JobReceipt"), EXAMPLE_RECEIPT)
  return {
    get: operation("get_job", "Get a job's definition", { parameters: [JOB_ID, ...PLACE] }, [
      200,
      okDoc("The definition", schemaRef("Job"), EXAMPLE_JOB),
    ]),
    run: operation(
      "run_job",
      "Run a job; the body is its definition",
      { parameters: PLACE, ...jsonBody(schemaRef("Job"), EXAMPLE_JOB) },
      [200, { ...changed, links: JOB_LINKS }],
      [...BODY_REFUSALS, ...AGENT_ERRORS],
    ),
    scale: operation(
      "scale_job",
      "Scale the configured task group",
      {
        parameters: [JOB_ID, ...PLACE],
        ...jsonBody(
          { type: "object", required: ["count"], properties: { count: COUNT }, additionalProperties: false },
          { count: 2 },
        ),
      },
      [200, changed],
      [...BODY_REFUSALS, ...AGENT_ERRORS],
    ),
    restart: operation(
      "restart_job",
      "Restart a job: scaled to 0 now, back to 1 one second later",
      { parameters: [JOB_ID, ...PLACE] },
      [
        202,
        okDoc("Scaled to 0; the rest happens by itself", schemaRef("AcceptedRestart"), { jobId: "cam-1", region: "" }),
      ],
      [...AGENT_ERRORS, STORE_AWAY],
    ),
    delete: operation(
      "delete_job",
      "Delete a job",
      {
        parameters: [
          JOB_ID,
          ...PLACE,
          query("purge", "`true` forgets the job; absent, empty or `false` it stays for a while, as a stopped one", {
            ...text,
            enum: ["true", "false", ""],
            default: "false",
          }),
        ],
      },
      [200, changed],
    ),
    stats: operation(
      "allocation_stats",
      "What an allocation uses now",
      { parameters: [id("allocation", "5456bd7a-9fc0-c0dd-6131-cbee77f57577"), ...PLACE] },
      [
        200,
        okDoc("Memory and processor time", schemaRef("ResourceUsage"), {
          MemoryStats: { RSS: 1_486_848, Measured: ["RSS"] },
          CpuStats: { Percent: 0.14 },
        }),
      ],
    ),
    allocations: operation(
      "node_allocations",
      "The allocations of a node",
      { parameters: [id("node", "61c6fdd8-1125-4000-8000-e06a23b33902"), ...PLACE] },
      [
        200,
        okDoc("Those of an unknown node are an empty list", schemaRef("NodeAllocations"), {
          NomadAllocations: [
            {
              ID: "5456bd7a-9fc0-c0dd-6131-cbee77f57577",
              JobID: "cam-1",
              TaskGroup: "restreamer",
              ClientStatus: "running",
            },
          ],
        }),
      ],
    ),
    restarts: operation(
      "unfinished_restarts",
      "Restarts that are pending or stuck",
      {},
      [
        200,
        okDoc("Oldest first", { type: "array", items: schemaRef("UnfinishedRestart") }, [
          {
            agent: "http://127.0.0.1:4646",
            jobId: "cam-1",
            region: "",
            state: "stopped",
            dueAt: "2026-11-21T10:00:01.000Z",
            attempts: 0,
            lastError: null,
          },
        ]),
      ],
      [STORE_AWAY],
    ),
  } as const
}
