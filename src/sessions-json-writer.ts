// Writes a large sessions.json after the command that changed its sessions has ended (store/files/background-writer.ts starts
// it). An entry of its own, because a process needs a file.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from './domain/clock.ts'
import { asRockpoolError } from './domain/errors.ts'
import { silentLog } from './domain/log.ts'
import { writerLock } from './store/files/background-writer.ts'
import type { WriterTask } from './store/files/background-writer.ts'
import { Database } from './store/sqlite/database.ts'
import { sessionMigrations } from './store/sqlite/session-table.ts'
import { SessionsJsonMirror } from './store/files/sessions-json-mirror.ts'

const { database, path, agentId } = JSON.parse(process.argv[2]!) as WriterTask
const db = Database.open(database, sessionMigrations)
const mirror = new SessionsJsonMirror({ agentId, db, path, clock: systemClock, log: silentLog })

// Commands that end while a writer runs leave their changes to it, so it checks again after it has released its lock.
while (mirror.isStale() && (await writeAlone()));
await db.close()

/** False when another writer is at work, or the file cannot be written: then the next process tries again. */
async function writeAlone(): Promise<boolean> {
  try {
    return await writerLock(path).hold('write sessions.json in the background', async () => {
      await sleep(mirror.restMs())
      return mirror.writeNow()
    })
  } catch (error) {
    if (asRockpoolError(error).code !== 'locked') throw error
    return false
  }
}
