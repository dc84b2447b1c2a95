// The current activity of a coding session: the text that Claude is writing, and for how long the turn has been running.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { CodingRow } from '../data.ts'
import { visible } from '../format.ts'
import { useGateway } from '../live.ts'
import type { NamedCard } from '../read-cards.ts'

/** The unfinished text as the last card; none once the transcript has it. */
export function useWriting(coding: CodingRow | undefined, cards: NamedCard[]): NamedCard[] {
  const text = useText(coding?.id)
  const begin = text.trim().slice(0, 80)
  const isWritten = useMemo(
    () => cards.slice(-8).some(({ card }) => card.kind === 'text' && card.text.trimStart().startsWith(begin)),
    [cards, begin],
  )
  return useMemo(
    () =>
      begin === '' || isWritten
        ? []
        : [{ key: 'writing', isFirstOfRecord: true, card: { kind: 'text' as const, at: 0, text } }],
    [text, begin, isWritten],
  )
}

/** The pieces of the block that Claude is writing, or has just written. */
function useText(id: string | undefined): string {
  const gateway = useGateway()
  const [text, setText] = useState('')
  useEffect(() => {
    setText('')
    if (id === undefined) return undefined
    let isWhole = true
    let isGone = false
    // The beginning of a block that was being written when the page was opened.
    void gateway
      .call('coding.output', { session: id, lines: 1 })
      .then(({ writing }) => {
        if (isGone || writing === undefined) return
        isWhole = false
        // It has the pieces that arrived meanwhile.
        setText(writing)
      })
      // Without it, the text starts with the next piece.
      .catch(() => undefined)
    const add = (piece: string): void => {
      const isNew = isWhole
      isWhole = false
      setText((before) => (isNew ? piece : before + piece))
    }
    const stop = gateway.listen(
      'coding',
      { id },
      {
        event(event) {
          if (event.type === 'coding-writing') add(event.text)
          if (event.type === 'coding-output') isWhole = true
        },
        gap: () => undefined,
      },
    )
    return () => {
      isGone = true
      stop()
    }
  }, [gateway, id])
  return text
}

/** A spinner, the time since the last prompt, and the current activity. */
export function Working({ coding, cards }: { coding: CodingRow; cards: NamedCard[] }) {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  const prompt = cards.findLast(({ card }) => card.kind === 'prompt')
  const since = Math.max(prompt?.card.at ?? 0, coding.startedAt ?? coding.createdAt)
  if (coding.lifecycle === 'queued') {
    return <p class="at-work faint">Queued: it starts when a place is free.</p>
  }
  return (
    <p class="at-work" role="status">
      <span class="spinner" aria-hidden="true" />
      <strong>Working</strong> <span class="number">{elapsed(Date.now() - since)}</span>{' '}
      <span class="faint doing">{visible(coding.doing ?? '')}</span>
    </p>
  )
}

function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
