// What the search threads do. The indexing thread takes the files that are new first; whenever nothing is asked of it, it
// goes on with the tiers behind the words, and rests as long as it worked, so that turns have the machine.
import { parentPort } from 'node:worker_threads'
import { makeRedactor } from '../domain/redact.ts'
import type { Embedder, IndexProgress, SearchFilter, SearchSource } from '../domain/search.ts'
import { SearchIndex } from './search-index.ts'
import type { KnownSource } from './search-index.ts'
import { modelOf, openEmbedder } from './embedder.ts'
import type { MeaningSettings } from './embedder.ts'
import { indexSome, indexSources } from './index-files.ts'
import { addSomePieces, addSomeTools, lackingTools } from './index-tiers.ts'
import { searchRegex } from './search-regex.ts'
import { addSomeVectors } from './embed-passages.ts'

interface Common {
  indexFile: string
  /** Values that are known to be secret, by name. */
  secrets: Array<[name: string, value: string]>
}

export type ThreadJob =
  | (Common & { job: 'index'; meaning: MeaningSettings })
  | (Common & { job: 'regex'; pattern: string; filter: SearchFilter })

export type ToIndexThread =
  | { type: 'read'; id: number; sources: SearchSource[]; isAll: boolean }
  | { type: 'stop' }

export type FromIndexThread =
  | { type: 'progress'; progress: IndexProgress }
  | { type: 'read'; id: number; progress: IndexProgress }
  | { type: 'failed'; id: number; message: string }
  | { type: 'trouble'; message: string }
  /** Everything is done; it may be ended. */
  | { type: 'idle' }

export async function runThread(job: ThreadJob): Promise<void> {
  const redact = redactorOf(job.secrets)
  const index = SearchIndex.open(job.indexFile)
  if (job.job === 'index') await new IndexWork(index, redact, job.meaning).run()
  else
    for (const finding of searchRegex(index, new RegExp(job.pattern, 'iu'), job.filter, redact)) tell(finding)
  await index.close()
}

export function redactorOf(secrets: Common['secrets']): (text: string) => string {
  const redactor = makeRedactor()
  for (const [name, value] of secrets) redactor.know(name, value)
  return (text) => redactor.everything(text)
}

/** Longest rest between two pieces of background work. */
const longestRestMs = 250
const meaningRestMs = 60_000

class IndexWork {
  readonly #index: SearchIndex
  readonly #redact: (text: string) => string
  readonly #meaning: MeaningSettings
  #asked: Array<Extract<ToIndexThread, { type: 'read' }>> = []
  #isStopped = false
  #wake: (() => void) | undefined
  #tools: KnownSource[] = []
  #embedder: Promise<Embedder | undefined> | undefined
  #meaningRestsUntil = 0

  constructor(index: SearchIndex, redact: (text: string) => string, meaning: MeaningSettings) {
    this.#index = index
    this.#redact = redact
    this.#meaning = meaning
  }

  async run(): Promise<void> {
    const model = modelOf(this.#meaning)
    if (model !== undefined) await this.#index.vectors.tidy(model)
    parentPort!.on('message', (message: ToIndexThread) => {
      if (message.type === 'stop') this.#isStopped = true
      else this.#asked.push(message)
      this.#wake?.()
    })
    for (;;) {
      if (this.#isStopped) break
      const next = this.#asked.shift()
      if (next) await this.#read(next)
      else await this.#goOn()
    }
    parentPort!.close()
  }

  async #read({ id, sources, isAll }: Extract<ToIndexThread, { type: 'read' }>): Promise<void> {
    const options = {
      redact: this.#redact,
      onProgress: (progress: IndexProgress) => tell({ type: 'progress', progress }),
    }
    try {
      const progress = isAll
        ? await indexSources(this.#index, sources, options)
        : await indexSome(this.#index, sources, options)
      this.#tools = lackingTools(this.#index)
      tell({ type: 'read', id, progress })
    } catch (error) {
      tell({ type: 'failed', id, message: String(error) })
    }
  }

  /** One piece of background work and a rest as long; with nothing to do, until something is asked. */
  async #goOn(): Promise<void> {
    const began = performance.now()
    const worked = await this.#background()
    const restMs = worked ? Math.min(longestRestMs, performance.now() - began) : undefined
    if (this.#asked.length > 0 || this.#isStopped) return
    if (!worked) tell({ type: 'idle' })
    await new Promise<void>((resolve) => {
      const timer = restMs === undefined ? undefined : setTimeout(resolve, restMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }

  async #background(): Promise<boolean> {
    if (await this.#addVectors()) return true
    if (await addSomePieces(this.#index, this.#redact)) return true
    const file = this.#tools[0]
    if (!file) return false
    if (!(await addSomeTools(this.#index, file, this.#redact))) this.#tools.shift()
    return true
  }

  /** If the embedding provider fails, embedding pauses for a while and the other tiers continue. */
  async #addVectors(): Promise<boolean> {
    if (performance.now() < this.#meaningRestsUntil) return false
    // The model is large: it is loaded when there is something for it to do.
    if (this.#index.lacking.newest('vector', 1).length === 0) return false
    try {
      this.#embedder ??= openEmbedder(this.#meaning)
      const embedder = await this.#embedder
      return embedder !== undefined && (await addSomeVectors(this.#index, embedder, this.#redact))
    } catch (error) {
      this.#embedder = undefined
      this.#meaningRestsUntil = performance.now() + meaningRestMs
      tell({ type: 'trouble', message: `No vectors could be made: ${String(error)}` })
      return false
    }
  }
}

function tell(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort!.postMessage(message)
}
