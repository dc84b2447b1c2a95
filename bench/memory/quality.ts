// How many of the questions of the test set find their session among the first five.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbedder } from '../../src/search/meaning.ts'
import { indexSources } from '../../src/search/index-files.ts'
import { NearestPassages } from '../../src/search/nearest-passages.ts'
import { search } from '../../src/search/ranked-search.ts'
import { addSomeVectors } from '../../src/search/index-tiers.ts'
import { SearchIndex } from '../../src/search/search-index.ts'
import { readTopics, writeQualitySessions } from '../../test/support/search-quality.ts'

export interface Quality {
  questions: number
  sessions: number
  /** From 0 to 100. */
  words: number
  meaning?: number
  fused?: number
  model?: string
}

const plain = (text: string): string => text
/** Recency is no help here: to this moment all sessions are equally old. */
const now = (): number => Date.UTC(2030, 0, 1)

export async function measureQuality(): Promise<Quality> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-quality-'))
  const index = SearchIndex.open(join(folder, 'search.sqlite'))
  try {
    const topics = readTopics()
    await indexSources(index, writeQualitySessions(join(folder, 'sessions'), topics), { redact: plain })
    const asked = topics.flatMap(({ id, questions }) => questions.map((question) => ({ id, question })))
    const recall = async (find: (question: string) => Promise<string[]>): Promise<number> => {
      let found = 0
      for (const { id, question } of asked) {
        if ([...new Set(await find(question))].slice(0, 5).includes(id)) found++
      }
      return (100 * found) / asked.length
    }
    const quality: Quality = {
      questions: asked.length,
      sessions: topics.length,
      words: await recall((question) => sessionsFor(index, question)),
    }
    const embedder = await openEmbedder({ use: 'machine', file: join(folder, 'word-vectors.bin') })
    if (!embedder) return quality
    while (await addSomeVectors(index, embedder, plain));
    const near = new NearestPassages(index, embedder)
    const nearest = (question: string): Promise<number[]> => near.find(question, {})
    quality.model = embedder.name
    quality.fused = await recall((question) => sessionsFor(index, question, nearest))
    quality.meaning = await recall(async (question) => {
      const ids = await nearest(question)
      const found = new Map(index.passages(ids, {}).map(({ id, source }) => [id, source.sessionId]))
      return ids.map((id) => found.get(id)!)
    })
    return quality
  } finally {
    await index.close()
    rmSync(folder, { recursive: true })
  }
}

async function sessionsFor(
  index: SearchIndex,
  question: string,
  nearest?: (question: string) => Promise<number[]>,
): Promise<string[]> {
  const { hits } = await search({ index, redact: plain, now, nearest }, question, { limit: 100 })
  return hits.map(({ sessionId }) => sessionId)
}
