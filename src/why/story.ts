// Finds the context of an edit in its conversation: the prompt that led to it, what Claude said just before, the plan or the answer that
// decided it, and what the turn cost.
import type { FileHandle } from 'node:fs/promises'
import { blocksIn, textIn, usageIn } from '../discovery/cards.ts'
import { callCost } from '../discovery/price-table.ts'
import { isContinuation, readContent } from '../discovery/transcript-facts.ts'
import { withJoinedPrompt } from '../domain/joined-prompt.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import { withoutMarker } from '../domain/machine-text.ts'
import { openForeignHandle } from '../store/disk/foreign-file.ts'
import { linesBackward, linesForward, type Line } from '../store/transcripts/transcript-lines.ts'

type Fields = Record<string, unknown>

export interface Story {
  /** The prompt of the turn; of the last one that says what to do, if that one only says to continue. */
  prompt?: { text: string; uuid?: string; at: number }
  /** The last text before the edit. */
  said?: string
  decisions: Decision[]
  /** The command, if a command made the edit. */
  command?: string
  costUsd: number
}

interface Decision {
  kind: 'plan' | 'question'
  text: string
  answer?: string
}

/** A turn is longer only in rare cases; then its beginning is not found. */
const mostBytes = 32 << 20
const mostChars = 4_000

/** `offset`: of the record with the result of the edit. */
export async function storyOf(path: string, offset: number, toolUseId: string | undefined): Promise<Story> {
  const file = await openForeignHandle(path)
  try {
    const reader = new StoryReader(toolUseId)
    await readBack(file, offset, reader)
    await readOn(file, offset, reader)
    return reader.story()
  } finally {
    await file.close()
  }
}

async function readBack(file: FileHandle, offset: number, reader: StoryReader): Promise<void> {
  for await (const lines of linesBackward(file, offset)) {
    for (const line of lines) {
      const record = recordIn(line)
      if (record && reader.before(record)) return
      if (offset - line.offset > mostBytes) return
    }
  }
}

async function readOn(file: FileHandle, offset: number, reader: StoryReader): Promise<void> {
  for await (const lines of linesForward(file, offset)) {
    for (const line of lines) {
      const record = recordIn(line)
      if (record && reader.after(record)) return
      if (line.offset - offset > mostBytes) return
    }
  }
}

function recordIn({ content }: Line): Fields | undefined {
  // Most bytes are in records that are neither a message nor part of the turn.
  if (content === undefined || !/"type"\s*:\s*"(?:user|assistant)"/.test(content.toString('latin1')))
    return undefined
  return parseRecord(content.toString('utf8'))
}

class StoryReader {
  readonly #toolUseId: string | undefined
  readonly #costs = new Map<string, number>()
  readonly #answers = new Map<string, string>()
  readonly #decisions: Decision[] = []
  #prompt: Story['prompt']
  #said: string | undefined
  #command: string | undefined
  /** The turn of the edit has been read; only a prompt that says more is missing. */
  #isTurnRead = false

  constructor(toolUseId: string | undefined) {
    this.#toolUseId = toolUseId
  }

  /** A record before the edit, from the nearest on; true when nothing more is needed. */
  before(record: Fields): boolean {
    const prompt = promptIn(record)
    if (prompt !== undefined) {
      const at = Date.parse(String(record['timestamp'])) || 0
      if (!this.#prompt || !isContinuation(prompt))
        this.#prompt = { text: prompt, uuid: textIn(record['uuid']), at }
      this.#isTurnRead = true
      return !isContinuation(prompt)
    }
    if (this.#isTurnRead) return false
    if (record['type'] === 'user') this.#noteAnswers(record)
    else this.#reply(record)
    return false
  }

  /** A record after the edit; true when the turn is over. */
  after(record: Fields): boolean {
    if (promptIn(record) !== undefined) return true
    this.#noteCost(record, true)
    return false
  }

  story(): Story {
    const costUsd = [...this.#costs.values()].reduce((sum, cost) => sum + cost, 0)
    return {
      prompt: this.#prompt,
      said: this.#said,
      decisions: this.#decisions,
      command: this.#command,
      costUsd,
    }
  }

  #reply(record: Fields): void {
    this.#noteCost(record, false)
    for (const block of blocksOf(record).toReversed()) {
      if (block['type'] === 'text') this.#said ??= cut(textIn(block['text']))
      if (block['type'] === 'tool_use') this.#tool(block)
    }
  }

  #tool(block: Fields): void {
    const input = isRecord(block['input']) ? block['input'] : {}
    const id = textIn(block['id']) ?? ''
    if (id === this.#toolUseId && block['name'] === 'Bash') this.#command = cut(textIn(input['command']))
    const answer = cut(this.#answers.get(id))
    if (block['name'] === 'ExitPlanMode') this.#decide('plan', textIn(input['plan']), answer)
    if (block['name'] !== 'AskUserQuestion') return
    for (const question of blocksIn(input['questions']))
      this.#decide('question', textIn(question['question']), answer)
  }

  #decide(kind: Decision['kind'], text: string | undefined, answer: string | undefined): void {
    if (text) this.#decisions.unshift({ kind, text: cut(text)!, answer })
  }

  #noteAnswers(record: Fields): void {
    for (const block of blocksOf(record)) {
      const id = textIn(block['tool_use_id'])
      const { content } = block
      const text =
        typeof content === 'string'
          ? content
          : blocksIn(content)
              .map((one) => textIn(one['text']))
              .join('\n')
      if (id !== undefined) this.#answers.set(id, text)
    }
  }

  /** Claude repeats the usage of a message with each of its blocks; the last record is the final one. */
  #noteCost({ message }: Fields, isLater: boolean): void {
    if (!isRecord(message) || !isRecord(message['usage'])) return
    if (!isLater && this.#costs.has(String(message['id']))) return
    const usd = callCost(textIn(message['model']) ?? '', usageIn(message['usage']))
    this.#costs.set(String(message['id']), usd)
  }
}

/** The text of a prompt; undefined for every other record. */
function promptIn(recorded: Fields): string | undefined {
  const record = withJoinedPrompt(recorded)
  if (record['type'] !== 'user' || record['isMeta'] === true || record['isCompactSummary'] === true)
    return undefined
  const content = isRecord(record['message']) ? record['message']['content'] : undefined
  if (blocksIn(content).some((block) => block['type'] === 'tool_result')) return undefined
  const found = readContent(content)
  return found.kind === 'prompt' ? cut(withoutMarker(found.text).trim()) : undefined
}

function blocksOf({ message }: Fields): Fields[] {
  return isRecord(message) ? blocksIn(message['content']) : []
}

export function cut(text: string | undefined): string | undefined {
  return text === undefined || text.length <= mostChars ? text : `${text.slice(0, mostChars).toWellFormed()}…`
}

/** The prompt of a transcript that was the last one at a time (milliseconds). */
export async function promptAt(path: string, time: number): Promise<Story['prompt']> {
  const file = await openForeignHandle(path)
  try {
    for await (const lines of linesBackward(file, (await file.stat()).size)) {
      for (const line of lines) {
        const record = recordIn(line)
        const text = record && promptIn(record)
        const at = Date.parse(String(record?.['timestamp'])) || 0
        if (text !== undefined && at <= time) return { text, uuid: textIn(record!['uuid']), at }
      }
    }
    return undefined
  } finally {
    await file.close()
  }
}
