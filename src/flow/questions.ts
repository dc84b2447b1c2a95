// What people ask in a turn: as one text, and once in the transcript, also if the turn is taken again. For that each entry has
// the marks of the messages whose text it is, and a message that may have been in an earlier turn is looked up by its mark.
import { createHash } from 'node:crypto'
import type { TranscriptEntry } from '../domain/transcript.ts'
import { QUEUED_MESSAGES_MARKER } from '../inbound/message-text.ts'
import type { TranscriptRef, TranscriptStore } from '../store/session-store.ts'
import type { Input, WaitingInput } from '../store/work-store.ts'

/** An input with its text for the transcript. */
export interface Question {
  input: WaitingInput
  text: string
}

const pageSize = 50
/** Another machine may have accepted the input, and the clocks of machines differ. */
const clockDifferenceMs = 3_600_000

/** Identifies an input in a transcript, until the person edits the text; names neither the chat nor the message. */
export function markOf({ key, message }: Pick<Input, 'key' | 'message'>): string {
  return createHash('sha256').update(`${key}\n${message.text}`).digest('base64url').slice(0, 16)
}

/** The entries of the transcript that have the text of these inputs, in their order. */
export async function entriesOf(
  inputs: readonly WaitingInput[],
  transcripts: TranscriptStore,
  ref: TranscriptRef,
): Promise<Map<WaitingInput, string>> {
  if (inputs.length === 0 || !(await transcripts.exists(ref))) return new Map()
  const since = Math.min(...inputs.map((input) => input.acceptedAt)) - clockDifferenceMs
  const entryIds = new Map<string, string>()
  for await (const entry of entriesSince(since, transcripts, ref))
    for (const mark of marksIn(entry)) entryIds.set(mark, entry.id)
  return new Map(
    inputs.flatMap((input) => {
      const entryId = entryIds.get(markOf(input))
      return entryId === undefined ? [] : [[input, entryId] as const]
    }),
  )
}

/** The entries since this time, page by page from the end, and some before it. */
async function* entriesSince(
  since: number,
  transcripts: TranscriptStore,
  ref: TranscriptRef,
): AsyncGenerator<TranscriptEntry> {
  let before: number | undefined
  do {
    const page = await transcripts.tail(ref, pageSize, before)
    yield* page.entries
    const [first] = page.entries
    before = first && Date.parse(first.timestamp) < since ? undefined : page.before
  } while (before !== undefined)
}

function marksIn(entry: TranscriptEntry): string[] {
  if (entry.type !== 'message' || entry.message.role !== 'user') return []
  // Another program may have written the entry.
  const { inputs } = entry.message as { inputs?: unknown }
  return Array.isArray(inputs) ? inputs.map(String) : []
}

/** Joins several waiting messages into one prompt. */
export function collectPrompt(texts: readonly string[], dropped: readonly string[] = []): string {
  const overflow = overflowText(dropped)
  if (texts.length === 1 && overflow === undefined) return texts[0]!
  const queued = texts.map((text, index) => `---\nQueued #${index + 1}\n${text}`)
  return [QUEUED_MESSAGES_MARKER, ...(overflow ? [overflow] : []), ...queued].join('\n\n')
}

/** The summary of messages for which the queue had no room. */
function overflowText(dropped: readonly string[]): string | undefined {
  if (dropped.length === 0) return undefined
  const heading = `[Queue overflow] Dropped ${dropped.length} message${dropped.length === 1 ? '' : 's'} due to cap.`
  return [heading, 'Summary:', ...dropped.map((text) => `- ${elide(text)}`)].join('\n')
}

function elide(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length <= 140 ? flat : `${flat.slice(0, 139).trimEnd().toWellFormed()}…`
}
