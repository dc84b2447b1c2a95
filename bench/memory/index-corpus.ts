// Indexes all of Claude's transcripts below HOME; prints time and size as JSON.
import { globSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeRedactor } from '../../src/domain/redact.ts'
import { openEmbedder } from '../../src/search/meaning.ts'
import { indexSources } from '../../src/search/index-files.ts'
import { addSomeVectors } from '../../src/search/index-tiers.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { statePaths } from '../../src/store/paths.ts'
import { SearchIndex } from '../../src/search/search-index.ts'

export interface CorpusRun {
  indexMs: number
  cpuMs: number
  passages: number
  indexBytes: number
  peakMb: number
}

const environment = readEnvironment()
const files = globSync(join(environment.variables['HOME']!, '.claude/projects/**/*.jsonl'))
const file = statePaths(environment.stateDir).searchIndex
mkdirSync(join(file, '..'), { recursive: true })
const index = SearchIndex.open(file)
const redactor = makeRedactor()
const redact = (text: string): string => redactor.everything(text)

const began = performance.now()
const before = process.cpuUsage()
const sources = files.map((path, i) => ({
  kind: 'native' as const,
  path,
  sessionId: `s${i}`,
  repoPath: '/r',
}))
const { passages } = await indexSources(index, sources, { redact })
const indexMs = performance.now() - began
const { user, system } = process.cpuUsage(before)
const indexBytes = statSync(file).size
const peakMb = process.resourceUsage().maxRSS / 1024

const embedder = await openEmbedder({ use: 'machine' })
if (embedder) while (await addSomeVectors(index, embedder, redact, 1_000));
await index.close()
const run: CorpusRun = {
  indexMs,
  cpuMs: (user + system) / 1000,
  passages,
  indexBytes,
  peakMb,
}
console.log(JSON.stringify(run))
