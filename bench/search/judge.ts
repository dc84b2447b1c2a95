// node bench/search/judge.ts: prints how well the judged set is found, by kind of question, by words alone and with meaning.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbedder } from '../../src/search/meaning.ts'
import { indexSources } from '../../src/search/index-files.ts'
import { addSomeVectors } from '../../src/search/index-tiers.ts'
import { NearestPassages } from '../../src/search/nearest-passages.ts'
import { search, type SearchParts } from '../../src/search/ranked-search.ts'
import { SearchIndex } from '../../src/search/search-index.ts'
import { judge, printFigures, writeJudgedSet, type Figures } from './judged-set.ts'

const plain = (text: string): string => text
/** Recency is no help here: to this moment all sessions are about equally old. */
const now = (): number => Date.UTC(2030, 0, 1)

export async function measureJudged(): Promise<Record<'words' | 'shipped', Map<string, Figures>>> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-judged-'))
  const index = SearchIndex.open(join(folder, 'search.sqlite'))
  try {
    const { sources, questions } = writeJudgedSet(folder)
    await indexSources(index, sources, { redact: plain })
    const embedder = (await openEmbedder({ use: 'machine' }))!
    while (await addSomeVectors(index, embedder, plain));
    const near = new NearestPassages(index, embedder)
    const sessionsFor = async (text: string, nearest?: SearchParts['nearest']): Promise<string[]> => {
      const { hits } = await search({ index, redact: plain, now, nearest }, text, { limit: 100 })
      return hits.map(({ sessionId }) => sessionId)
    }
    const words = await judge(questions, (text) => sessionsFor(text))
    const shipped = await judge(questions, (text) =>
      sessionsFor(text, (query, filter) => near.find(query, filter)),
    )
    return { words, shipped }
  } finally {
    await index.close()
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) {
  const { words, shipped } = await measureJudged()
  console.log(`kind\tquestions\thit@1\thit@5\tMRR\n\nby words alone\n${printFigures(words)}`)
  console.log(`\nas shipped\n${printFigures(shipped)}`)
}
