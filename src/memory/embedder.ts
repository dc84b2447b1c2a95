// Which model turns text into vectors: a configured provider, a package on the machine, or none.
import type { Embedder } from '../domain/search.ts'

export interface MeaningSettings {
  kind: 'none'
}

export async function openEmbedder(_settings: MeaningSettings): Promise<Embedder | undefined> {
  return undefined
}
