// Chats that watch a session: what each has seen, and what it has missed.
import type { CodingSession, OutputBlock } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'

type Parts = Pick<CodingParts, 'store' | 'notifications'>

/** Puts a session into a chat's foreground; gives what the chat has missed since it last looked. */
export async function bringToForeground(
  { store }: Parts,
  { id: codingId, lastSeq }: CodingSession,
  channel: string,
  lines: number,
): Promise<OutputBlock[]> {
  const watch = store.watches(codingId).find((each) => each.channel === channel)
  const blocks = watch
    ? withGap(watch.seenSeq, store.outputAfter(codingId, watch.seenSeq, 10_000))
    : store.lastOutput(codingId, lines)
  const seenSeq = blocks.at(-1)?.seq ?? watch?.seenSeq ?? lastSeq
  await store.setWatch({ codingId, channel, seenSeq, foreground: true })
  return blocks
}

export async function putToBackground(
  { store, notifications }: Parts,
  codingId: string,
  channel: string,
): Promise<void> {
  await notifications.flush(codingId)
  const seenSeq = store.watches(codingId).find((each) => each.channel === channel)?.seenSeq ?? 0
  await store.setWatch({ codingId, channel, seenSeq, foreground: false })
}

/** What the chat missed may be older than what is kept; then it is told how much is gone. */
function withGap(seenSeq: number, blocks: OutputBlock[]): OutputBlock[] {
  const [first] = blocks
  const gone = first ? first.seq - seenSeq - 1 : 0
  if (!first || gone <= 0) return blocks
  const text = `(${gone} earlier blocks are no longer kept)`
  return [{ seq: first.seq - 1, at: first.at, kind: 'notice', text }, ...blocks]
}
