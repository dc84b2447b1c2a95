// Indexes all of Claude's transcripts below HOME with everything that the gateway adds in the background; prints how large the index
// is after each step, as a share of the transcripts, as JSON.
import { globSync, mkdirSync, readdirSync, statSync } from 'node:fs'
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
const index = SearchIndex.open(file)
const redactor = makeRedactor()
const redact = (text: string): string => redactor.everything(text)

/** With its log, which has what was not copied into it yet. */
function share(): number {
  const names = readdirSync(dirname(file))
  return names.reduce((sum, name) => sum + statSync(join(dirname(file), name)).size, 0) / bytes
}

const sources = paths.map((path, i) => ({
  kind: 'native' as const,
  path,
  sessionId: `s${i}`,
  repoPath: '/r',
}))
await indexSources(index, sources, { redact })
const embedder = await openEmbedder({ use: 'machine' })
if (embedder) while (await addSomeVectors(index, embedder, redact, 1_000));
const messages = share()
while (await addSomePieces(index, redact, 1_000));
const withSubstrings = share()
for (const known of filesWithoutTools(index)) while (await addSomeTools(index, known, redact));
while (await addSomePieces(index, redact, 1_000));
const shares: IndexShares = { messages, withSubstrings, withTools: share() }
await index.close()
console.log(JSON.stringify(shares))
