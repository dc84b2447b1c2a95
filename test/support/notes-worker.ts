// One machine of notes-storm.ts: adds its lines to the note, one by one, and shares it between them.
// Usage: node notes-worker.ts <url> <schema> <folder> <machine> <lines>
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { openNotes, stormNote } from './notes-storm.ts'

const [url = '', schema = '', folder = '', machine = '', lines = '0'] = process.argv.slice(2)
const postgres = new Postgres({ url, schema, clock: systemClock, log: silentLog, maxConnections: 2 })
const memory = openNotes(postgres, folder, machine)
const path = join(folder, 'workspace', stormNote)
mkdirSync(dirname(path), { recursive: true })
const written = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
for (let n = 0; n < Number(lines); n++) {
  const line = `- ${machine}-${n}.`
  if (written.includes(line)) continue
  appendFileSync(path, `${line}\n`)
  // Some lines are added while the note is being shared.
  const sharing = memory.sync('main')
  if (n % 3 === 0) await sharing
  else await Promise.race([sharing, new Promise((resolve) => setTimeout(resolve, 1))])
  process.send!(n)
}
await memory.sync('main')
await memory.close()
await postgres.close()
process.disconnect()
