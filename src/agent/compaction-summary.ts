// Claude sends the summary of a compaction as the message after it. The two are joined into one event. A file of its own because
// claude-events.ts is at the limit of length.
import type { SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import type { TurnEvent } from '../domain/turn.ts'

/** Only events matter here. */
interface Item {
  is: string
  event?: TurnEvent
}

/** Delays the end of a compaction until the next message. */
export function withSummaries<T extends Item>(
  read: (message: SDKMessage) => T[],
): (message: SDKMessage) => T[] {
  let held: T[] = []
  return (message) => {
    const summary = held.length > 0 ? summaryIn(message) : undefined
    const before =
      summary === undefined ? held : held.map((item) => ({ ...item, event: { ...item.event, summary } }))
    const items = read(message)
    held = items.filter(isCompactionEnd)
    return [...before, ...items.filter((item) => !isCompactionEnd(item))]
  }
}

function isCompactionEnd({ event }: Item): boolean {
  return event?.type === 'compaction' && event.phase === 'end'
}

/** The summary itself, without the text that Claude Code adds for the model. */
function summaryIn(message: SDKMessage): string | undefined {
  if (message.type !== 'user' || !('isSynthetic' in message) || !message.isSynthetic) return undefined
  const { content } = message.message
  const text =
    typeof content === 'string'
      ? content
      : content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  const from = text.indexOf(beginning)
  const to = text.indexOf(end)
  return text.slice(from < 0 ? 0 : from + beginning.length, to < 0 ? undefined : to).trim() || undefined
}

const beginning = '\nSummary:\n'
const end = '\n\nIf you need specific details from before compaction'
