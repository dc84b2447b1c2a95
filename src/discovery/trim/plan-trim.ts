// Decides what a trimmed copy of a session leaves out: old tool results, reads of a file that was read again later, images and
// long outputs. Prompts, answers, edits and the last turns stay whole.
import { withJoinedPrompt } from '../../domain/joined-prompt.ts'
import { isRecord } from '../../domain/json.ts'
import { trimRules, type TrimCut, type TrimLevel, type TrimRule, type TrimSaving } from '../../domain/trim.ts'
import { ChainReader } from '../../store/transcripts/claude-chain.ts'
import type { JsonRecord, LongRecords } from '../../store/transcripts/long-records.ts'
import { blocksIn, textIn } from '../cards.ts'

/** A block of a record that the copy has a note for. */
export interface PlannedCut extends TrimCut {
  uuid: string
  /** The place of the block in the message. */
  block: number
  /** Only its images are cut; its text is short. */
  onlyImages: boolean
}

export interface TrimPlan extends TrimSaving {
  planned: PlannedCut[]
  /** The last answer: its recorded usage makes Claude Code believe in the old size. */
  lastMessageId: string | undefined
}

const charsPerToken = 3.6
const tokensOfImage = 1_500
/** A read that a later one replaces is worth a note from this length on. */
const minSupersededChars = 400

/** Something that could be cut. */
interface Part {
  uuid: string
  block: number
  turn: number
  toolUseId: string | undefined
  chars: number
  images: number
  tokens: number
  isError: boolean
}

interface Call {
  name: string
  input: JsonRecord
}

export async function planTrim(sessionId: string, records: LongRecords, level: TrimLevel): Promise<TrimPlan> {
  const reader = new PartsReader(records)
  for await (const record of records.read()) reader.add(record)
  const { parts, calls, lastMessageId, contextTokens, isOnlyOne } = reader.end()
  const kept = keptParts(parts, trimRules[level])
  const superseded = supersededParts(parts, calls)
  const planned = parts.flatMap((part): PlannedCut[] => {
    if (kept.has(part)) return []
    const why = reasonOf(part, superseded.has(part), trimRules[level])
    if (why === undefined) return []
    const { uuid, block, chars, tokens } = part
    const handle = handleOf(sessionId, uuid, block)
    // What its handle would not bring back is not cut.
    if (!handlePattern.test(handle) || !isOnlyOne(uuid)) return []
    const what = nameOf(part.toolUseId === undefined ? undefined : calls.get(part.toolUseId))
    return [{ handle, what, why, chars, tokens, uuid, block, onlyImages: why === 'image' }]
  })
  const saved = planned.reduce((sum, { tokens }) => sum + tokens - tokensOfNote, 0)
  const tokensAfter = Math.max(Math.round(contextTokens * smallestShare), contextTokens - Math.max(0, saved))
  return { level, planned, lastMessageId, cuts: planned.length, tokensBefore: contextTokens, tokensAfter }
}

const tokensOfNote = 70
/** Estimates are never better than this: Claude Code's own prompt, the prompts and the answers stay. */
const smallestShare = 0.05

/** `3f2a0b1c-9d4e.7c9d2e11-5a3b.0`: the session, the record and the block. */
function handleOf(sessionId: string, uuid: string, block: number): string {
  return `${sessionId.slice(0, 13)}.${recordOf(uuid)}.${block}`
}

function recordOf(uuid: string): string {
  return uuid.slice(0, 13)
}

/** The beginning of the id of the original session, the beginning of the uuid of the record, the number of the block. */
export const handlePattern = /^([0-9a-f-]{13})\.([0-9a-f-]{13})\.(\d{1,6})$/i

/** Reads the parts that a resume sends: on the path of the conversation, after the last compaction. */
class PartsReader {
  readonly #records: LongRecords
  readonly #chain = new ChainReader()
  readonly #calls = new Map<string, Call>()
  #parts: Part[] = []
  #turn = 0
  #lastMessageId: string | undefined
  #contextTokens = 0
  /** How many records have an id with this beginning, which is the part of it in a handle. */
  readonly #namesakes = new Map<string, number>()

  constructor(records: LongRecords) {
    this.#records = records
  }

  add(record: JsonRecord): void {
    this.#chain.add(record)
    const { type, uuid, message } = withJoinedPrompt(record)
    if (typeof uuid === 'string')
      this.#namesakes.set(recordOf(uuid), (this.#namesakes.get(recordOf(uuid)) ?? 0) + 1)
    if (record['isSidechain'] === true || typeof uuid !== 'string' || !isRecord(message)) return
    const blocks = blocksIn(message['content'])
    if (type === 'assistant') this.#answer(record, message, blocks)
    if (type !== 'user') return
    const mayBegin = record['type'] === 'user' && record['isMeta'] !== true
    if (mayBegin && !blocks.some((block) => block['type'] === 'tool_result')) this.#turn++
    blocks.forEach((block, i) => this.#block(uuid, block, i))
  }

  end() {
    const { links, reached } = this.#chain.end()
    const path = [...links.values()].filter((link) => reached.has(link.uuid))
    const since = path.findLast((link) => link.isCompaction)?.index ?? -1
    const sent = new Set(path.filter((link) => link.index > since).map((link) => link.uuid))
    const parts = this.#parts.filter((part) => sent.has(part.uuid))
    const [calls, lastMessageId] = [this.#calls, this.#lastMessageId]
    const isOnlyOne = (uuid: string): boolean => this.#namesakes.get(recordOf(uuid)) === 1
    return { parts, calls, lastMessageId, contextTokens: this.#contextTokens, isOnlyOne }
  }

  #answer(record: JsonRecord, message: JsonRecord, blocks: JsonRecord[]): void {
    for (const block of blocks) {
      const id = textIn(block['id'])
      if (block['type'] !== 'tool_use' || id === undefined) continue
      this.#calls.set(id, {
        name: String(block['name']),
        input: isRecord(block['input']) ? block['input'] : {},
      })
    }
    const context = contextOf(message['usage'])
    if (context === 0 || record['isApiErrorMessage'] === true) return
    this.#lastMessageId = textIn(message['id'])
    this.#contextTokens = context
  }

  #block(uuid: string, block: JsonRecord, i: number): void {
    const isResult = block['type'] === 'tool_result'
    if (!isResult && block['type'] !== 'image') return
    const inside = isResult ? blocksIn(block['content']) : [block]
    const images = inside.filter(({ type }) => type === 'image')
    const imageChars = images.reduce((sum, image) => sum + this.#records.lengthOf(image), 0)
    const chars = this.#records.lengthOf(isResult ? block['content'] : block) - imageChars
    this.#parts.push({
      uuid,
      block: i,
      turn: this.#turn,
      toolUseId: textIn(block['tool_use_id']),
      chars,
      images: images.length,
      tokens: Math.round(chars / charsPerToken) + images.length * tokensOfImage,
      isError: block['is_error'] === true,
    })
  }
}

/** Tokens of the context that an answer was made from. */
export function contextOf(usage: unknown): number {
  if (!isRecord(usage)) return 0
  const counts = contextFields.map((name) => usage[name])
  return counts.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0)
}

/** The largest first, as a rule. */
export const contextFields = [
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'input_tokens',
] as const

/** The last results, and those of the last turns as far as there is room. */
function keptParts(parts: Part[], rule: TrimRule): Set<Part> {
  const kept = new Set(parts.filter((part) => part.toolUseId !== undefined).slice(-rule.keepResults))
  const firstTurn = (parts.at(-1)?.turn ?? 0) - rule.keepTurns + 1
  let tokens = 0
  for (const part of parts.toReversed()) {
    tokens += part.tokens
    if (part.turn < firstTurn || tokens > rule.keepTokens) break
    kept.add(part)
  }
  return kept
}

/** Reads of files that a later call read again, at least as far, or wrote as a whole. */
function supersededParts(parts: Part[], calls: Map<string, Call>): Set<Part> {
  const superseded = new Set<Part>()
  const later = new Set<string>()
  for (const part of parts.toReversed()) {
    const call = calls.get(part.toolUseId ?? '')
    const path = call && textIn(call.input['file_path'])
    if (path === undefined || part.isError) continue
    const { offset, limit } = call!.input
    const range = `${path} ${JSON.stringify([offset, limit])}`
    if (call!.name === 'Read' && (later.has(path) || later.has(range))) superseded.add(part)
    if (call!.name === 'Read') later.add(offset === undefined && limit === undefined ? path : range)
    if (call!.name === 'Write') later.add(path)
  }
  return superseded
}

function reasonOf(part: Part, isSuperseded: boolean, rule: TrimRule): TrimCut['why'] | undefined {
  if (isSuperseded && part.chars >= minSupersededChars) return 'superseded'
  if (part.toolUseId !== undefined && part.chars >= rule.minChars) return 'old'
  return part.images > 0 ? 'image' : undefined
}

/** `Read src/app.ts`: the tool and its most telling input. */
function nameOf(call: Call | undefined): string {
  if (!call) return 'image of a prompt'
  const telling = ['file_path', 'command', 'pattern', 'path', 'url', 'query', 'description', 'prompt']
  const input = telling.map((name) => call.input[name]).find((value) => typeof value === 'string')
  const line = (typeof input === 'string' ? input : '').replace(/\s+/g, ' ').trim()
  return `${call.name} ${line.length > 80 ? `${line.slice(0, 79).toWellFormed()}…` : line}`.trim()
}
