// Makes a folder like Claude's own, with as many transcripts as wanted, whose totals are known: repeated usage lines, two
// orders of keys, resumed and forked copies, sub-agents, torn tails, one very large file, one very long line.
import { closeSync, mkdirSync, openSync, utimesSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { randomFrom } from './random.ts'

export interface CorpusOptions {
  /** The Claude config directory to make; `projects/` comes below it. */
  configDir: string
  files: number
  /** About how many bytes in all, without the large file. */
  bytes: number
  largeFileBytes?: number
  longLineBytes?: number
  seed?: number
  /** The time of the first record; each file is a minute later. */
  startsAt?: number
}

export interface CorpusTotals {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
}

export interface CorpusSession extends CorpusTotals {
  sessionId: string
  file: string
  cwd: string
  branch: string
  firstMessage: string
  prompts: number
  lines: number
  messages: number
  torn: boolean
  subagent?: CorpusTotals
}

export interface Corpus {
  sessions: CorpusSession[]
  files: string[]
  bytes: number
  /** Each message once over all files. */
  totals: CorpusTotals
}

interface ToolCall {
  name: string
  input: object
  result: string
  /** The JSON of what Claude Code notes beside the result. */
  detail: string
}

interface Reply {
  id: string
  requestId: string
  usage: CorpusTotals
}

const words =
  'the parser reads every token twice because a sum of branch names was cached before review and the helper renamed file paths without checking tests or logs'.split(
    ' ',
  )
const models = ['claude-sonnet-4-5-20250929', 'claude-opus-4-5-20251101', 'claude-haiku-4-5-20251001']

export function makeCorpus(options: CorpusOptions): Corpus {
  const maker = new CorpusMaker(options)
  for (let i = 0; i < options.files; i++) maker.session(i)
  return maker.corpus()
}

const nothing = (): CorpusTotals => ({
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
})

class CorpusMaker {
  readonly #options: CorpusOptions
  readonly #random: () => number
  readonly #filler: string
  readonly #sessions: CorpusSession[] = []
  readonly #files: string[] = []
  readonly #totals = nothing()
  #bytes = 0
  /** Lines of the last plain session, to be copied by a resume. */
  #lastReplies: string[] = []

  constructor(options: CorpusOptions) {
    this.#options = options
    this.#random = randomFrom(options.seed ?? 1)
    this.#filler = makeFiller(this.#random, 1 << 20)
  }

  corpus(): Corpus {
    return { sessions: this.#sessions, files: this.#files, bytes: this.#bytes, totals: this.#totals }
  }

  session(index: number): void {
    const { options, repo } = { options: this.#options, repo: `/home/dev/projects/repo-${index % 40}` }
    const session = this.#newSession(index, repo)
    const target =
      index === 0 && options.largeFileBytes ? options.largeFileBytes : options.bytes / options.files
    const writer = new LineWriter(session.file)
    if (index % 7 === 3) this.#resume(session, writer)
    for (let turn = 0; writer.bytes < target; turn++) this.#turn(session, writer, index, turn)
    if (index === 1 && options.longLineBytes) this.#longLine(session, writer, options.longLineBytes)
    this.#end(session, writer, index)
    if (index % 5 === 2) this.#subagent(session, index)
  }

  #newSession(index: number, cwd: string): CorpusSession {
    const sessionId = `${hex(index, 8)}-0000-4000-8000-${hex(this.#options.seed ?? 1, 12)}`
    const folder = join(this.#options.configDir, 'projects', cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'))
    const firstMessage = `Task ${index}: ${this.#text(60)}`
    return {
      ...nothing(),
      sessionId,
      file: join(folder, `${sessionId}.jsonl`),
      cwd,
      branch: index % 3 === 0 ? 'main' : `feature/${index % 11}`,
      firstMessage,
      prompts: 0,
      lines: 0,
      messages: 0,
      torn: false,
    }
  }

  /** A prompt, what Claude Code notes around it, a reply in several lines, a tool and its result. */
  #turn(session: CorpusSession, writer: LineWriter, index: number, turn: number): void {
    const time = this.#time(index, turn)
    const prompt = turn === 0 ? session.firstMessage : `And then ${this.#text(40)}`
    if (session.prompts === 0 || turn % 3 === 0) {
      this.#line(session, writer, user(session, time, JSON.stringify(prompt), turn))
      session.messages++
      session.prompts++
      if (turn % 2 === 0) this.#noise(session, writer, time)
    }
    const reply = this.#reply(session, index, turn)
    const tool = this.#tool()
    const lines = this.#replyLines(session, reply, tool, time, index, turn)
    for (const line of lines) this.#line(session, writer, line)
    session.messages += lines.length
    if (index % 7 === 2) this.#lastReplies.push(...lines)
    const result = `[{"tool_use_id":"toolu_${reply.id}","type":"tool_result","content":${JSON.stringify(tool.result)}}]`
    this.#line(session, writer, user(session, time, result, turn, `,"toolUseResult":${tool.detail}`))
    session.messages++
  }

  /** A call with its result, in about the proportions of real sessions: one call of four changes a file. */
  #tool(): ToolCall {
    const kind = this.#random()
    if (kind < 0.05) return this.#write()
    if (kind < 0.25) return this.#edit()
    const result = this.#text(200 + this.#random() * 9_000)
    const input =
      kind < 0.6 ? { file_path: '/a.ts' } : { command: this.#text(60), description: this.#text(30) }
    // A trap for readers that search for the usage: it is not the model's.
    return { name: kind < 0.6 ? 'Read' : 'Bash', input, result, detail: '{"usage":{"input_tokens":9}}' }
  }

  #write(): ToolCall {
    const content = this.#text(300 + this.#random() * 6_000)
    const input = { file_path: '/a.ts', content, usage: { input_tokens: 123_456 } }
    const detail = JSON.stringify({ type: 'create', filePath: '/a.ts', content, structuredPatch: [] })
    return { name: 'Write', input, result: 'File created successfully at: /a.ts', detail }
  }

  #edit(): ToolCall {
    const [oldString, newString] = [
      this.#text(40 + this.#random() * 300),
      this.#text(40 + this.#random() * 900),
    ]
    const input = { replace_all: false, file_path: '/a.ts', old_string: oldString, new_string: newString }
    const originalFile = this.#text(500 + this.#random() * 9_000)
    const lines = [
      ...oldString.split('\n').map((line) => `-${line}`),
      ...newString.split('\n').map((line) => `+${line}`),
    ]
    const structuredPatch = [{ oldStart: 7, oldLines: 3, newStart: 7, newLines: 5, lines }]
    const texts = { filePath: '/a.ts', oldString, newString, originalFile }
    const detail = JSON.stringify({ ...texts, structuredPatch, userModified: false, replaceAll: false })
    return { name: 'Edit', input, result: 'The file /a.ts has been updated successfully.', detail }
  }

  #noise(session: CorpusSession, writer: LineWriter, time: string): void {
    const place = placeOf(session)
    const { sessionId } = session
    this.#line(
      session,
      writer,
      `{"type":"queue-operation","operation":"dequeue","timestamp":"${time}","sessionId":"${sessionId}"}`,
    )
    this.#line(
      session,
      writer,
      `{"parentUuid":"${this.#uuid()}","isSidechain":false,"attachment":{"type":"skill_listing","content":${JSON.stringify(this.#text(3_000))}},"type":"attachment","uuid":"${this.#uuid()}","timestamp":"${time}","userType":"external",${place}}`,
    )
    this.#line(
      session,
      writer,
      `{"type":"api-request-blob","sessionId":"${sessionId}","hash":"${this.#uuid()}","message":{"role":"user","content":[{"type":"text","text":${JSON.stringify(this.#text(6_000))}}]}}`,
    )
  }

  #reply(session: CorpusSession, index: number, turn: number): Reply {
    const usage = {
      inputTokens: 1 + Math.floor(this.#random() * 50),
      outputTokens: 1 + Math.floor(this.#random() * 900),
      cacheReadTokens: Math.floor(this.#random() * 60_000),
      cacheCreationTokens: Math.floor(this.#random() * 3_000),
    }
    add(session, usage)
    add(this.#totals, usage)
    const name = `${index.toString(36)}x${turn.toString(36)}x${this.#options.seed ?? 1}`
    return { id: `msg_01${name.padEnd(18, '0')}`, requestId: `req_01${name.padEnd(18, '0')}`, usage }
  }

  /** One to four lines with the same id, each with the usage; the first ones as it was while streaming. */
  #replyLines(
    session: CorpusSession,
    reply: Reply,
    { name, input }: ToolCall,
    time: string,
    index: number,
    turn: number,
  ): string[] {
    const blocks = 1 + Math.floor(this.#random() * 4)
    const lines: string[] = []
    for (let block = 0; block < blocks; block++) {
      const isLast = block === blocks - 1
      const content = isLast
        ? JSON.stringify({ type: 'tool_use', id: `toolu_${reply.id}`, name, input })
        : `{"type":"text","text":${JSON.stringify(this.#text(120))}}`
      const usage = isLast
        ? reply.usage
        : { ...reply.usage, outputTokens: Math.min(reply.usage.outputTokens, 1) }
      lines.push(
        assistant(
          session,
          reply,
          usage,
          content,
          time,
          index % 2 === 0,
          models[(index + turn) % 9 === 0 ? 1 : index % 3]!,
        ),
      )
    }
    return lines
  }

  /** Old versions copied the history into a new file when a session was resumed. */
  #resume(session: CorpusSession, writer: LineWriter): void {
    const copied = this.#lastReplies.splice(0).slice(-40)
    const seen = new Set<string>()
    for (const line of copied.reverse()) {
      const id = /"id":"(msg_[^"]+)"/.exec(line)![1]!
      // Backwards, the first line of a message is its last: the finished one.
      if (!seen.has(id)) add(session, usageOf(line))
      seen.add(id)
    }
    for (const line of copied.reverse()) this.#line(session, writer, line)
    session.messages += copied.length
  }

  #longLine(session: CorpusSession, writer: LineWriter, bytes: number): void {
    const reply = this.#reply(session, 1, 999_999)
    const content = `{"type":"text","text":"${'long '.repeat(Math.ceil(bytes / 5))}"}`
    this.#line(
      session,
      writer,
      assistant(session, reply, reply.usage, content, this.#time(1, 1), false, models[1]!),
    )
    session.messages++
  }

  #end(session: CorpusSession, writer: LineWriter, index: number): void {
    if (index % 10 === 9) {
      session.torn = true
      session.lines++
      writer.write('{"parentUuid":"x","isSidechain":false,"message":{"id":"msg_torn","type":"mess')
    } else {
      this.#line(
        session,
        writer,
        `{"type":"last-prompt","lastPrompt":"done","leafUuid":"x","sessionId":"${session.sessionId}"}`,
      )
    }
    this.#finish(writer, session.file, index)
    this.#sessions.push(session)
  }

  #subagent(session: CorpusSession, index: number): void {
    const file = join(session.file.slice(0, -'.jsonl'.length), 'subagents', `agent-a${hex(index, 8)}.jsonl`)
    const writer = new LineWriter(file)
    const usage = { inputTokens: 7, outputTokens: 70, cacheReadTokens: 700, cacheCreationTokens: 0 }
    const name = `s${index.toString(36)}x${this.#options.seed ?? 1}`
    const reply = { id: `msg_${name}`, requestId: `req_${name}`, usage }
    writer.write(
      `${assistant(session, reply, usage, '{"type":"text","text":"done"}', this.#time(index, 1), false, models[2]!).replace('"isSidechain":false', '"isSidechain":true,"agentId":"a1"')}\n`,
    )
    add(this.#totals, usage)
    session.subagent = usage
    this.#finish(writer, file, index)
  }

  #line(session: CorpusSession, writer: LineWriter, line: string): void {
    session.lines++
    writer.write(`${line}\n`)
  }

  #finish(writer: LineWriter, file: string, index: number): void {
    writer.close()
    const at = new Date(this.#time(index, 0))
    utimesSync(file, at, at)
    this.#files.push(file)
    this.#bytes += writer.bytes
  }

  #time(index: number, turn: number): string {
    const start = this.#options.startsAt ?? Date.UTC(2026, 8, 1)
    return new Date(start + index * 60_000 + (turn % 50_000) * 1_000).toISOString()
  }

  #text(length: number): string {
    const from = Math.floor(this.#random() * (this.#filler.length - length))
    return this.#filler.slice(from, from + length)
  }

  #uuid(): string {
    return `${hex(Math.floor(this.#random() * 2 ** 32), 8)}-1111-4111-8111-111111111111`
  }
}

/** Collects lines, so that a large corpus is not written a line at a time. */
class LineWriter {
  bytes = 0
  readonly #fd: number
  #pending: string[] = []
  #pendingLength = 0

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true })
    this.#fd = openSync(file, 'w')
  }

  write(text: string): void {
    this.#pending.push(text)
    this.#pendingLength += text.length
    this.bytes += Buffer.byteLength(text)
    if (this.#pendingLength > 1 << 20) this.#flush()
  }

  close(): void {
    this.#flush()
    closeSync(this.#fd)
  }

  #flush(): void {
    writeSync(this.#fd, this.#pending.join(''))
    this.#pending = []
    this.#pendingLength = 0
  }
}

function user(session: CorpusSession, time: string, content: string, turn: number, more = ''): string {
  return `{"parentUuid":"p${turn}","isSidechain":false,"promptId":"q${turn}","type":"user","message":{"role":"user","content":${content}},"uuid":"u${turn}-${session.sessionId}","timestamp":"${time}","userType":"external",${placeOf(session)}${more}}`
}

function assistant(
  session: CorpusSession,
  reply: Reply,
  usage: CorpusTotals,
  content: string,
  time: string,
  typeFirst: boolean,
  model: string,
): string {
  const used = `"usage":{"input_tokens":${usage.inputTokens},"cache_creation_input_tokens":${usage.cacheCreationTokens},"cache_read_input_tokens":${usage.cacheReadTokens},"output_tokens":${usage.outputTokens},"server_tool_use":{"web_search_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":${usage.cacheCreationTokens}},"speed":"standard"}`
  // Two orders that real versions write: usage behind the content with the type at the end, and the other way round.
  if (typeFirst)
    return `{"type":"assistant","timestamp":"${time}","uuid":"a${reply.id}","requestId":"${reply.requestId}",${placeOf(session)},"message":{"model":"${model}",${used},"id":"${reply.id}","role":"assistant","content":[${content}]},"isSidechain":false}`
  return `{"parentUuid":"p","isSidechain":false,"message":{"id":"${reply.id}","type":"message","role":"assistant","model":"${model}","content":[${content}],"stop_reason":"tool_use","stop_sequence":null,${used}},"requestId":"${reply.requestId}","type":"assistant","uuid":"a${reply.id}","timestamp":"${time}","userType":"external",${placeOf(session)}}`
}

function placeOf(session: CorpusSession): string {
  return `"entrypoint":"cli","cwd":"${session.cwd}","sessionId":"${session.sessionId}","version":"2.1.325","gitBranch":"${session.branch}"`
}

function usageOf(line: string): CorpusTotals {
  const number = (name: string): number =>
    Number(new RegExp(`"${name}":(\\d+),"cache|"${name}":(\\d+),"server`).exec(line)?.slice(1).find(Boolean))
  return {
    inputTokens: Number(/"usage":\{"input_tokens":(\d+),"cache_c/.exec(line)![1]),
    outputTokens: number('output_tokens'),
    cacheReadTokens: Number(/"cache_read_input_tokens":(\d+)/.exec(line)![1]),
    cacheCreationTokens: Number(/"cache_creation_input_tokens":(\d+)/.exec(line)![1]),
  }
}

function add(to: CorpusTotals, usage: CorpusTotals): void {
  to.inputTokens += usage.inputTokens
  to.outputTokens += usage.outputTokens
  to.cacheReadTokens += usage.cacheReadTokens
  to.cacheCreationTokens += usage.cacheCreationTokens
}

/** Text as it is in transcripts: words, code with quotes and escapes, some letters that are not ASCII. */
function makeFiller(random: () => number, length: number): string {
  const parts: string[] = []
  for (let size = 0; size < length;) {
    const word = words[Math.floor(random() * words.length)]!
    const part = random() < 0.06 ? `"${word}":\n\t` : random() < 0.01 ? 'größer — ' : `${word} `
    parts.push(part)
    size += part.length
  }
  return parts.join('')
}

function hex(value: number, digits: number): string {
  return Math.floor(value).toString(16).padStart(digits, '0')
}
