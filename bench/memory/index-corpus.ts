// Indexes all of Claude's transcripts below HOME and asks some questions; prints what it took as JSON.
import { globSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeRedactor } from '../../src/domain/redact.ts'
import { openEmbedder } from '../../src/search/meaning.ts'
import { indexSources } from '../../src/search/index-files.ts'
import { NearestPassages } from '../../src/search/nearest-passages.ts'
import { search, type NearPassage } from '../../src/search/ranked-search.ts'
import { addSomeVectors } from '../../src/search/index-tiers.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { statePaths } from '../../src/store/paths.ts'
import { SearchIndex } from '../../src/search/search-index.ts'
import { questions } from './questions.ts'

export interface CorpusRun {
  indexMs: number
  cpuMs: number
  passages: number
  indexBytes: number
  peakMb: number
  /** How long the vectors took. */
  vectorMs: number
  p95Ms: number
  /** Processor time of the slowest twentieth of the searches. */
  searchCpuMs: number
  searches: number
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
const vectorsFrom = performance.now()
if (embedder) while (await addSomeVectors(index, embedder, redact, 1_000));
const vectorMs = performance.now() - vectorsFrom
const near = embedder && new NearestPassages(index, embedder)
await near?.readNew()
const nearest = near && ((text: string): Promise<NearPassage[]> => near.find(text, {}))

const times: number[] = []
const cpuTimes: number[] = []
for (let round = 0; round < 15; round++) {
  for (const question of questions) {
    const asked = performance.now()
    const used = process.cpuUsage()
    await search({ index, redact, now: () => Date.now(), nearest }, question, { limit: 20 })
    times.push(performance.now() - asked)
    const { user: inUser, system: inSystem } = process.cpuUsage(used)
    cpuTimes.push((inUser + inSystem) / 1000)
  }
}
times.sort((a, b) => a - b)
cpuTimes.sort((a, b) => a - b)
await index.close()
const run: CorpusRun = {
  indexMs,
  cpuMs: (user + system) / 1000,
  passages,
  indexBytes,
  vectorMs,
  peakMb,
  p95Ms: times[Math.floor(times.length * 0.95)]!,
  searchCpuMs: cpuTimes[Math.floor(times.length * 0.95)]!,
  searches: times.length,
}
console.log(JSON.stringify(run))
