// Claude's summary of a compaction comes as the message after it. The two are joined into one event.
import type { SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import type { TurnEvent } from '../domain/turn.ts'

/** One thing that a message says; only events matter here. */
interface Item {
  is: string
  event?: TurnEvent
}

/** Holds the end of a compaction back until the message after it. */
export function withSummaries<T extends Item>(
  read: (message: SDKMessage) => T[],
): (message: SDKMessage) => T[] {
  let held: T[] = []
  return (message) => {
    const summary = held.length > 0 ? summaryIn(message) : undefined
    const before = summary === undefined ? held : held.map((item) => withSummary(item, summary))
    const items = read(message)
    held = items.filter(isCompactionEnd)
    return [...before, ...items.filter((item) => !isCompactionEnd(item))]
  }
}

function isCompactionEnd({ event }: Item): boolean {
  return event?.type === 'compaction' && event.phase === 'end'
}

function withSummary<T extends Item>(item: T, summary: string): T {
  return { ...item, event: { ...item.event, summary } }
}

/** The summary itself, without the words that Claude Code puts around it for the model. */
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
