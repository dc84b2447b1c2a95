// A Claude transcript as a person reads it: prompts, answers, thoughts, tools and their results, one card each. Read
// from the end, in pieces, so that a very long session opens at once.
import { open } from 'node:fs/promises'
import { linesBackward } from '../store/transcript-lines.ts'

export interface Card {
  kind: 'prompt' | 'text' | 'thinking' | 'tool' | 'result' | 'compaction' | 'notice'
  /** Claude's uuid of the record; a fork may begin there. */
  uuid?: string
  /** Milliseconds since 1970; 0 when the record has none. */
  at: number
  text: string
  /** For `tool`: its name and input. */
  tool?: { name: string; input: Record<string, unknown> }
  /** Joins a tool to its result. */
  toolUseId?: string
  isError?: boolean
}

export interface CardPage {
  /** In the order in which they happened. */
  cards: Card[]
  /** Pass this to get what came before; absent at the beginning. */
  before?: number
}

const maxTextChars = 50_000

export async function cardsOf(filePath: string, limit: number, before?: number): Promise<CardPage> {
  const file = await open(filePath, 'r')
  try {
    const end = before ?? (await file.stat()).size
    const groups: Card[][] = []
    let count = 0
    let mark = end
    for await (const lines of linesBackward(file, end)) {
      for (const line of lines) {
        if (count >= limit) return { cards: groups.reverse().flat(), before: mark }
        const cards = line.content ? cardsOfLine(line.content.toString('utf8')) : []
        if (cards.length > 0) groups.push(cards)
        count += cards.length
        mark = line.offset
      }
    }
    return { cards: groups.reverse().flat() }
  } finally {
    await file.close()
  }
}

type Fields = Record<string, unknown>

export function cardsOfLine(line: string): Card[] {
  const record = parse(line)
  if (!record || record['isSidechain'] === true || record['isMeta'] === true) return []
  const about = { uuid: textIn(record['uuid']), at: Date.parse(String(record['timestamp'])) || 0 }
  if (record['type'] === 'system') return systemCard(record, about)
  if (record['type'] !== 'user' && record['type'] !== 'assistant') return []
  if (record['isCompactSummary'] === true) return []
  const content = (record['message'] as Fields | undefined)?.['content']
  const kind = record['type'] === 'user' ? 'prompt' : 'text'
  if (typeof content === 'string')
    return content.trim() === '' ? [] : [{ ...about, kind, text: clip(content) }]
  return Array.isArray(content) ? content.flatMap((block: Fields) => blockCard(block, kind, about)) : []
}

function systemCard(record: Fields, about: Pick<Card, 'uuid' | 'at'>): Card[] {
  if (record['subtype'] === 'compact_boundary')
    return [{ ...about, kind: 'compaction', text: 'Context compacted' }]
  const text = textIn(record['content'])
  return record['subtype'] === 'api_error' && text ? [{ ...about, kind: 'notice', text: clip(text) }] : []
}

function blockCard(block: Fields, kind: 'prompt' | 'text', about: Pick<Card, 'uuid' | 'at'>): Card[] {
  switch (block['type']) {
    case 'text':
      return textIn(block['text'])?.trim() ? [{ ...about, kind, text: clip(String(block['text'])) }] : []
    case 'thinking':
      return textIn(block['thinking'])
        ? [{ ...about, kind: 'thinking', text: clip(String(block['thinking'])) }]
        : []
    case 'tool_use': {
      const input = (block['input'] ?? {}) as Fields
      const name = textIn(block['name']) ?? 'tool'
      return [
        {
          ...about,
          kind: 'tool',
          text: '',
          tool: { name, input: clipValues(input) },
          toolUseId: textIn(block['id']),
        },
      ]
    }
    case 'tool_result':
      return [
        {
          ...about,
          kind: 'result',
          text: clip(resultText(block['content'])),
          toolUseId: textIn(block['tool_use_id']),
          isError: block['is_error'] === true,
        },
      ]
    default:
      return []
  }
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((block: Fields) => textIn(block['text']) ?? `[${String(block['type'])}]`).join('\n')
}

function clipValues(input: Fields): Fields {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, typeof value === 'string' ? clip(value) : value]),
  )
}

function clip(text: string): string {
  return text.length <= maxTextChars ? text : `${text.slice(0, maxTextChars).toWellFormed()}\n… (cut)`
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function parse(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined
  } catch {
    // Damaged lines are counted and reported by `cc info`; there is nothing of them to show.
    return undefined
  }
}
