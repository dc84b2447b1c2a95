// Writes a trimmed copy of a session as a new session, which Claude Code resumes like any other. The original is only read. The
// records keep their order, ids and parents, and every tool call keeps its result, so the chain of the conversation stays valid.
import { closeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DiscoveredSession, Discovery } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { isRecord } from '../../domain/json.ts'
import type { TrimLevel } from '../../domain/trim.ts'
import { createFileAtomically } from '../../store/disk/atomic-file.ts'
import { openForeign } from '../../store/disk/foreign-file.ts'
import { LongRecords, type JsonRecord } from '../../store/transcripts/long-records.ts'
import { blocksIn } from '../cards.ts'
import { contextFields, planTrim, type PlannedCut, type TrimPlan } from './plan-trim.ts'

/** Writes a trimmed copy of a session as session `newId`. Undefined if there is nothing to cut; then there is no copy. */
export async function trimSession(
  discovery: Pick<Discovery, 'get' | 'refresh'>,
  id: string,
  level: TrimLevel,
  newId: string,
): Promise<TrimmedCopy | undefined> {
  const session = await discovery.get(id)
  if (session.status === 'busy')
    throw new RockpoolError('busy', `${session.sessionId} is working; its file still changes.`, {
      hint: 'Trim it when it waits or has ended.',
    })
  const copy = await writeTrimmed(session, level, newId)
  await discovery.refresh()
  return copy
}

type Original = Pick<DiscoveredSession, 'sessionId' | 'filePath' | 'title' | 'firstMessage'>

interface TrimmedCopy extends TrimPlan {
  sessionId: string
  filePath: string
}

/** The results that a trim would cut. */
export function previewTrim(
  { sessionId, filePath }: Pick<Original, 'sessionId' | 'filePath'>,
  level: TrimLevel,
): Promise<TrimPlan> {
  return withRecords(filePath, (records) => planTrim(sessionId, records, level))
}

/** Writes the copy beside the original, unless an earlier attempt has written it already. */
export function writeTrimmed(
  original: Original,
  level: TrimLevel,
  newId: string,
): Promise<TrimmedCopy | undefined> {
  return withRecords(original.filePath, async (records) => {
    const plan = await planTrim(original.sessionId, records, level)
    if (plan.cuts === 0) return undefined
    const filePath = join(dirname(original.filePath), `${newId}.jsonl`)
    await createFileAtomically(filePath, inBatches(copyOf(records, plan, original, newId)))
    return { ...plan, sessionId: newId, filePath }
  })
}

export async function withRecords<T>(
  filePath: string,
  use: (records: LongRecords) => Promise<T>,
): Promise<T> {
  const fd = openForeign(filePath)
  try {
    return await use(new LongRecords(fd))
  } finally {
    closeSync(fd)
  }
}

/** Records without an id that the copy needs: its tag names the agent that owns it. Requests, costs and snapshots of files belong
 *  to the original; a rewind with snapshots whose files are missing would delete files. */
const keptBookkeeping = new Set(['tag', 'mode', 'permission-mode', 'worktree-state', 'agent-name'])

async function* copyOf(
  records: LongRecords,
  plan: TrimPlan,
  { sessionId, title, firstMessage }: Original,
  newId: string,
): AsyncGenerator<string | Buffer> {
  const cuts = Map.groupBy(plan.planned, ({ uuid }) => uuid)
  for await (const record of records.read()) {
    const { uuid, type } = record
    if (typeof uuid !== 'string' && !keptBookkeeping.has(String(type))) continue
    const own = typeof uuid === 'string' ? { forkedFrom: { sessionId, messageUuid: uuid } } : {}
    const changed = trimmed(record, cuts.get(String(uuid)) ?? [], plan)
    yield* records.line({ ...changed, sessionId: newId, ...own })
  }
  const customTitle = `${title ?? firstMessage.slice(0, 80).toWellFormed()} (trimmed)`
  yield* records.line({ type: 'custom-title', customTitle, sessionId: newId })
}

function trimmed(record: JsonRecord, cuts: PlannedCut[], plan: TrimPlan): JsonRecord {
  const { message, attachment } = record
  // A message that joined a turn.
  if (isRecord(attachment) && cuts.length > 0)
    return { ...record, attachment: { ...attachment, prompt: withNotes(attachment['prompt'], cuts) } }
  if (!isRecord(message)) return record
  if (message['id'] !== undefined && message['id'] === plan.lastMessageId)
    return { ...record, message: { ...message, usage: lowered(message['usage'], plan) } }
  if (cuts.length === 0) return record
  const content = withNotes(message['content'], cuts)
  // Without its own copy of a result, Claude Code does not believe that a file is still in the context.
  const { toolUseResult: _, ...rest } = record
  return { ...rest, message: { ...message, content } }
}

function withNotes(content: unknown, cuts: PlannedCut[]): JsonRecord[] {
  // A hostile record may have hundreds of thousands of blocks.
  const cutAt = new Map(cuts.map((cut) => [cut.block, cut]))
  return blocksIn(content).map((block, i) => {
    const cut = cutAt.get(i)
    return cut ? withNote(block, cut) : block
  })
}

function withNote(block: JsonRecord, cut: PlannedCut): JsonRecord {
  const text = { type: 'text', text: noteOf(cut) }
  if (block['type'] === 'image') return text
  if (!cut.onlyImages) return { ...block, content: text.text }
  const rest = blocksIn(block['content']).filter(({ type }) => type !== 'image')
  return { ...block, content: [...rest, text] }
}

/** One line, which the model reads in place of the cut. */
function noteOf({ what, why, chars, handle, onlyImages }: PlannedCut): string {
  const cut = onlyImages ? 'image' : `${chars} characters`
  const reason = why === 'superseded' ? '; a later call has the file' : ''
  return `[Cut by Rockpool: ${what} (${cut}${reason}). Get it back with recall_lost {"handle":"${handle}"} or \`rockpool sessions lost --handle ${handle}\`.]`
}

/** The usage of the last answer without what was cut: by it Claude Code decides whether to compact at once. */
function lowered(usage: unknown, { tokensBefore, tokensAfter }: TrimPlan): unknown {
  if (!isRecord(usage)) return usage
  const less = { ...usage }
  let left = tokensBefore - tokensAfter
  for (const name of contextFields) {
    const count = typeof less[name] === 'number' ? less[name] : 0
    const taken = Math.min(count, left)
    if (taken > 0) less[name] = count - taken
    left -= taken
  }
  return less
}

const batchBytes = 1 << 18

/** Larger pieces, so that a long transcript is not written in a hundred thousand steps. */
async function* inBatches(pieces: AsyncIterable<string | Buffer>): AsyncGenerator<Buffer> {
  let batch: Buffer[] = []
  let bytes = 0
  for await (const piece of pieces) {
    const buffer = typeof piece === 'string' ? Buffer.from(piece) : piece
    batch.push(buffer)
    bytes += buffer.length
    if (bytes < batchBytes) continue
    yield Buffer.concat(batch)
    batch = []
    bytes = 0
  }
  yield Buffer.concat(batch)
}
