// The judged set: made sessions of coding work with questions of several kinds (judged.txt), the sessions with questions in
// other words that the tests use too, and the recorded sessions of the tests beside them. Nothing in src/ knows it.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { SearchSource } from '../../src/domain/search.ts'
import { readTopics, writeQualitySessions } from '../../test/support/search-quality.ts'

export interface JudgedQuestion {
  kind: string
  text: string
  /** The sessions that have the answer. */
  sessionIds: string[]
}

export interface Figures {
  questions: number
  /** Shares in percent. */
  hitAt1: number
  hitAt5: number
  /** Mean reciprocal rank. */
  mrr: number
}

/** Writes the sessions into the folder. */
export function writeJudgedSet(folder: string): { sources: SearchSource[]; questions: JudgedQuestion[] } {
  const made = readMade()
  const topics = readTopics()
  const recorded = globSync(join(import.meta.dirname, '../../test/fixtures/claude-code/projects/*/*.jsonl'))
  return {
    sources: [
      ...recorded.map((path) => ({ kind: 'native' as const, path, sessionId: basename(path, '.jsonl') })),
      ...writeQualitySessions(join(folder, 'topics'), topics),
      ...made.map((session) => writeMade(join(folder, 'made'), session)),
    ],
    questions: [
      ...topics.flatMap(({ id, questions }) =>
        questions.map((text) => ({ kind: 'paraphrase', text, sessionIds: [id] })),
      ),
      ...made.flatMap(({ questions }) => questions),
    ],
  }
}

interface MadeSession {
  id: string
  repoPath: string
  branch: string
  at: number
  said: Array<{ role: 'user' | 'assistant'; text: string }>
  questions: JudgedQuestion[]
}

function readMade(): MadeSession[] {
  const text = readFileSync(new URL('judged.txt', import.meta.url), 'utf8')
  return text
    .split(/^# /m)
    .filter(Boolean)
    .map((block) => {
      const [head = '', ...lines] = block.trim().split('\n')
      const [id = '', repoPath = '', branch = '', day = ''] = head.split(' | ')
      return {
        id,
        repoPath,
        branch,
        at: Date.parse(`${day}T09:00:00Z`),
        said: lines
          .filter((line) => /^[ua]: /.test(line))
          .map((line) => ({ role: line.startsWith('u') ? 'user' : 'assistant', text: line.slice(3) })),
        questions: lines
          .filter((line) => line.startsWith('? '))
          .map((line) => {
            const [, kind = '', asked = ''] = /^\? (\w+): (.*)$/.exec(line) ?? []
            return { kind, text: asked, sessionIds: [id] }
          }),
      }
    })
}

function writeMade(folder: string, { id, repoPath, branch, at, said }: MadeSession): SearchSource {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${id}.jsonl`)
  const lines = said.map(({ role, text }, i) => {
    const content = role === 'user' ? text : [{ type: 'text', text }]
    const timestamp = new Date(at + i * 60_000).toISOString()
    return `${JSON.stringify({ type: role, message: { role, content }, timestamp })}\n`
  })
  writeFileSync(path, lines.join(''))
  return { kind: 'native', path, sessionId: id, repoPath, branch }
}

/** Asks all questions and adds the rank of each right session, 0 if it was not found, by kind and to `all`. `find` gives the
 *  sessions of the hits, the best first. */
export async function addRanks(
  ranks: Map<string, number[]>,
  questions: JudgedQuestion[],
  find: (text: string) => Promise<string[]>,
): Promise<void> {
  for (const { kind, text, sessionIds } of questions) {
    const found = [...new Set(await find(text))]
    const rank = found.findIndex((id) => sessionIds.includes(id)) + 1
    for (const each of [kind, 'all']) ranks.set(each, [...(ranks.get(each) ?? []), rank])
  }
}

export function figuresOf(ranks: number[]): Figures {
  const within = (most: number): number =>
    (100 * ranks.filter((rank) => rank > 0 && rank <= most).length) / ranks.length
  const reciprocal = ranks.reduce((sum, rank) => sum + (rank > 0 ? 1 / rank : 0), 0)
  return { questions: ranks.length, hitAt1: within(1), hitAt5: within(5), mrr: reciprocal / ranks.length }
}

export function printFigures(ranks: Map<string, number[]>): string {
  const lines = [...ranks].map(([kind, found]) => {
    const { questions, hitAt1, hitAt5, mrr } = figuresOf(found)
    return [kind, questions, hitAt1.toFixed(1), hitAt5.toFixed(1), mrr.toFixed(3)].join('\t')
  })
  return ['kind\tquestions\thit@1\thit@5\tMRR', ...lines].join('\n')
}
