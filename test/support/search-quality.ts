// A test set for search: sessions about hand-written topics, mixed with everyday chatter, and questions about them in
// other words (fixtures/search-quality/topics.txt). The same every time.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SearchSource } from '../../src/domain/search.ts'

export interface Topic {
  id: string
  said: Array<{ role: 'user' | 'assistant'; text: string }>
  questions: string[]
}

export function readTopics(): Topic[] {
  const text = readFileSync(new URL('../fixtures/search-quality/topics.txt', import.meta.url), 'utf8')
  return text
    .split(/^# /m)
    .filter(Boolean)
    .map((block) => {
      const [id = '', ...lines] = block.trim().split('\n')
      const starting = (mark: string): string[] => lines.filter((line) => line.startsWith(mark))
      return {
        id,
        said: lines
          .filter((line) => /^[ua]: /.test(line))
          .map((line) => ({ role: line.startsWith('u') ? 'user' : 'assistant', text: line.slice(3) })),
        questions: starting('? ').map((line) => line.slice(2)),
      }
    })
}

/** What is said in every session and says nothing about it. */
const chatter: Array<['user' | 'assistant', string]> = [
  ['user', 'Thanks, that was quick.'],
  ['assistant', 'You are welcome. Is there anything else?'],
  ['user', 'Please explain that once more, but shorter.'],
  ['assistant', 'In short: it works now, and nothing else has changed.'],
  ['user', 'Can you have another look at it tomorrow?'],
  ['assistant', 'Yes. I have written it down for tomorrow morning.'],
  ['user', 'Why did that happen at all?'],
  ['assistant', 'Nobody had thought of this case. I will keep an eye on it.'],
  ['user', 'I will show it to the others this afternoon.'],
  ['assistant', 'Good. Tell me what they say, then we can go on from there.'],
]

/** Writes a transcript for each topic; gives them as sources whose session is the topic. */
export function writeQualitySessions(folder: string, topics = readTopics()): SearchSource[] {
  mkdirSync(folder, { recursive: true })
  return topics.map((topic, at) => {
    const path = join(folder, `${topic.id}.jsonl`)
    writeFileSync(path, linesOf(topic, at).join(''))
    return { kind: 'native', path, sessionId: topic.id, repoPath: `/home/dev/${topic.id}` }
  })
}

function linesOf(topic: Topic, at: number): string[] {
  const said = topic.said.flatMap(({ role, text }, i) => {
    const [who, words] = chatter[(at * 3 + i * 2) % chatter.length]!
    return [lineOf(role, text, at), lineOf(who, words, at)]
  })
  return said
}

function lineOf(role: string, text: string, at: number): string {
  const timestamp = new Date(Date.UTC(2026, 9, 1, 8) + at * 3_600_000).toISOString()
  const content = role === 'user' ? text : [{ type: 'text', text }]
  return `${JSON.stringify({ type: role, message: { role, content }, timestamp })}\n`
}
