// The cards of a Claude transcript, read from the end, in pieces, so that a very long session opens at once.
import { open } from 'node:fs/promises'
import type { Card, CardPage } from '../domain/card.ts'
import { linesBackward } from '../store/transcript-lines.ts'
import { withoutMarker } from './origin-marker.ts'

const maxTextChars = 50_000

interface Wanted {
  limit: number
  before?: number
  /** With each record as it was written. */
  raw?: boolean
}

export async function cardsOf(filePath: string, { limit, before, raw }: Wanted): Promise<CardPage> {
  const file = await open(filePath, 'r')
  try {
    const end = before ?? (await file.stat()).size
    const groups: Card[][] = []
    let count = 0
    let mark = end
    for await (const lines of linesBackward(file, end)) {
      for (const line of lines) {
        if (count >= limit) return { cards: groups.reverse().flat(), before: mark }
        const text = line.content?.toString('utf8') ?? ''
        const cards = raw
          ? cardsOfLine(text).map((card) => ({ ...card, raw: clip(text) }))
          : cardsOfLine(text)
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
  if (typeof content === 'string') return saidCard(content, kind, about)
  return Array.isArray(content) ? content.flatMap((block: Fields) => blockCard(block, kind, about)) : []
}

function systemCard(record: Fields, about: Pick<Card, 'uuid' | 'at'>): Card[] {
  if (record['subtype'] === 'compact_boundary')
    return [{ ...about, kind: 'compaction', text: 'Context compacted' }]
  const text = textIn(record['content'])
  return record['subtype'] === 'api_error' && text ? [{ ...about, kind: 'notice', text: clip(text) }] : []
}

function saidCard(said: string, kind: 'prompt' | 'text', about: Pick<Card, 'uuid' | 'at'>): Card[] {
  const text = kind === 'prompt' ? withoutMarker(said) : said
  return text.trim() === '' ? [] : [{ ...about, kind, text: clip(text) }]
}

function blockCard(block: Fields, kind: 'prompt' | 'text', about: Pick<Card, 'uuid' | 'at'>): Card[] {
  switch (block['type']) {
    case 'text':
      return saidCard(textIn(block['text']) ?? '', kind, about)
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
