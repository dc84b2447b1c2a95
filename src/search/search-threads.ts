// Starts the search threads and exchanges messages with them: one thread indexes while the gateway runs, and up to two search by
// regular expression or in transcripts.
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { AtMost } from '../domain/async.ts'
import { RockpoolError, errorText } from '../domain/errors.ts'
import type { IndexProgress, SearchAnswer, SearchFilter, SearchSource } from '../domain/search.ts'
import type { RegexFinding, RegexQuestion } from './regex-search.ts'
import type { ToolFinding, ToolQuestion } from './unindexed-tools.ts'
import type { FromIndexThread, FromSearchThread, ThreadJob, ToIndexThread } from './worker-tasks.ts'

type IndexJob = Extract<ThreadJob, { job: 'index' }>

/** A thread that does not stop within this time is terminated. */
const stopMs = 1_000
/** Starting a thread takes some seconds on a busy machine. */
const startMs = 10_000
/** An idle thread is kept this long, because messages come in bursts; then it is ended to free its memory. */
const lingerMs = 2_000
/** The additional time of a thread that watches its own time limit, to rank its hits. */
const graceMs = 2_000
/** People try an expression several times. */
const regexLingerMs = 30_000

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

function post(worker: Worker, message: ToIndexThread | RegexQuestion | ToolQuestion): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  worker.postMessage(message)
}

/** Searches that read many texts, each in a thread, which is terminated when its time is over: a pathological expression must not
 *  block the process. A thread takes longer to start than most searches, so it is kept for a while for the next one. */
export class SearchThreads {
  readonly #job: Extract<ThreadJob, { job: 'search' }>
  readonly #limitMs: number
  /** Each search may use its whole time. */
  readonly #running = new AtMost(2, 30)
  readonly #idle = new Set<Worker>()
  #linger: NodeJS.Timeout | undefined

  /** A search by regular expression may take `limitMs`. */
  constructor(about: Omit<Extract<ThreadJob, { job: 'search' }>, 'job'>, limitMs: number) {
    this.#job = { ...about, job: 'search' }
    this.#limitMs = limitMs
  }

  /** The pattern is valid (`checkPattern`). With `isUnindexed`, only the tool texts that are not indexed are searched. */
  async matches(
    pattern: string,
    filter: SearchFilter,
    isUnindexed = false,
  ): Promise<SearchAnswer & Pick<RegexFinding, 'backTo'>> {
    const answer: SearchAnswer & Pick<RegexFinding, 'backTo'> = { total: 0, hits: [], notes: [] }
    let searched = 0
    const receive = (finding: RegexFinding): void => {
      searched = finding.searched
      answer.hits.push(...finding.hits)
      answer.backTo = finding.backTo
    }
    const unindexedMs = isUnindexed ? this.#limitMs : undefined
    // The thread itself stops to read transcripts when its time is over.
    const limitMs = this.#limitMs + (isUnindexed ? graceMs : 0)
    const isEnded = await this.#ask<RegexFinding>({ pattern, filter, unindexedMs }, limitMs, receive)
    const what = isUnindexed ? 'tool texts' : 'passages'
    if (!isEnded)
      answer.notes.push(
        `Stopped after ${this.#limitMs / 1000} s: ${searched} ${what} were searched, the newest first.`,
      )
    answer.total = answer.hits.length
    return answer
  }

  /** Undefined if it took too long. */
  async inTools(question: ToolQuestion): Promise<ToolFinding | undefined> {
    let found: ToolFinding = {}
    const receive = (finding: ToolFinding & { isDone: boolean }): void => {
      found = finding
    }
    const isEnded = await this.#ask(question, question.limitMs + graceMs, receive)
    return isEnded ? found : undefined
  }

  /** Ends the idle threads, which have the index open. */
  async endIdle(): Promise<void> {
    clearTimeout(this.#linger)
    const idle = [...this.#idle]
    this.#idle.clear()
    await Promise.all(idle.map((worker) => worker.terminate()))
  }

  /** False if the thread was terminated because its time was over, which begins with its first message. */
  #ask<Finding extends FromSearchThread>(
    question: RegexQuestion | ToolQuestion,
    limitMs: number,
    onFinding: (finding: Finding) => void,
  ): Promise<boolean> {
    return this.#running.run(() => {
      const worker = this.#takeIdle() ?? this.#start()
      return new Promise((resolve, reject) => {
        let hasBegun = false
        const end = (): void => {
          clearTimeout(timer)
          worker.off('message', receive).off('error', fail)
        }
        const fail = (error: unknown): void => {
          end()
          reject(error instanceof Error ? error : new Error(String(error)))
        }
        const stop = (): void => {
          end()
          void worker.terminate().then(() => resolve(false))
        }
        const receive = (finding: Finding): void => {
          if (!hasBegun) {
            clearTimeout(timer)
            timer = setTimeout(stop, limitMs)
          }
          hasBegun = true
          onFinding(finding)
          if (!finding.isDone) return
          end()
          this.#keep(worker)
          resolve(true)
        }
        let timer = setTimeout(stop, startMs + limitMs)
        worker.on('message', receive).on('error', fail)
        post(worker, question)
      })
    })
  }

  #start(): Worker {
    const worker = new Worker(threadFile(), {
      workerData: this.#job,
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    // Also while it is idle: nothing listens to it then.
    const forget = (): unknown => this.#idle.delete(worker)
    return worker.on('error', forget).on('exit', forget)
  }

  #takeIdle(): Worker | undefined {
    const [worker] = this.#idle
    if (!worker) return undefined
    this.#idle.delete(worker)
    worker.ref()
    return worker
  }

  #keep(worker: Worker): void {
    worker.unref()
    this.#idle.add(worker)
    clearTimeout(this.#linger)
    this.#linger = setTimeout(() => void this.endIdle(), regexLingerMs).unref()
  }
}

export function checkPattern(pattern: string): void {
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
