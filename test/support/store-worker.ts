// A process that updates a session store, for tests that pause, kill and disturb it. It reads its commands as lines
// on its input and says what became of it by lines on its output:
//   count <n> [key]   n updates, each adding one; says `ack <key> <time>` after each, `failed <code>` for one that was refused
//   stop-inside       an update that stops its own process (SIGSTOP) after it has read and before it writes
//   move <a> <b>      gives the row another key
//   lock <n>          takes the lock of the file n times; says `in <time>` and `out <time>`
import { createInterface } from 'node:readline'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/domain/clock.ts'
import { asRockpoolError } from '../../src/domain/errors.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { SessionEntry } from '../../src/domain/session.ts'
import { FileLock } from '../../src/store/disk/file-lock.ts'
import { FileSessions } from '../../src/store/files/sessions-in-file.ts'
import { statePaths } from '../../src/store/paths.ts'
import type { SessionStore } from '../../src/store/session-store.ts'
import { SqliteSessions } from '../../src/store/sqlite/sessions.ts'
import { AgeLock } from '../broken/age-lock.ts'
import { writeUnsynced } from '../broken/unsynced-write.ts'

export type StoreKind = 'sqlite' | 'files' | 'sqlite-relaxed' | 'files-age-lock' | 'files-unsynced'

const staleMs = 300

export function openStoreOfKind(kind: StoreKind, root: string): SessionStore {
  const paths = statePaths(root)
  const common = { agentId: 'main', clock: systemClock, log: silentLog }
  const path = paths.sessionsJson('main')
  if (kind === 'files') return new FileSessions({ ...common, path, lock: new FileLock(path, { staleMs }) })
  if (kind === 'files-unsynced') return new FileSessions({ ...common, path, write: writeUnsynced })
  if (kind === 'files-age-lock')
    return new FileSessions({ ...common, path, lock: new AgeLock(path, staleMs), write: writeUnsynced })
  const durability = kind === 'sqlite' ? 'full' : 'relaxed'
  return new SqliteSessions({ ...common, database: paths.sessionDatabase('main'), mirror: path, durability })
}

export function addOne(entry: SessionEntry | undefined): SessionEntry {
  return { sessionId: entry?.sessionId ?? 'id', updatedAt: Date.now(), n: Number(entry?.['n'] ?? 0) + 1 }
}

if (import.meta.main) await obey()

async function obey(): Promise<void> {
  const [kind, root] = process.argv.slice(2) as [StoreKind, string]
  const store = openStoreOfKind(kind, root)
  // At once and not through a stream: what was said before a kill must have been said.
  const say = (line: string): void => void writeSync(1, `${line}\n`)
  say('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, amount, key] = line.split(' ')
    if (command === 'count') await count(store, Number(amount), key, say)
    if (command === 'stop-inside') await report(say, 'k', store.update('k', stopInside))
    if (command === 'move') await report(say, key!, store.move(amount!, key!))
    if (command === 'lock') await takeLock(root, Number(amount), say)
    say('done')
  }
  await store.close()
}

async function count(
  store: SessionStore,
  times: number,
  key: string | undefined,
  say: (line: string) => void,
): Promise<void> {
  for (let i = 0; i < times; i++) {
    const name = key ?? `k${i % 20}`
    await report(say, name, store.update(name, addOne))
  }
}

async function report(say: (line: string) => void, key: string, update: Promise<unknown>): Promise<void> {
  try {
    await update
    say(`ack ${key} ${process.hrtime.bigint()}`)
  } catch (error) {
    say(`failed ${asRockpoolError(error).code} ${asRockpoolError(error).message.replaceAll('\n', ' ')}`)
  }
}

function stopInside(entry: SessionEntry | undefined): SessionEntry {
  process.kill(process.pid, 'SIGSTOP')
  return addOne(entry)
}

async function takeLock(path: string, times: number, say: (line: string) => void): Promise<void> {
  const lock = new FileLock(path, { pollIntervalMs: 2 })
  for (let i = 0; i < times; i++) {
    await lock.hold('test', async () => {
      say(`in ${process.hrtime.bigint()}`)
      await sleep(1)
      say(`out ${process.hrtime.bigint()}`)
    })
  }
}
