// A process that indexes the transcripts of a folder, for tests that kill it: node test/support/index-writer.ts <folder>.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { indexSources } from '../../src/search/index-files.ts'
import { addSomePieces } from '../../src/search/index-tiers.ts'
import { SearchIndex } from '../../src/search/search-index.ts'

const folder = process.argv[2]!
const index = SearchIndex.open(join(folder, 'search.sqlite'))
const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
const sources = names.map((name) => ({ kind: 'native' as const, path: join(folder, name), sessionId: name }))
process.stdout.write('begun\n')
await indexSources(index, sources, { redact: (text) => text })
while (await addSomePieces(index, (text) => text));
await index.close()
process.stdout.write('done\n')
