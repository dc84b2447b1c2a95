// The output that Rockpool recorded of a coding session, for what no transcript of Claude Code has.
import { useMemo } from 'preact/hooks'
import type { Card, CodingRow } from '../data.ts'
import { visible } from '../format.ts'
import { useLive } from '../live.ts'
import type { NamedCard } from '../read-cards.ts'
import { Conversation } from './conversation.tsx'
import type { ConversationProps } from './conversation.tsx'
import { VirtualList } from './virtual-list.tsx'
import { Working } from './working.tsx'

const mostLines = 2000

function useOutput({ id }: CodingRow): string[] {
  const output = useLive(
    'coding.output',
    { session: id, lines: mostLines },
    (event) => ['coding-output', 'coding-changed'].includes(event.type) && 'id' in event && event.id === id,
  )
  const lines = output.data?.lines
  return useMemo(() => lines ?? [], [lines])
}

/** Shown until Claude Code has written a transcript. */
export function Output({ coding }: { coding: CodingRow }) {
  const lines = useOutput(coding)
  return (
    <section class="conversation" aria-label="Output">
      <VirtualList items={lines} keyOf={(line, i) => `${i} ${line.length}`} label="Output">
        {(line) => <p class="card line">{visible(line)}</p>}
      </VirtualList>
      {coding.state === 'working' && <Working coding={coding} cards={[]} />}
    </section>
  )
}

/** True while the offline agent answers. It writes no transcript, so only Rockpool has its words. */
export function isOffline(coding: CodingRow | undefined): coding is CodingRow {
  return coding?.model === 'offline'
}

/** A conversation of Claude Code, followed by what the offline agent said in it. */
export function OfflineConversation({ of, ...props }: ConversationProps & { of: CodingRow }) {
  const lines = useOutput(of)
  const unwritten = useMemo(() => lines.map(cardOf), [lines])
  return <Conversation {...props} unwritten={unwritten} />
}

/** A recorded prompt begins with `> `. */
function cardOf(line: string, index: number): NamedCard {
  const isPrompt = line.startsWith('> ')
  const card: Card = { kind: isPrompt ? 'prompt' : 'text', at: 0, text: isPrompt ? line.slice(2) : line }
  return { key: `output ${index}`, isFirstOfRecord: true, card }
}
