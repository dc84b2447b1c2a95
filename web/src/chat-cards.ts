// A session's transcript in the same cards as a Claude Code session's, and the notices that came between.
import type { TranscriptMessage } from '../../src/domain/transcript.ts'
import { parseReplyDirectives } from '../../src/replies/directives.ts'
import type { Card, Notice } from './data.ts'

export interface Entry {
  type: string
  id: string
  timestamp: string
  message?: TranscriptMessage
}

export type ChatItem = { id: string; at: number; card: Card } | { id: string; at: number; notice: Notice }

/** In the order in which it happened. */
export function chatItems(entries: Entry[], notices: Notice[]): ChatItem[] {
  const said = entries.flatMap((entry) =>
    cardsOf(entry).map((card, i) => ({ id: `${entry.id}${i}`, at: card.at, card })),
  )
  const told = notices.map((notice) => ({ id: notice.id, at: notice.at, notice }))
  return [...said, ...told].sort((a, b) => a.at - b.at)
}

/** Where the message is that an address names: by its id, or the first one at or after a time (`@` and milliseconds). */
export function placeInChat(items: ChatItem[], at: string): number {
  const time = /^@(\d+)$/.exec(at)?.[1]
  if (time !== undefined) return items.findIndex((item) => item.at >= Number(time))
  return items.findIndex((item) => 'card' in item && item.card.uuid === at)
}

function cardsOf({ type, id, timestamp, message }: Entry): Card[] {
  const about = { uuid: id, at: Date.parse(timestamp) || 0 }
  if (type === 'compaction') return [{ ...about, kind: 'compaction', text: '' }]
  if (message?.role === 'user') return [{ ...about, kind: 'prompt', text: textOf(message.content) }]
  if (message?.role === 'toolResult') {
    const { toolCallId: toolUseId, isError, content } = message
    return [{ ...about, kind: 'result', toolUseId, isError, text: textOf(content) }]
  }
  if (message?.role !== 'assistant') return []
  const failed = message.errorMessage
  return [
    ...message.content.flatMap((block): Card[] => {
      if (block.type === 'text')
        return block.text.trim() ? [{ ...about, kind: 'text', text: wordsOf(block.text) }] : []
      if (block.type === 'thinking') return [{ ...about, kind: 'thinking', text: block.thinking }]
      const tool = { name: block.name, input: block.arguments }
      return [{ ...about, kind: 'tool', text: '', tool, toolUseId: block.id }]
    }),
    ...(failed ? [{ ...about, kind: 'notice' as const, text: failed }] : []),
  ]
}

/** What an answer says, without the directives that it holds for Rockpool. */
export function wordsOf(text: string): string {
  return parseReplyDirectives(text).text
}

function textOf(content: string | Array<{ type: 'text'; text: string } | { type: 'image' }>): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : '[picture]')).join('\n')
}
