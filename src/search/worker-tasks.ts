// The work of the search threads. One thread indexes: new files first; when none are left it works on the other tiers, and
// rests as long as it worked, to leave the processor to turns. Others search by regular expression (regex-search.ts), and in the
// transcripts whose tool texts are not indexed (unindexed-tools.ts).
import { parentPort } from 'node:worker_threads'
import type { Embedder, IndexProgress, SearchSource } from '../domain/search.ts'
import { indexSome, indexSources } from './index-files.ts'
import { addSomePieces, addSomeVectors } from './index-tiers.ts'
import { modelOf, openEmbedder, type MeaningSettings } from './meaning.ts'
import { redactorOf } from './passages.ts'
import { searchRegex, type MatchTexts, type RegexFinding, type RegexQuestion } from './regex-search.ts'
import { SearchIndex } from './search-index.ts'
import { ToolTexts, type IndexLimit } from './tool-texts.ts'
import { findInTools, type ToolFinding, type ToolQuestion } from './unindexed-tools.ts'

interface Common {
  indexFile: string
  /** Values that are known to be secret, by name. */
  secrets: Array<[name: string, value: string]>
}

export type ThreadJob =
  | (Common & { job: 'index'; meaning: MeaningSettings; limit: IndexLimit })
  | (Common & { job: 'search' })

export type ToIndexThread =
  | { type: 'read'; id: number; sources: SearchSource[]; isAll: boolean }
  | { type: 'stop' }

export type FromIndexThread =
  | { type: 'progress'; progress: IndexProgress }
  | { type: 'read'; id: number; progress: IndexProgress }
  | { type: 'failed'; id: number; message: string }
  | { type: 'warning'; message: string }
  /** Nothing is left to do; the thread may be ended. */
  | { type: 'idle' }

export type FromSearchThread = RegexFinding | (ToolFinding & { isDone: boolean })

export async function runThread(job: ThreadJob): Promise<void> {
  const redact = redactorOf(job.secrets)
  const index = SearchIndex.open(job.indexFile)
  if (job.job === 'search') {
    parentPort!.on('message', (question: RegexQuestion | ToolQuestion) => {
      if ('pattern' in question) postMatches(index, question, redact)
      else void postTools(index, question, redact)
    })
    return
  }
  await new IndexWork(index, redact, job).run()
  await index.close()
}

function postMatches(index: SearchIndex, question: RegexQuestion, redact: (text: string) => string): void {
  const regex = new RegExp(question.pattern, 'iu')
  // One text after the other: what was found before a text that takes too long is kept.
  const matchesOf = function* (texts: string[]): ReturnType<MatchTexts> {
    for (const text of texts) yield regex.exec(text)
  }
  for (const finding of searchRegex(index, question, redact, matchesOf)) post(finding)
}

async function postTools(
  index: SearchIndex,
  question: ToolQuestion,
  redact: (text: string) => string,
): Promise<void> {
  // Starts the time limit: starting the thread must not count.
  post({ isDone: false })
  const finding = await findInTools(index, question, redact)
  post({ ...finding, isDone: true })
}

/** The longest rest between two steps of background work. */
const longestRestMs = 250
const vectorsPauseMs = 60_000

class IndexWork {
  readonly #index: SearchIndex
  readonly #redact: (text: string) => string
  readonly #meaning: MeaningSettings
  readonly #tools: ToolTexts
  #asked: Array<Extract<ToIndexThread, { type: 'read' }>> = []
  #isStopped = false
  #wake: (() => void) | undefined
  #embedder: Promise<Embedder | undefined> | undefined
  #vectorsPausedUntil = 0

  constructor(
    index: SearchIndex,
    redact: (text: string) => string,
    { meaning, limit }: Extract<ThreadJob, { job: 'index' }>,
  ) {
    this.#index = index
    this.#redact = redact
    this.#meaning = meaning
    this.#tools = new ToolTexts(index, redact, limit)
  }

  async run(): Promise<void> {
    const model = modelOf(this.#meaning)
    if (model !== undefined) await this.#index.vectors.tidy(model)
    await this.#index.backlog.tidyPieces()
    parentPort!.on('message', (message: ToIndexThread) => {
      if (message.type === 'stop') this.#isStopped = true
      else this.#asked.push(message)
      this.#wake?.()
    })
    for (;;) {
      if (this.#isStopped) break
      const next = this.#asked.shift()
      if (next) await this.#read(next)
      else await this.#workInBackground()
    }
    parentPort!.close()
  }

  async #read({ id, sources, isAll }: Extract<ToIndexThread, { type: 'read' }>): Promise<void> {
    const options = {
      redact: this.#redact,
      onProgress: (progress: IndexProgress) => post({ type: 'progress', progress }),
    }
    try {
      const progress = isAll
        ? await indexSources(this.#index, sources, options)
        : await indexSome(this.#index, sources, options)
      this.#tools.reload()
      post({ type: 'read', id, progress })
    } catch (error) {
      post({ type: 'failed', id, message: String(error) })
    }
  }

  /** One step of background work and a rest of the same length; with nothing to do, waits for a request. */
  async #workInBackground(): Promise<void> {
    const began = performance.now()
    const worked = await this.#nextStep()
    const restMs = worked ? Math.min(longestRestMs, performance.now() - began) : undefined
    if (this.#asked.length > 0 || this.#isStopped) return
    if (!worked) post({ type: 'idle' })
    await new Promise<void>((resolve) => {
      const timer = restMs === undefined ? undefined : setTimeout(resolve, restMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }

  async #nextStep(): Promise<boolean> {
    if (await this.#addVectors()) return true
    return (await addSomePieces(this.#index, this.#redact)) || this.#tools.addSome()
  }

  /** If the embedding provider fails, embedding pauses for a while and the other tiers continue. */
  async #addVectors(): Promise<boolean> {
    if (performance.now() < this.#vectorsPausedUntil) return false
    // The model is large: load it only when there is work for it.
    if (this.#index.backlog.newest('vector', 1).length === 0) return false
    try {
      this.#embedder ??= openEmbedder(this.#meaning)
      const embedder = await this.#embedder
      return embedder !== undefined && (await addSomeVectors(this.#index, embedder, this.#redact))
    } catch (error) {
      this.#embedder = undefined
      this.#vectorsPausedUntil = performance.now() + vectorsPauseMs
      post({ type: 'warning', message: `Could not compute vectors: ${String(error)}` })
      return false
    }
  }
}

function post(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(message)
}
