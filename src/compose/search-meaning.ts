// Search by meaning: which model there is, when it and the vectors are loaded and let go, and the vectors that a command
// makes itself where no gateway does.
import { dirname, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { Embedder, SearchFilter, SearchStatus } from '../domain/search.ts'
import { lackOfMeaning, languagesOf, modelOf, openEmbedder } from '../search/embedder.ts'
import type { MeaningSettings } from '../search/embedder.ts'
import { NearestPassages } from '../search/nearest-passages.ts'
import { addSomeVectors } from '../search/embed-passages.ts'
import { hasTable, wordVectorFile } from '../search/word-vectors.ts'
import type { App } from '../operations/app.ts'
import type { SearchIndex } from '../search/search-index.ts'

/** For so many passages a command cuts the table of words, which takes seconds; for less it is left to the gateway. */
export const worthTable = 1_000
/** The model and the vectors are unloaded after this long without a search. */
const modelRestMs = 5 * 60_000

export class SearchMeaning {
  readonly settings: MeaningSettings
  readonly #clock: Clock
  readonly #redact: (text: string) => string
  #embedder: Promise<Embedder | undefined> | undefined
  #near: NearestPassages | undefined
  #cancelLetGo: (() => void) | undefined

  constructor(app: Pick<App, 'config' | 'paths' | 'clock'>, redact: (text: string) => string) {
    this.settings = meaningSettings(app)
    this.#clock = app.clock
    this.#redact = redact
  }

  get lack(): string | undefined {
    return lackOfMeaning(this.settings)
  }

  get model(): SearchStatus['meaning'] {
    const name = modelOf(this.settings)
    return name === undefined ? undefined : { name, languages: languagesOf(this.settings) }
  }

  /** Passages by meaning, when there are vectors to compare with. The model is loaded when it is asked. */
  nearestIn(index: SearchIndex): ((text: string, filter: SearchFilter) => Promise<number[]>) | undefined {
    if (this.settings.use === 'none' || index.vectors.isEmpty()) return undefined
    return async (text, filter) => {
      this.#letGoLater()
      this.#embedder ??= openEmbedder(this.settings)
      const embedder = await this.#embedder
      if (!embedder) return []
      this.#near ??= new NearestPassages(index, embedder)
      return this.#near.find(text, filter)
    }
  }

  /** Vectors in memory are read again: the index is another one, or some of it is gone. */
  forgetVectors(): void {
    this.#near = undefined
  }

  async makeVectors(index: SearchIndex, ms: number): Promise<void> {
    // A provider is asked by the gateway only: a command must not wait for it.
    if (this.settings.use !== 'machine') return
    const least = hasTable(this.settings.file) ? 1 : worthTable
    if (index.lacking.newest('vector', least).length < least) return
    this.#embedder ??= openEmbedder(this.settings)
    const embedder = await this.#embedder
    const until = this.#clock.monotonic() + ms
    if (!embedder) return
    while (this.#clock.monotonic() < until) {
      if (!(await addSomeVectors(index, embedder, this.#redact))) break
    }
  }

  close(): void {
    this.#cancelLetGo?.()
  }

  #letGoLater(): void {
    this.#cancelLetGo?.()
    this.#cancelLetGo = this.#clock.after(modelRestMs, () => {
      this.#embedder = undefined
      this.#near = undefined
    })
  }
}

function meaningSettings({ config, paths }: Pick<App, 'config' | 'paths'>): MeaningSettings {
  const { use, url, model, apiKey, languages } = config.memory.meaning
  if (use === 'machine') return { use, file: join(dirname(paths.searchIndex), wordVectorFile) }
  if (use === 'provider' && url !== undefined && model !== undefined) {
    return { use, url, model, apiKey, languages }
  }
  return { use: 'none' }
}
