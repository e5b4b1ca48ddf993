// A repository of one's own: any object of the port's form will do. This one stands before another and counts.
import { Effect } from "effect"
import type { RecordRepository } from "portolan"

type Repository = RecordRepository["Service"]

/** Counts the records that are created through a repository. */
export const counting = (repository: Repository) => {
  let count = 0
  const counted: Repository = {
    ...repository,
    create: (collection, fields) =>
      Effect.tap(repository.create(collection, fields), () =>
        Effect.sync(() => {
          count += 1
        }),
      ),
  }
  return { repository: counted, created: () => count }
}
