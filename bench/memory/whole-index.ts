// Indexes all of Claude's transcripts below HOME with everything that the gateway adds in the background; prints how large the index
// is after each step, as a share of the transcripts, as JSON.
import { globSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeRedactor } from '../../src/domain/redact.ts'
import { indexSources } from '../../src/search/index-files.ts'
import {
  addSomePieces,
  addSomeTools,
  addSomeVectors,
  filesWithoutTools,
} from '../../src/search/index-tiers.ts'
import { openEmbedder } from '../../src/search/meaning.ts'
import { SearchIndex } from '../../src/search/search-index.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { statePaths } from '../../src/store/paths.ts'

export type IndexShares = Record<'messages' | 'withSubstrings' | 'withTools', number>

const environment = readEnvironment()
const paths = globSync(join(environment.variables['HOME']!, '.claude/projects/**/*.jsonl'))
const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
const file = statePaths(environment.stateDir).searchIndex
mkdirSync(dirname(file), { recursive: true })
const redactor = makeRedactor()
const redact = (text: string): string => redactor.everything(text)

/** Does a step of the work, and returns the share of the index after it. Closing it empties its log. */
async function shareAfter(work: (index: SearchIndex) => Promise<unknown>): Promise<number> {
  const index = SearchIndex.open(file)
  await work(index)
  await index.close()
  return statSync(file).size / bytes
}

const sources = paths.map((path, i) => ({
  kind: 'native' as const,
  path,
  sessionId: `s${i}`,
  repoPath: '/r',
}))
const embedder = await openEmbedder({ use: 'machine' })
const shares: IndexShares = {
  messages: await shareAfter(async (index) => {
    await indexSources(index, sources, { redact })
    if (embedder) while (await addSomeVectors(index, embedder, redact, 1_000));
  }),
  withSubstrings: await shareAfter(async (index) => {
    while (await addSomePieces(index, redact, 1_000));
  }),
  withTools: await shareAfter(async (index) => {
    for (const known of filesWithoutTools(index)) while (await addSomeTools(index, known, redact));
    while (await addSomePieces(index, redact, 1_000));
  }),
}
console.log(JSON.stringify(shares))
