// Search by meaning: which model turns text into vectors (a configured provider, the word vectors on this machine, or none),
// and when the model and the vectors are loaded and released.
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Embedder, SearchFilter, SearchStatus } from '../domain/search.ts'
import { addSomeVectors } from './index-tiers.ts'
import { NearestPassages } from './nearest-passages.ts'
import type { SearchIndex } from './search-index.ts'
import type { NearPassage } from './ranked-search.ts'
import { openWordVectors, wordVectorLanguages, wordVectorModel } from './word-vectors.ts'

export type MeaningSettings =
  | { use: 'none' }
  /** The word vectors that Rockpool brings. */
  | { use: 'machine' }
  /** An endpoint with OpenAI's interface. */
  | { use: 'provider'; url: string; model: string; apiKey?: string; languages: string }

/** The model and the vectors are unloaded after this long without a search. */
const unloadAfterMs = 5 * 60_000

export class SearchMeaning {
  readonly settings: MeaningSettings
  readonly #clock: Clock
  readonly #redact: (text: string) => string
  #embedder: Promise<Embedder | undefined> | undefined
  #nearest: NearestPassages | undefined
  #cancelUnload: (() => void) | undefined

  constructor(settings: MeaningSettings, clock: Clock, redact: (text: string) => string) {
    this.settings = settings
    this.#clock = clock
    this.#redact = redact
  }

  get lack(): string | undefined {
    const isOff = this.settings.use === 'none'
    return isOff ? 'By word only: search by meaning is switched off (memory.meaning).' : undefined
  }

  get model(): SearchStatus['meaning'] {
    const name = modelOf(this.settings)
    return name === undefined ? undefined : { name, languages: languagesOf(this.settings) }
  }

  /** Finds passages by meaning; undefined without vectors. The first search loads the model. */
  nearestIn(
    index: SearchIndex,
  ): ((text: string, filter: SearchFilter) => Promise<NearPassage[]>) | undefined {
    if (this.settings.use === 'none' || index.vectors.isEmpty()) return undefined
    return async (text, filter) => {
      this.#unloadLater()
      const embedder = await this.#open()
      if (!embedder) return []
      this.#nearest ??= new NearestPassages(index, embedder)
      return this.#nearest.find(text, filter)
    }
  }

  /** The index was replaced or lost passages: the vectors must be loaded again. */
  forgetVectors(): void {
    this.#nearest = undefined
  }

  /** Computes missing vectors for at most `ms`, in a command. */
  async makeVectors(index: SearchIndex, ms: number): Promise<void> {
    // Only the gateway asks a provider: a command must not wait for it.
    if (this.settings.use !== 'machine') return
    if (index.backlog.newest('vector', 1).length === 0) return
    const embedder = await this.#open()
    const until = this.#clock.monotonic() + ms
    if (!embedder) return
    while (this.#clock.monotonic() < until) {
      if (!(await addSomeVectors(index, embedder, this.#redact))) break
    }
  }

  close(): void {
    this.#cancelUnload?.()
  }

  #open(): Promise<Embedder | undefined> {
    this.#embedder ??= openEmbedder(this.settings)
    return this.#embedder
  }

  #unloadLater(): void {
    this.#cancelUnload?.()
    this.#cancelUnload = this.#clock.after(unloadAfterMs, () => {
      this.#embedder = undefined
      this.#nearest = undefined
    })
  }
}

export function meaningSettings(config: Config['memory']['meaning']): MeaningSettings {
  const { use, url, model, apiKey, languages } = config
  if (use === 'provider' && url !== undefined && model !== undefined)
    return { use, url, model, apiKey, languages }
  return { use: use === 'machine' ? use : 'none' }
}

export async function openEmbedder(settings: MeaningSettings): Promise<Embedder | undefined> {
  if (settings.use === 'machine') return openWordVectors()
  return settings.use === 'provider' ? providerEmbedder(settings) : undefined
}

/** The name of the model, without loading it; undefined without a model. */
export function modelOf(settings: MeaningSettings): string | undefined {
  if (settings.use === 'machine') return wordVectorModel
  return settings.use === 'provider' ? `${settings.model} ${settings.url}` : undefined
}

/** The languages that the model knows, as a text to show. */
export function languagesOf(settings: MeaningSettings): string {
  return settings.use === 'provider' ? settings.languages : wordVectorLanguages
}

const batch = 64
const timeoutMs = 30_000

function providerEmbedder(settings: Extract<MeaningSettings, { use: 'provider' }>): Embedder {
  const { languages } = settings
  return {
    name: modelOf(settings)!,
    languages,
    async embed(texts, withinMs = timeoutMs) {
      const vectors: Float32Array[] = []
      for (let at = 0; at < texts.length; at += batch) {
        vectors.push(...(await ask(settings, texts.slice(at, at + batch), withinMs)))
      }
      return vectors
    },
  }
}

async function ask(
  { url, model, apiKey }: Extract<MeaningSettings, { use: 'provider' }>,
  texts: string[],
  withinMs: number,
): Promise<Float32Array[]> {
  const address = `${url.replace(/\/$/, '')}/embeddings`
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) },
    // Some endpoints refuse an empty text.
    body: JSON.stringify({ model, input: texts.map((text) => text || ' ') }),
    signal: AbortSignal.timeout(withinMs),
    redirect: 'error',
  }).catch((cause: unknown) => {
    throw new RockpoolError('unavailable', `${address} could not be reached.`, { cause })
  })
  if (!answer.ok) throw new RockpoolError('unavailable', `${address} answered ${answer.status}.`)
  const { data } = (await answer.json()) as { data: Array<{ index: number; embedding: number[] }> }
  const sorted = [...data].sort((a, b) => a.index - b.index)
  if (sorted.length !== texts.length)
    throw new RockpoolError('unavailable', `${address} gave ${sorted.length} of ${texts.length} vectors.`)
  return sorted.map(({ embedding }) => Float32Array.from(embedding))
}
