import { MongoClient } from "mongodb"

/** An open port is not enough: a database may open it before its user exists, and only an answered command shows both. */
export const mongoAnswers = async (url: string, timeoutMs: number): Promise<void> => {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const client = new MongoClient(url, { serverSelectionTimeoutMS: 1_000 })
    try {
      await client.db("admin").command({ listDatabases: 1 })
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await Bun.sleep(100)
    } finally {
      await client.close()
    }
  }
}
