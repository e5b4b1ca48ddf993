import { Effect, Layer } from "effect"
import {
  isSameCluster,
  type Lease,
  RestartJournal,
  type RestartRecord,
} from "../../../domain/scheduler/restart_journal.ts"

interface Entry {
  readonly record: RestartRecord
  readonly lease: Lease
}

const FREE: Lease = { owner: "", until: 0 }

/** The journal in memory: for tests, and for a process whose restarts need not survive it. */
export const layer = Layer.sync(RestartJournal, () => {
  const entries = new Map<string, Entry>()
  const owned = (id: string, owner: string): boolean => entries.get(id)?.lease.owner === owner
  const lease = (entry: Entry, to: Lease): void => {
    entries.set(entry.record.id, { ...entry, lease: to })
  }
  return RestartJournal.of({
    shared: false,
    open: (record, lease) => Effect.sync(() => void entries.set(record.id, { record, lease })),
    update: (record, lease) =>
      Effect.sync(() => {
        if (!owned(record.id, lease.owner)) return false
        entries.set(record.id, { record, lease })
        return true
      }),
    close: (id, owner) => Effect.sync(() => owned(id, owner) && entries.delete(id)),
    renew: (id, renewed) =>
      Effect.sync(() => {
        const entry = entries.get(id)
        if (entry?.lease.owner === renewed.owner) lease(entry, renewed)
      }),
    release: (owner) =>
      Effect.sync(() => {
        for (const entry of entries.values()) if (entry.lease.owner === owner) lease(entry, FREE)
      }),
    claim: (at, now, claimed) =>
      Effect.sync(() => {
        const free = [...entries.values()].filter(
          ({ record, lease }) =>
            isSameCluster(record, at) && record.state !== "stuck" && lease.until < now && lease.owner !== claimed.owner,
        )
        for (const entry of free) lease(entry, claimed)
        return free.map(({ record }) => record)
      }),
    settle: (ids) =>
      Effect.sync(() => {
        for (const id of ids) if (entries.get(id)?.record.state === "stuck") entries.delete(id)
      }),
    list: Effect.sync(() =>
      [...entries.values()].map(({ record }) => record).sort((one, other) => one.createdAt - other.createdAt),
    ),
  })
})
