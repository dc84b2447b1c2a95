// Starts the search threads and exchanges messages with them: one thread indexes while the gateway runs, and each regular
// expression gets its own.
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { RockpoolError, errorText } from '../domain/errors.ts'
import type { IndexProgress, SearchAnswer, SearchSource } from '../domain/search.ts'
import type { FromIndexThread, RegexFinding, ThreadJob, ToIndexThread } from './worker-tasks.ts'

type IndexJob = Extract<ThreadJob, { job: 'index' }>
type RegexJob = Extract<ThreadJob, { job: 'regex' }>

/** A thread that does not stop within this time is terminated. */
const stopMs = 1_000
/** Starting a thread takes some seconds on a busy machine. */
const startMs = 10_000
/** An idle thread is kept this long, because messages come in bursts; then it is ended to free its memory. */
const lingerMs = 2_000

export class IndexThread {
  readonly #job: IndexJob
  readonly #onProgress: (progress: IndexProgress) => void
  readonly #onWarning: (message: string) => void
  readonly #lingerMs: number
  #worker: Worker | undefined
  #linger: NodeJS.Timeout | undefined
  #waiting = new Map<number, { resolve: (progress: IndexProgress) => void; reject: (error: Error) => void }>()
  #lastId = 0
  #isStopped = false
  /** Resolves when every stopped thread has ended. */
  #ended: Promise<unknown> = Promise.resolve()

  constructor(
    job: IndexJob,
    onProgress: (progress: IndexProgress) => void,
    onWarning: (message: string) => void,
    options: { lingerMs?: number } = {},
  ) {
    this.#job = job
    this.#lingerMs = options.lingerMs ?? lingerMs
    this.#onWarning = onWarning
    this.#onProgress = onProgress
  }

  /** Indexes what is new in these sources; with `isAll`, removes every other file from the index. Starts the thread if needed. */
  read(sources: SearchSource[], isAll: boolean): Promise<IndexProgress> {
    // A listing that finishes after close() must not start a thread that is never ended.
    if (this.#isStopped) return Promise.reject(new Error('Indexing has stopped.'))
    clearTimeout(this.#linger)
    const worker = (this.#worker ??= this.#start())
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      post(worker, { type: 'read', id, sources, isAll })
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.pause()
  }

  /** Resolves when no thread has the index open. The next `read` starts a thread again. */
  async pause(): Promise<void> {
    this.#end()
    await this.#ended
    this.#rejectAll(new Error('Indexing has stopped.'))
  }

  #start(): Worker {
    const worker = new Worker(threadFile(), {
      workerData: this.#job,
      resourceLimits: { maxOldGenerationSizeMb: 160 },
    })
    const failed = (error: unknown): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#rejectAll(error instanceof Error ? error : new Error(String(error)))
    }
    worker.on('message', (message: FromIndexThread) => this.#receive(message))
    worker.on('error', failed)
    worker.on('exit', () => failed(new Error('The indexing thread ended.')))
    return worker
  }

  /** Asks the thread to finish its current work and stop. */
  #end(): void {
    clearTimeout(this.#linger)
    const worker = this.#worker
    if (!worker) return
    this.#worker = undefined
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    post(worker, { type: 'stop' })
    const timer = setTimeout(() => void worker.terminate(), stopMs)
    this.#ended = Promise.all([this.#ended, ended.then(() => clearTimeout(timer))])
  }

  #receive(message: FromIndexThread): void {
    if (message.type === 'progress') return this.#onProgress(message.progress)
    if (message.type === 'warning') return this.#onWarning(message.message)
    if (message.type === 'idle') return this.#endWhenIdle()
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.type === 'read') waiting?.resolve(message.progress)
    else waiting?.reject(new Error(message.message))
  }

  #endWhenIdle(): void {
    clearTimeout(this.#linger)
    if (this.#waiting.size === 0) this.#linger = setTimeout(() => this.#end(), this.#lingerMs).unref()
  }

  #rejectAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

function post(worker: Worker, message: ToIndexThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  worker.postMessage(message)
}

/** What a regular expression matches within `limitMs`. */
export function searchRegexInThread(job: RegexJob, limitMs: number): Promise<SearchAnswer> {
  checkPattern(job.pattern)
  return new Promise((resolve, reject) => {
    const answer: SearchAnswer = { total: 0, hits: [], notes: [] }
    let searched = 0
    const worker = new Worker(threadFile(), {
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    const end = (note?: string): void => {
      clearTimeout(timer)
      if (note) answer.notes.push(note)
      answer.total = answer.hits.length
      void worker.terminate().then(() => resolve(answer))
    }
    const stop = (): void =>
      end(`Stopped after ${limitMs / 1000} s: ${searched} passages were searched, the newest first.`)
    let timer = setTimeout(stop, startMs + limitMs)
    worker.on('error', (error) => {
      clearTimeout(timer)
      reject(error instanceof Error ? error : new Error(String(error)))
    })
    worker.on('message', (finding: RegexFinding) => {
      if (finding.searched === 0) {
        clearTimeout(timer)
        timer = setTimeout(stop, limitMs)
      }
      searched = finding.searched
      answer.hits.push(...finding.hits)
      if (finding.isDone) end()
    })
  })
}

function checkPattern(pattern: string): void {
  try {
    RegExp(pattern, 'iu')
  } catch (error) {
    throw new RockpoolError('input-invalid', `${errorText(error)}.`, {
      hint: "Regular expressions are JavaScript's, with the u flag; upper and lower case are alike.",
    })
  }
}

/** The program of the threads: beside this module's folder in the sources, at the top of the build. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? ['../search-worker.ts'] : ['./search-worker.js', '../search-worker.js']
  const found = candidates.map((name) => new URL(name, import.meta.url)).find((url) => existsSync(url))
  if (found) return found
  throw new RockpoolError('internal', 'The program of the search threads is missing.', {
    hint: '`npm run build` makes it.',
  })
}
