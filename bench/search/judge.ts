// node bench/search/judge.ts: prints how well the judged set is found, by kind of question, by words alone and as shipped.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SearchSource } from '../../src/domain/search.ts'
import { openEmbedder } from '../../src/search/meaning.ts'
import { indexSources } from '../../src/search/index-files.ts'
import { addSomeVectors } from '../../src/search/index-tiers.ts'
import { NearestPassages } from '../../src/search/nearest-passages.ts'
import { search, type SearchParts } from '../../src/search/ranked-search.ts'
import { SearchIndex } from '../../src/search/search-index.ts'
import { addRanks, printFigures, writeJudgedSet } from './judged-set.ts'

const plain = (text: string): string => text
/** Recency is no help here: to this moment all sessions are about equally old. */
const now = (): number => Date.UTC(2030, 0, 1)

type Find = (text: string) => Promise<string[]>

/** Indexes the sources, and asks by words alone and as shipped: words, and meaning where no passage has most of them. */
export async function withSearch(
  sources: SearchSource[],
  ask: (byWords: Find, shipped: Find) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-judged-'))
  const index = SearchIndex.open(join(folder, 'search.sqlite'))
  try {
    await indexSources(index, sources, { redact: plain })
    const embedder = (await openEmbedder({ use: 'machine' }))!
    while (await addSomeVectors(index, embedder, plain));
    const near = new NearestPassages(index, embedder)
    const find =
      (nearest?: SearchParts['nearest']): Find =>
      async (text) => {
        const { hits } = await search({ index, redact: plain, now, nearest }, text, { limit: 100 })
        return hits.map(({ sessionId }) => sessionId)
      }
    await ask(
      find(),
      find((text, filter) => near.find(text, filter)),
    )
  } finally {
    await index.close()
    rmSync(folder, { recursive: true })
  }
}

export async function measureJudged(): Promise<Record<'words' | 'shipped', Map<string, number[]>>> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-judged-'))
  const ranks = { words: new Map<string, number[]>(), shipped: new Map<string, number[]>() }
  try {
    const { sources, questions } = writeJudgedSet(folder)
    await withSearch(sources, async (byWords, shipped) => {
      await addRanks(ranks.words, questions, byWords)
      await addRanks(ranks.shipped, questions, shipped)
    })
    return ranks
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) {
  const { words, shipped } = await measureJudged()
  console.log(`by words alone\n${printFigures(words)}\n\nas shipped\n${printFigures(shipped)}`)
}
