// Starts the search threads and talks to them: one that indexes while the gateway runs, one for each regular expression.
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { RockpoolError } from '../domain/errors.ts'
import type { IndexProgress, SearchAnswer, SearchSource } from '../domain/search.ts'
import type { RegexFinding } from './search-regex.ts'
import type { FromIndexThread, ThreadJob, ToIndexThread } from './thread-work.ts'

type IndexJob = Extract<ThreadJob, { job: 'index' }>
type RegexJob = Extract<ThreadJob, { job: 'regex' }>

/** A thread that does not end by itself in this time is ended. */
const stopMs = 3_000

export class IndexThread {
  readonly #job: IndexJob
  readonly #onProgress: (progress: IndexProgress) => void
  readonly #onTrouble: (message: string) => void
  #worker: Worker | undefined
  #waiting = new Map<number, { resolve: (progress: IndexProgress) => void; reject: (error: Error) => void }>()
  #lastId = 0

  constructor(
    job: IndexJob,
    onProgress: (progress: IndexProgress) => void,
    onTrouble: (message: string) => void,
  ) {
    this.#job = job
    this.#onTrouble = onTrouble
    this.#onProgress = onProgress
  }

  /** Reads what is new in these; `isAll` forgets every other file. A thread that failed is started again. */
  read(sources: SearchSource[], isAll: boolean): Promise<IndexProgress> {
    this.#worker ??= this.#start()
    const id = ++this.#lastId
    const message: ToIndexThread = { type: 'read', id, sources, isAll }
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker!.postMessage(message)
    })
  }

  async stop(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    const message: ToIndexThread = { type: 'stop' }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(message)
    const timer = setTimeout(() => void worker.terminate(), stopMs)
    await ended
    clearTimeout(timer)
  }

  #start(): Worker {
    const worker = new Worker(threadFile(), {
      workerData: this.#job,
      resourceLimits: { maxOldGenerationSizeMb: 160 },
    })
    worker.on('message', (message: FromIndexThread) => this.#heard(message))
    worker.on('error', (error) => this.#ended(error))
    worker.on('exit', () => this.#ended(new Error('The indexing thread ended.')))
    return worker
  }

  #heard(message: FromIndexThread): void {
    if (message.type === 'progress') return this.#onProgress(message.progress)
    if (message.type === 'trouble') return this.#onTrouble(message.message)
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.type === 'read') waiting?.resolve(message.progress)
    else waiting?.reject(new Error(message.message))
  }

  #ended(error: unknown): void {
    this.#worker = undefined
    const failed = error instanceof Error ? error : new Error(String(error))
    for (const { reject } of this.#waiting.values()) reject(failed)
    this.#waiting.clear()
  }
}

/** What a regular expression finds within `limitMs`. */
export function searchRegexInThread(job: RegexJob, limitMs: number): Promise<SearchAnswer> {
  checkPattern(job.pattern)
  return new Promise((resolve, reject) => {
    const answer: SearchAnswer = { total: 0, hits: [], notes: [] }
    let looked = 0
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
    const timer = setTimeout(
      () => end(`Stopped after ${limitMs / 1000} s: ${looked} passages were looked at, the newest first.`),
      limitMs,
    )
    worker.on('error', (error) => {
      clearTimeout(timer)
      reject(error instanceof Error ? error : new Error(String(error)))
    })
    worker.on('message', (finding: RegexFinding) => {
      looked = finding.looked
      answer.hits.push(...finding.hits)
      if (finding.isDone) end()
    })
  })
}

function checkPattern(pattern: string): void {
  try {
    RegExp(pattern, 'iu')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new RockpoolError('input-invalid', `${why}.`, {
      hint: "Regular expressions are JavaScript's, with the u flag; upper and lower case are alike.",
    })
  }
}

/** Where the threads' program is: beside this module's folder in the sources, at the top of what was built. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts')
  const candidates = isSource ? ['../search-worker.ts'] : ['./search-worker.js', '../search-worker.js']
  const found = candidates.map((name) => new URL(name, import.meta.url)).find((url) => existsSync(url))
  if (found) return found
  throw new RockpoolError('internal', 'The program of the search threads is missing.', {
    hint: '`npm run build` makes it.',
  })
}
