// A transcript of Claude Code as records, for what is done with the sessions of every agent alike: handing them over. The scan and
// the views of Claude's transcripts have readers of their own, which are faster.
import type { AgentConversation, AgentRecord, UntimedRecord } from '../../../domain/agent-records.ts'
import { isRecord } from '../../../domain/json.ts'
import { withJoinedPrompt } from '../../../domain/joined-prompt.ts'
import { withoutMarker } from '../../../domain/machine-text.ts'
import { readChain, recordsOf } from '../../../store/transcripts/claude-chain.ts'
import { blocksIn } from '../../cards.ts'
import { readPrompt } from '../../transcript-facts.ts'
import { countField, textField } from '../contract.ts'

type Fields = Record<string, unknown>

const editTools = new Map<string, 'add' | 'update'>([
  ['Edit', 'update'],
  ['MultiEdit', 'update'],
  ['NotebookEdit', 'update'],
  ['Write', 'add'],
])

/** All records of the session itself; what a resume does not reach is marked. */
export async function readClaudeRecords(path: string): Promise<AgentConversation> {
  const { links, reached, damagedLines, overlongLines } = await readChain(path)
  const translator = new ClaudeTranslator()
  const records: AgentRecord[] = []
  for (const { record } of recordsOf(path)) {
    const uuid = textField(record['uuid'])
    const at = textField(record['timestamp']) ?? ''
    const rewound = (uuid !== undefined && links.has(uuid) && !reached.has(uuid)) || undefined
    for (const found of translator.translate(withJoinedPrompt(record)))
      records.push({ ...found, at, rewound })
  }
  return { records, damaged: damagedLines + overlongLines }
}

class ClaudeTranslator {
  readonly #calls = new Map<string, { name: string; input: Fields }>()
  readonly #counted = new Set<string>()

  translate(record: Fields): UntimedRecord[] {
    const { type, message } = record
    if (record['isSidechain'] === true || record['isMeta'] === true || !isRecord(message)) return []
    if (record['isCompactSummary'] === true) return [{ kind: 'compaction', text: textOf(message['content']) }]
    if (type === 'user') return this.#user(message['content'], textField(record['uuid']))
    return type === 'assistant' && record['isApiErrorMessage'] !== true ? this.#assistant(message) : []
  }

  #user(content: unknown, id: string | undefined): UntimedRecord[] {
    const results = blocksIn(content).filter((block) => block['type'] === 'tool_result')
    if (results.length > 0) return results.flatMap((block) => this.#result(block))
    const prompt = readPrompt(withoutMarker(textOf(content)))
    return prompt.kind === 'prompt' ? [{ kind: 'prompt', text: prompt.text, id }] : []
  }

  #result(block: Fields): UntimedRecord[] {
    const id = textField(block['tool_use_id']) ?? ''
    const isError = block['is_error'] === true
    const result: UntimedRecord = { kind: 'tool-result', id, text: textOf(block['content']), isError }
    const call = this.#calls.get(id)
    const change = editTools.get(call?.name ?? '')
    const path = textField(call?.input['file_path']) ?? textField(call?.input['notebook_path'])
    return isError || !change || path === undefined ? [result] : [result, { kind: 'edit', path, change }]
  }

  #assistant(message: Fields): UntimedRecord[] {
    return [
      ...blocksIn(message['content']).flatMap((block) => this.#block(block)),
      ...this.#usage(message, textField(message['id'])),
    ]
  }

  #block(block: Fields): UntimedRecord[] {
    if (block['type'] === 'text') return [{ kind: 'answer', text: textField(block['text']) ?? '' }]
    if (block['type'] === 'thinking') return [{ kind: 'thinking', text: textField(block['thinking']) ?? '' }]
    if (block['type'] !== 'tool_use') return []
    const id = textField(block['id']) ?? ''
    const call = {
      name: textField(block['name']) ?? 'tool',
      input: isRecord(block['input']) ? block['input'] : {},
    }
    this.#calls.set(id, call)
    return [{ kind: 'tool-call', id, ...call }]
  }

  /** Claude Code repeats the usage of a message with each of its blocks. */
  #usage(message: Fields, id: string | undefined): UntimedRecord[] {
    const { usage } = message
    if (id === undefined || this.#counted.has(id) || !isRecord(usage)) return []
    this.#counted.add(id)
    return [
      {
        kind: 'usage',
        id,
        model: textField(message['model']) ?? 'unknown',
        input: countField(usage['input_tokens']),
        cacheRead: countField(usage['cache_read_input_tokens']),
        cacheWrite: countField(usage['cache_creation_input_tokens']),
        output: countField(usage['output_tokens']),
        reasoning: 0,
      },
    ]
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return blocksIn(content)
    .map((block) => textField(block['text']) ?? (block['type'] === 'image' ? '[image]' : ''))
    .filter(Boolean)
    .join('\n')
}
