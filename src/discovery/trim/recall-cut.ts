// Gives back what a trimmed copy of a session left out, word for word, from the original transcript.
import { RockpoolError } from '../../domain/errors.ts'
import { withJoinedPrompt } from '../../domain/joined-prompt.ts'
import { isRecord } from '../../domain/json.ts'
import type { JsonRecord, LongRecords } from '../../store/transcripts/long-records.ts'
import { blocksIn, textIn } from '../cards.ts'
import { handlePattern } from './plan-trim.ts'
import { withRecords } from './write-trim.ts'

export interface RecalledCut {
  /** Characters from `from` on, at most as many as wanted. Images are in `images`. */
  text: string
  from: number
  /** Continue there; absent at the end. */
  next?: number
  images: Array<{ mediaType: string; data: string }>
}

interface CutHandle {
  /** The beginning of the id of the original session. */
  session: string
  /** The beginning of the uuid of the record. */
  record: string
  block: number
}

export function parseHandle(handle: string): CutHandle {
  const [, session, record, block] = handlePattern.exec(handle.trim()) ?? []
  if (session === undefined)
    throw new RockpoolError(
      'input-invalid',
      `${JSON.stringify(handle.slice(0, 80))} is not the handle of a cut.`,
      {
        hint: 'Copy the handle from the note in the conversation.',
      },
    )
  return { session, record: record!, block: Number(block) }
}

/** Reads the cut in the transcript of the original session. */
export async function recallCut(
  filePath: string,
  handle: CutHandle,
  { from, limit }: { from: number; limit: number },
): Promise<RecalledCut> {
  return withRecords(filePath, async (records) => {
    for await (const record of records.read()) {
      if (!String(record['uuid']).startsWith(handle.record)) continue
      const { message } = withJoinedPrompt(record)
      const block = isRecord(message) ? blocksIn(message['content'])[handle.block] : undefined
      if (block) return contentOf(records, block, from, limit)
    }
    throw new RockpoolError('not-found', `${filePath} has no record ${handle.record}.`)
  })
}

function contentOf(records: LongRecords, block: JsonRecord, from: number, limit: number): RecalledCut {
  const { content } = block
  const inside = block['type'] === 'image' ? [block] : blocksIn(content)
  const texts = typeof content === 'string' ? [content] : inside.flatMap((one) => textIn(one['text']) ?? [])
  const { text, isWhole } = pageOf(piecesOf(records, texts), from, limit)
  const images = from === 0 ? inside.flatMap((one) => imageIn(records, one)) : []
  return { text, from, next: isWhole ? undefined : from + text.length, images }
}

function* piecesOf(records: LongRecords, texts: string[]): Generator<string> {
  for (const [i, text] of texts.entries()) {
    if (i > 0) yield '\n'
    yield* records.textOf(text)
  }
}

/** A part of a long text, of which only that part is held. */
function pageOf(pieces: Iterable<string>, from: number, limit: number): { text: string; isWhole: boolean } {
  const page: string[] = []
  let at = 0
  for (const piece of pieces) {
    const part = piece.slice(Math.max(0, from - at), Math.max(0, from + limit - at))
    if (part !== '') page.push(part)
    at += piece.length
    if (at > from + limit) return { text: page.join(''), isWhole: false }
  }
  return { text: page.join(''), isWhole: true }
}

function imageIn(records: LongRecords, block: JsonRecord): RecalledCut['images'] {
  const source = isRecord(block['source']) ? block['source'] : {}
  const [mediaType, data] = [textIn(source['media_type']), textIn(source['data'])]
  if (block['type'] !== 'image' || mediaType === undefined || data === undefined) return []
  return [{ mediaType, data: [...records.textOf(data)].join('') }]
}
