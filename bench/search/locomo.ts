// node bench/search/locomo.ts <locomo10.json>: how well LoCoMo's questions find the sessions with their answer, each
// conversation alone and all together. Its data may not be redistributed: the file is not part of this project.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SearchSource } from '../../src/domain/search.ts'
import { withSearch } from './judge.ts'
import { addRanks, printFigures, type JudgedQuestion } from './judged-set.ts'

interface Sample {
  sample_id: string
  /** `session_1` has the turns of the first session, `session_1_date_time` its time; and so on. */
  conversation: Record<string, string | Array<{ speaker: string; text: string }>>
  qa: Array<{ question: string; evidence?: string[]; category: number }>
}

const kinds = ['', 'multi-hop', 'temporal', 'open-domain', 'single-hop', 'adversarial']

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('Name the file locomo10.json.')
const samples = JSON.parse(readFileSync(file, 'utf8')) as Sample[]
const folder = mkdtempSync(join(tmpdir(), 'rockpool-locomo-'))
try {
  const written = samples.map((sample) => ({ sources: sourcesOf(sample), questions: questionsOf(sample) }))
  const each = new Map<string, number[]>()
  for (const { sources, questions } of written)
    await withSearch(sources, (_byWords, shipped) => addRanks(each, questions, shipped))
  console.log(`each conversation alone\n${printFigures(each)}`)
  const all = new Map<string, number[]>()
  await withSearch(
    written.flatMap(({ sources }) => sources),
    (_byWords, shipped) =>
      addRanks(
        all,
        written.flatMap(({ questions }) => questions),
        shipped,
      ),
  )
  console.log(`\nall together\n${printFigures(all)}`)
} finally {
  rmSync(folder, { recursive: true })
}

/** A transcript for each session, every turn with the name of its speaker. */
function sourcesOf({ sample_id: id, conversation }: Sample): SearchSource[] {
  mkdirSync(join(folder, id), { recursive: true })
  return Object.entries(conversation).flatMap(([name, turns]) => {
    if (!Array.isArray(turns)) return []
    const path = join(folder, id, `${name}.jsonl`)
    const time = conversation[`${name}_date_time`]
    const at = timeOf(typeof time === 'string' ? time : '')
    const lines = turns.map(({ speaker, text }, i) => {
      const role = speaker === conversation['speaker_a'] ? 'user' : 'assistant'
      const content = [{ type: 'text', text: `${speaker}: ${text}` }]
      const timestamp = new Date(at + i * 1_000).toISOString()
      return `${JSON.stringify({ type: role, message: { role, content }, timestamp })}\n`
    })
    writeFileSync(path, lines.join(''))
    return [{ kind: 'native' as const, path, sessionId: `${id} ${name}` }]
  })
}

/** `1:56 pm on 8 May, 2023`. */
function timeOf(text: string): number {
  const [, hour = '12', minute = '0', half = 'am', date = '1 January, 2023'] =
    /(\d+):(\d+) (am|pm) on (.*)/.exec(text) ?? []
  return (
    Date.parse(`${date} 00:00 UTC`) +
    ((Number(hour) % 12) + (half === 'pm' ? 12 : 0)) * 3_600_000 +
    Number(minute) * 60_000
  )
}

/** `D3:11` is turn 11 of session 3. Questions without evidence cannot be judged. */
function questionsOf({ sample_id: id, qa }: Sample): JudgedQuestion[] {
  return qa.flatMap(({ question, evidence = [], category }) => {
    const sessions = evidence.flatMap((place) => [...place.matchAll(/D(\d+):/g)].map(([, number]) => number!))
    const sessionIds = [...new Set(sessions)].map((number) => `${id} session_${number}`)
    return sessionIds.length === 0 ? [] : [{ kind: kinds[category] ?? 'other', text: question, sessionIds }]
  })
}
