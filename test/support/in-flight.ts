// Lets started work proceed: for tests that look at a moment. Between two steps of a session there is a write, which is
// over when the disk has it, so counting turns of the event loop is not enough.
import type { Database } from '../../src/store/sqlite/database.ts'

const databases = new Set<Database>()

/** From now on `settle` waits for the writes of this database, until it is closed. */
export function follow(database: Database): { closed(): void } {
  databases.add(database)
  return { closed: () => void databases.delete(database) }
}

/** As many steps as the longest way from one moment to the next has. */
const steps = 12

export async function settle(): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await new Promise((resolve) => setImmediate(resolve))
    await Promise.all([...databases].map((database) => database.write(() => undefined)))
    await new Promise((resolve) => setImmediate(resolve))
  }
}
