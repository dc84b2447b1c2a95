// The cards of a Claude transcript, read in pages from the end or around a message, so that a very long session opens at once.
import { statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Card, CardPage } from '../domain/transcript-views.ts'
import { attempt, RockpoolError } from '../domain/errors.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import { withJoinedPrompt } from '../domain/joined-prompt.ts'
import { withoutMarker, withoutTags } from '../domain/machine-text.ts'
import type { Usage } from '../domain/turn.ts'
import { readChain } from '../store/transcripts/claude-chain.ts'
import { linesBackward, linesForward, type Line } from '../store/transcripts/transcript-lines.ts'
import { openForeignHandle } from '../store/disk/foreign-file.ts'
import { countField } from './agents/contract.ts'
import { readPrompt } from './transcript-facts.ts'

type Fields = Record<string, unknown>

const maxTextChars = 50_000

export interface WantedCards {
  limit: number
  /** Cards before this mark of a page; without a mark, the last cards. */
  before?: number
  /** Cards after this mark of a page. */
  after?: number
  /** Cards around a message: its uuid, or its time as `@` and milliseconds. */
  around?: string
  /** With the line of each record. */
  raw?: boolean
  /** The transcript is a sub-agent's, in which every record is a sidechain. */
  sidechain?: boolean
}

export async function cardsOf(filePath: string, wanted: WantedCards): Promise<CardPage> {
  const { limit, before, after, around } = wanted
  const file = await openForeignHandle(filePath)
  try {
    if (around !== undefined) return await cardsAround(file, around, wanted)
    if (after !== undefined) return await cardsAfter(file, after, limit, wanted)
    // The mark may be of an earlier, longer file.
    const end = Math.min(before ?? Infinity, (await file.stat()).size)
    return await cardsBefore(file, end, limit, wanted)
  } finally {
    await file.close()
  }
}

/** Larger transcripts are shown without marks of rewound branches, which need the whole file: the page reads at every change of
 *  a session, and a new line must be on the screen at once. */
const maxChainBytes = 2 << 20

/** Marks the messages on a branch that was rewound: they are in the file, but a resume does not see them. */
export async function markRewound(filePath: string, page: CardPage): Promise<CardPage> {
  if (statSync(filePath).size > maxChainBytes) return page
  const { links, reached, leaf } = await readChain(filePath)
  // Notes may come after the last message.
  const isAfterLeaf = (uuid: string): boolean => {
    const passed = new Set<string>()
    let link = links.get(uuid)
    while (link?.kind === 'note' && link.parent !== undefined && !passed.has(link.uuid)) {
      passed.add(link.uuid)
      link = links.get(link.parent)
    }
    return link !== undefined && link === leaf
  }
  const isRewound = ({ uuid }: Card): boolean =>
    uuid !== undefined && links.has(uuid) && !reached.has(uuid) && !isAfterLeaf(uuid)
  return { ...page, cards: page.cards.map((card) => (isRewound(card) ? { ...card, isRewound: true } : card)) }
}

type How = Pick<WantedCards, 'raw' | 'sidechain'>

async function cardsBefore(file: FileHandle, end: number, limit: number, how: How): Promise<CardPage> {
  const groups: Card[][] = []
  let count = 0
  let mark = end
  for await (const lines of linesBackward(file, end)) {
    for (const line of lines) {
      if (count >= limit) return { cards: groups.reverse().flat(), before: mark }
      const cards = cardsIn(line, how)
      if (cards.length > 0) groups.push(cards)
      count += cards.length
      mark = line.offset
    }
  }
  return { cards: groups.reverse().flat() }
}

async function cardsAfter(file: FileHandle, start: number, limit: number, how: How): Promise<CardPage> {
  const cards: Card[] = []
  for await (const lines of linesForward(file, start)) {
    for (const line of lines) {
      if (cards.length >= limit) return { cards, after: line.offset }
      cards.push(...cardsIn(line, how))
    }
  }
  return { cards }
}

async function cardsAround(file: FileHandle, message: string, wanted: WantedCards): Promise<CardPage> {
  const place = await placeOf(file, message, wanted)
  if (place === undefined)
    throw new RockpoolError('not-found', `There is no message ${JSON.stringify(message)} in this session.`, {
      hint: 'Read it without `around`: that begins at its end.',
    })
  const half = Math.ceil(wanted.limit / 2)
  const { cards: earlier, before } = await cardsBefore(file, place, half, wanted)
  const { cards: later, after } = await cardsAfter(file, place, half, wanted)
  return { cards: [...earlier, ...later], before, after }
}

/** Where the record begins that has this uuid, or the first one at or after a time. */
async function placeOf(file: FileHandle, message: string, how: How): Promise<number | undefined> {
  const time = /^@(\d+)$/.exec(message)?.[1]
  const isIt = ({ uuid, at }: Card): boolean => (time === undefined ? uuid === message : at >= Number(time))
  for await (const lines of linesForward(file)) {
    for (const line of lines) {
      // Searching the bytes first avoids parsing nearly all records.
      if (time === undefined && line.content?.includes(message) !== true) continue
      if (cardsIn(line, how).some(isIt)) return line.offset
    }
  }
  return undefined
}

function cardsIn({ content, bytes }: Line, { raw, sidechain }: How): Card[] {
  if (content === undefined) {
    const megabytes = Math.round(bytes / (1 << 20))
    return [{ kind: 'notice', at: 0, text: `A record of ${megabytes} MB is too long to be shown.` }]
  }
  const text = content.toString('utf8')
  const cards = cardsOfLine(text, sidechain)
  return raw ? cards.map((card) => ({ ...card, raw: clip(text) })) : cards
}

function cardsOfLine(line: string, isSidechain = false): Card[] {
  const parsed = parseRecord(line)
  if (!parsed) return unreadableCard(line)
  const record = withJoinedPrompt(parsed)
  if ((record['isSidechain'] === true && !isSidechain) || record['isMeta'] === true) return []
  const about = { uuid: textIn(record['uuid']), at: Date.parse(String(record['timestamp'])) || 0 }
  if (record['type'] === 'system') return systemCard(record, about)
  if (record['type'] !== 'user' && record['type'] !== 'assistant') return []
  if (record['isCompactSummary'] === true) return []
  const content = (record['message'] as Fields | undefined)?.['content']
  const kind = record['type'] === 'assistant' ? 'text' : isFromProgram(record) ? 'notice' : 'prompt'
  if (typeof content === 'string') return textCard(content, kind, about, isSidechain)
  const subagent = subagentIn(record['toolUseResult'])
  return blocksIn(content)
    .flatMap((block) => blockCard(block, kind, about, isSidechain))
    .map((card) => (card.kind === 'result' && subagent !== undefined ? { ...card, subagent } : card))
}

/** Damaged lines are counted and reported by `cc info`; there is nothing of them to show. A record that is nested too deep is whole. */
function unreadableCard(line: string): Card[] {
  const isWhole = isRecord(attempt(() => JSON.parse(line) as unknown))
  return isWhole ? [{ kind: 'notice', at: 0, text: 'A record is nested too deep to be shown.' }] : []
}

/** Claude Code put it into the conversation, for a hook or a task in the background; no person typed it. */
function isFromProgram({ origin }: Fields): boolean {
  return isRecord(origin) && origin['kind'] === 'task-notification'
}

/** The id of the sub-agent whose answer this tool result is. */
export function subagentIn(toolUseResult: unknown): string | undefined {
  return isRecord(toolUseResult) ? textIn(toolUseResult['agentId']) : undefined
}

function systemCard(record: Fields, about: Pick<Card, 'uuid' | 'at'>): Card[] {
  if (record['subtype'] === 'compact_boundary')
    return [{ ...about, kind: 'compaction', text: 'Context compacted' }]
  const text = textIn(record['content'])
  return record['subtype'] === 'api_error' && text ? [{ ...about, kind: 'notice', text: clip(text) }] : []
}

type Said = 'prompt' | 'text' | 'notice'

function textCard(
  original: string,
  recorded: Said,
  about: Pick<Card, 'uuid' | 'at'>,
  isSidechain: boolean,
): Card[] {
  // Claude writes the prompts of a sub-agent, with any tags.
  const { kind, text } =
    recorded === 'prompt' && !isSidechain
      ? saidBy(withoutMarker(original))
      : { kind: recorded, text: original }
  return text.trim() === '' ? [] : [{ ...about, kind, text: clip(text) }]
}

const commandArguments = /<command-args>([\s\S]*?)<\/command-args>/
const terminalColours = /\u001b\[[\d;]*m/g

/** Rockpool's own words to a session whose request was answered while no process ran it (`promptAfterAnswer`). */
const afterRestart = /^Rockpool was restarted while (?:you waited for|your plan waited)/

/** A prompt by the rule that also counts prompts. The trace of a command, and what a program put in its place, is a notice. */
function saidBy(text: string): { kind: 'prompt' | 'notice'; text: string } {
  if (afterRestart.test(text)) return { kind: 'notice', text }
  const prompt = readPrompt(text)
  if (prompt.kind === 'prompt') return { kind: 'prompt', text: prompt.text }
  if (prompt.kind === 'command')
    return { kind: 'notice', text: `${prompt.text} ${commandArguments.exec(text)?.[1] ?? ''}`.trim() }
  return { kind: 'notice', text: withoutTags(text).replaceAll(terminalColours, '').trim() }
}

function blockCard(
  block: Fields,
  kind: Said,
  about: Pick<Card, 'uuid' | 'at'>,
  isSidechain: boolean,
): Card[] {
  switch (block['type']) {
    case 'text':
      return textCard(textIn(block['text']) ?? '', kind, about, isSidechain)
    case 'thinking': {
      const thoughts = textIn(block['thinking'])
      return thoughts ? [{ ...about, kind: 'thinking', text: clip(thoughts) }] : []
    }
    case 'tool_use': {
      const input = isRecord(block['input']) ? clipValues(block['input']) : {}
      const tool = { name: textIn(block['name']) ?? 'tool', input }
      return [{ ...about, kind: 'tool', text: '', tool, toolUseId: textIn(block['id']) }]
    }
    case 'tool_result': {
      const text = clip(resultText(block['content']))
      const toolUseId = textIn(block['tool_use_id'])
      return [{ ...about, kind: 'result', text, toolUseId, isError: block['is_error'] === true }]
    }
    default:
      return []
  }
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  return blocksIn(content)
    .map((block) => textIn(block['text']) ?? `[${String(block['type'])}]`)
    .join('\n')
}

function clipValues(input: Fields): Fields {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, typeof value === 'string' ? clip(value) : value]),
  )
}

/** A long text is cut: a page of cards must stay small. */
export function clip(text: string): string {
  return text.length <= maxTextChars ? text : `${text.slice(0, maxTextChars).toWellFormed()}\n… (cut)`
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The usage of a message as Claude wrote it down. */
export function usageIn(usage: Fields): Usage {
  const created = usage['cache_creation']
  return {
    input: countField(usage['input_tokens']),
    output: countField(usage['output_tokens']),
    cacheRead: countField(usage['cache_read_input_tokens']),
    cacheWrite: countField(usage['cache_creation_input_tokens']),
    cacheWrite1h: isRecord(created) ? countField(created['ephemeral_1h_input_tokens']) : undefined,
  }
}

/** The content blocks of a message. */
export function blocksIn(content: unknown): Fields[] {
  return Array.isArray(content) ? content.filter(isRecord) : []
}
