// The transcript of a session as cards, like those of a Claude Code session, and the notices between them.
import type { AssistantMessage, TranscriptMessage } from '../../src/domain/transcript.ts'
import { parseDirectives } from '../../src/replies/compose.ts'
import type { Card, Notice } from './data.ts'
import { timeIn } from './route.ts'
import { partsOfCard } from './split-text.ts'
import type { CardPart } from './split-text.ts'

interface Entry {
  type: string
  id: string
  timestamp: string
  message?: TranscriptMessage
}

export type ChatItem = (CardPart & { key: string; at: number }) | { key: string; at: number; notice: Notice }

export function itemsOf(entry: Entry): ChatItem[] {
  return cardsOf(entry)
    .flatMap(partsOfCard)
    .map((part, i) => ({ ...part, key: `${entry.id} ${i}`, at: part.card.at }))
}

/** Messages and notices in the order of time. Notices from before the first loaded message are left out until it is loaded. */
export function inOrder(messages: ChatItem[], notices: Notice[], hasMore: boolean): ChatItem[] {
  const from = hasMore ? (messages[0]?.at ?? 0) : 0
  const recent = notices.filter(({ at }) => at >= from)
  const others = messages.filter((item) => !('card' in item) || !isCopyOf(recent, item.card))
  return [...others, ...recent.map((notice) => ({ key: notice.id, at: notice.at, notice }))].sort(
    (a, b) => a.at - b.at,
  )
}

/** The transcript has a copy of each notice, without its buttons and files: the notice itself is shown. */
function isCopyOf(notices: Notice[], { kind, text, at }: Card): boolean {
  const words = text.replace(writtenBy, '')
  return (
    kind === 'notice' && notices.some((notice) => notice.at <= at && words.startsWith(notice.text.trim()))
  )
}

/** The position of the message that the address names: by its id, or the first one at or after a time. */
export function placeInChat(items: ChatItem[], at: string, hasMore: boolean): number {
  const time = timeIn(at)
  if (time === undefined) return items.findIndex((item) => 'card' in item && item.card.uuid === at)
  const isInside = !hasMore || (items[0] !== undefined && items[0].at <= time)
  return isInside ? items.findIndex((item) => item.at >= time) : -1
}

const writtenBy = /^A (program|hook) wrote:\n\n/

/** A text of a program or a hook is neither the agent's nor the person's. */
function withWriter({ writer }: { writer?: string }, text: string): string {
  return writer === undefined ? text : `A ${writer} wrote:\n\n${text}`
}

function cardsOf({ type, id, timestamp, message }: Entry): Card[] {
  const about = { uuid: id, at: Date.parse(timestamp) || 0 }
  if (type === 'compaction') return [{ ...about, kind: 'compaction', text: '' }]
  if (message?.role === 'user')
    return [{ ...about, kind: 'prompt', text: withWriter(message, textOf(message.content)) }]
  if (message?.role === 'toolResult') {
    const { toolCallId: toolUseId, isError, content } = message
    return [{ ...about, kind: 'result', toolUseId, isError, text: textOf(content) }]
  }
  if (message?.role !== 'assistant') return []
  if (message.model === 'delivery-mirror')
    return [{ ...about, kind: 'notice', text: withWriter(message, textsOf(message)) }]
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
    ...(message.stopReason === 'aborted'
      ? [{ ...about, kind: 'notice' as const, text: 'Stopped before its end.' }]
      : []),
  ]
}

function textsOf({ content }: AssistantMessage): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

/** The text of an answer without its directives for Rockpool. */
export function wordsOf(text: string): string {
  return parseDirectives(text).text
}

function textOf(content: string | Array<{ type: 'text'; text: string } | { type: 'image' }>): string {
  if (typeof content === 'string') return content
  return content.map((block) => (block.type === 'text' ? block.text : '[picture]')).join('\n')
}
