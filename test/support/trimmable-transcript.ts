// A transcript of Claude Code with long tool results, record by record, for tests of trimming.
export const originalId = '11111111-2222-4333-8444-555555555555'

export type Line = Record<string, unknown>

/** A transcript in which every record follows the one before it. */
export class TrimmableTranscript {
  lines: Line[] = []
  #count = 0
  #last: string | null = null
  readonly #about: Line

  /** Fields of every record, such as its directory. */
  constructor(about: Line = {}) {
    this.#about = about
  }

  record(line: Line): this {
    const uuid = `${String(++this.#count).padStart(8, '0')}-0000-4000-8000-000000000000`
    this.lines.push({
      parentUuid: this.#last,
      isSidechain: false,
      uuid,
      sessionId: originalId,
      ...this.#about,
      ...line,
    })
    this.#last = uuid
    return this
  }

  prompt(content: unknown): this {
    return this.record({ type: 'user', message: { role: 'user', content } })
  }

  /** A message that joins the running turn. */
  joined(prompt: unknown): this {
    return this.record({
      type: 'attachment',
      attachment: { type: 'queued_command', prompt, commandMode: 'prompt' },
    })
  }

  call(name: string, input: Line, result: unknown, more: Line = {}): this {
    const id = `toolu_${this.#count}`
    const usage = { input_tokens: 5, cache_read_input_tokens: 90_000, cache_creation_input_tokens: 10 }
    const content = [{ type: 'tool_use', id, name, input }]
    this.record({
      type: 'assistant',
      message: { id: `msg_${this.#count}`, role: 'assistant', content, usage },
    })
    const block = { type: 'tool_result', tool_use_id: id, content: result, ...more }
    return this.record({
      type: 'user',
      message: { role: 'user', content: [block] },
      toolUseResult: { result },
    })
  }

  text(): string {
    return this.lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  }
}

export const longOutput = 'a long "output" of ünï 🦐\n'.repeat(400)
