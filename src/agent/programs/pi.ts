// pi as a program: `pi --mode json`. pi asks nothing and has no sandbox: what a session may do is the list of its tools, so it gets no
// shell unless the launch allows it by name.
import type { AgentProgram, ProgramItem, ProgramReader, ProgramTurn } from './program.ts'
import { countOf, fieldsOf, mayEdit, option, textItem, textOf, toolEnd, toolStart } from './program.ts'

type Fields = Record<string, unknown>

const levels = ['off', 'low', 'medium', 'high', 'max']

export const pi: AgentProgram = {
  kind: 'pi',
  name: 'pi',
  command: 'pi',
  npmPackage: '@earendil-works/pi-coding-agent',
  login: '`/login` in `pi`, or the key of the provider',
  variables: [
    'ANTHROPIC_API_KEY',
    'GEMINI_API_KEY',
    'OPENAI_API_KEY',
    'OPENROUTER_API_KEY',
    'PI_CODING_AGENT_DIR',
    'PI_CODING_AGENT_SESSION_DIR',
    'PI_OFFLINE',
  ],
  can: { fork: true, systemPrompt: true, thinking: levels, tools: ['bash'] },
  rights: (mode) =>
    mayEdit(mode)
      ? 'reads and changes files without a sandbox, and runs no commands unless `allowedTools` has bash'
      : 'reads files, and neither changes any nor runs commands unless `allowedTools` has bash',
  commandFor: (turn) => ({
    args: ['--mode', 'json', '--print', ...optionsOf(turn)],
    variables: { PI_SKIP_VERSION_CHECK: '1', PI_TELEMETRY: '0' },
  }),
  makeReader: () => new PiReader(),
}

function optionsOf(turn: ProgramTurn): string[] {
  const { permissionMode, allowedTools, model, thinking, systemPrompt, resume, newId } = turn
  const tools = ['read', 'grep', 'find', 'ls', ...(mayEdit(permissionMode) ? ['edit', 'write'] : [])]
  return [
    ...option('--tools', [...tools, ...allowedTools].join(',')),
    // Code of a repository that no person has looked at.
    '--no-extensions',
    ...option('--model', model),
    ...option('--thinking', thinking === 'max' ? 'xhigh' : thinking),
    ...option('--append-system-prompt', systemPrompt),
    ...(resume
      ? option(resume.fork ? '--fork' : '--session', resume.sessionId)
      : option('--session-id', newId)),
  ]
}

class PiReader implements ProgramReader {
  #calls = 0
  #failure: string | undefined

  read(line: Fields): ProgramItem[] {
    switch (line['type']) {
      case 'session':
        return [{ is: 'session', sessionId: textOf(line['id']) }]
      case 'message_update':
        return deltaOf(fieldsOf(line['assistantMessageEvent']))
      case 'message_end':
        return this.#message(fieldsOf(line['message']))
      case 'tool_execution_start':
        return [toolStart(textOf(line['toolCallId']), textOf(line['toolName']), fieldsOf(line['args']))]
      case 'tool_execution_end':
        return [toolEnd(textOf(line['toolCallId']), textsIn(line['result']), line['isError'] === true)]
      case 'compaction_end':
        return [{ is: 'event', event: { type: 'compaction', phase: 'end', trigger: 'auto' } }]
      case 'auto_retry_start':
        return [retryOf(line)]
      case 'agent_settled':
      case 'agent_end':
        return this.#end()
      default:
        return []
    }
  }

  #message(message: Fields): ProgramItem[] {
    if (message['role'] !== 'assistant') return []
    const blocks = Array.isArray(message['content']) ? message['content'].map(fieldsOf) : []
    const model = `${textOf(message['provider'])}/${textOf(message['model'])}`
    const { stopReason } = message
    // A failed call may be tried again: only the last one decides.
    this.#failure = stopReason === 'error' ? textOf(message['errorMessage']) : undefined
    return [
      { is: 'session', model },
      ...blocks.flatMap((block) =>
        block['type'] === 'text'
          ? textItem('text', block['text'])
          : block['type'] === 'thinking'
            ? textItem('thinking', block['thinking'])
            : [],
      ),
      this.#call(model, fieldsOf(message['usage']), stopReason === 'toolUse'),
    ]
  }

  #call(model: string, usage: Fields, continues: boolean): ProgramItem {
    const messageId = `call ${++this.#calls}`
    const counts = {
      input: countOf(usage['input']),
      output: countOf(usage['output']),
      cacheRead: countOf(usage['cacheRead']),
      cacheWrite: countOf(usage['cacheWrite']),
    }
    const costUsd = countOf(fieldsOf(usage['cost'])['total'])
    const event = { type: 'usage', messageId, model, usage: counts, costUsd, subagent: false } as const
    return { is: 'call', event, continues }
  }

  /** pi exits with 0 also when the model failed. */
  #end(): ProgramItem[] {
    return [this.#failure === undefined ? { is: 'completed' } : { is: 'failed', message: this.#failure }]
  }
}

function deltaOf(event: Fields): ProgramItem[] {
  return event['type'] === 'text_delta' ? textItem('text-delta', event['delta']) : []
}

function retryOf(line: Fields): ProgramItem {
  const { attempt, delayMs, errorMessage } = line
  return {
    is: 'event',
    event: {
      type: 'retry',
      attempt: countOf(attempt),
      delayMs: countOf(delayMs),
      reason: textOf(errorMessage) || 'the call failed',
    },
  }
}

function textsIn(result: unknown): string {
  const { content } = fieldsOf(result)
  return Array.isArray(content) ? content.map((part) => textOf(fieldsOf(part)['text'])).join('') : ''
}
