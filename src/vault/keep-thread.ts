// Keeps many sessions in a thread of its own: reading, hashing and compressing a gigabyte takes seconds, in which the gateway
// answers. The thread writes to the same folder as another process would; the lock of the vault makes them take turns.
import { existsSync } from 'node:fs'
import { parentPort, Worker } from 'node:worker_threads'
import { TimeSlice } from '../domain/async.ts'
import { systemClock, type Clock } from '../domain/clock.ts'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { silentLog, type Log } from '../domain/log.ts'
import type { SessionToKeep } from './keep.ts'

/** What the thread needs to open the vault. */
export interface KeepJob {
  folder: string
  indexFile: string
  secret: Uint8Array | undefined
  /** Its first number becomes 1 when the thread shall stop. */
  stop: Int32Array
}

type FromThread = { read: number } | { code: RockpoolError['code']; message: string; hint?: string }

/** The thread gets so many sessions at a time: listing the files of each takes a moment, too. */
const sessionsAtOnce = 100
/** The gateway answers others after so long. */
const sliceMs = 10

/** Resolves to the bytes that were read. */
export async function keepInThread(
  job: Omit<KeepJob, 'stop'>,
  sessions: Iterable<SessionToKeep> | AsyncIterable<SessionToKeep>,
  signal?: AbortSignal,
): Promise<number> {
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const onAbort = (): void => void Atomics.store(stop, 0, 1)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  const worker = new Worker(threadFile(), {
    workerData: { ...job, stop } satisfies KeepJob,
    resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 },
  })
  try {
    let read = 0
    for await (const together of inGroups(sessions)) {
      if (signal?.aborted) break
      read += await ask(worker, together)
    }
    await ask(worker, [])
    return read
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await worker.terminate()
  }
}

async function* inGroups(
  sessions: Iterable<SessionToKeep> | AsyncIterable<SessionToKeep>,
): AsyncGenerator<SessionToKeep[]> {
  const slice = new TimeSlice(sliceMs)
  let together: SessionToKeep[] = []
  for await (const session of sessions) {
    if (slice.isUsedUp) await slice.yield()
    if (together.push(session) < sessionsAtOnce) continue
    yield together
    together = []
  }
  if (together.length > 0) yield together
}

function ask(worker: Worker, sessions: SessionToKeep[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new RockpoolError('internal', 'The thread of the vault ended early.'))
    worker.once('error', reject).once('exit', onExit)
    worker.once('message', (answer: FromThread) => {
      worker.off('error', reject).off('exit', onExit)
      if ('read' in answer) resolve(answer.read)
      else reject(new RockpoolError(answer.code, answer.message, { hint: answer.hint }))
    })
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(sessions)
  })
}

interface KeptBy {
  keep(sessions: Iterable<SessionToKeep>, isEnough: () => boolean): Promise<number>
  close(): Promise<void>
}
interface ThreadVaultParts extends Omit<KeepJob, 'stop' | 'secret'> {
  secret: Buffer | undefined
  clock: Clock
  log: Log
}

/** Runs in the thread. No sessions mean the end: the vault is closed. */
export async function runKeepThread(
  { stop, secret, ...places }: KeepJob,
  openVault: (parts: ThreadVaultParts) => Promise<KeptBy>,
): Promise<void> {
  const opened = openVault({
    ...places,
    secret: secret && Buffer.from(secret),
    clock: systemClock,
    log: silentLog,
  })
  const perform = async (sessions: SessionToKeep[]): Promise<FromThread> => {
    try {
      const vault = await opened
      if (sessions.length > 0) return { read: await vault.keep(sessions, () => Atomics.load(stop, 0) === 1) }
      await vault.close()
      return { read: 0 }
    } catch (error) {
      const { code, message, hint } = asRockpoolError(error)
      return { code, message, hint }
    }
  }
  parentPort?.on('message', (sessions: SessionToKeep[]) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    void perform(sessions).then((answer) => parentPort?.postMessage(answer))
  })
}

/** The program of the thread: beside this module's folder in the sources, at the top of the build. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? ['../vault-worker.ts'] : ['./vault-worker.js', '../vault-worker.js']
  const found = candidates.map((name) => new URL(name, import.meta.url)).find((url) => existsSync(url))
  if (found) return found
  throw new RockpoolError('internal', 'The program of the thread of the vault is missing.', {
    hint: '`npm run build` makes it.',
  })
}
