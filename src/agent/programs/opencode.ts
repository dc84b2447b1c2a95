// opencode as a program: `opencode run --format json`. Without a terminal it refuses each tool that would need a question, so its
// permissions are set at the start, in a variable that overrides those of a repository.
import type { PermissionMode } from '../../domain/agent.ts'
import type { AgentProgram, ProgramItem, ProgramReader } from './program.ts'
import { countOf, fieldsOf, mayEdit, option, textItem, textOf, toolEnd, toolStart } from './program.ts'

type Fields = Record<string, unknown>

export const opencode: AgentProgram = {
  kind: 'opencode',
  name: 'opencode',
  command: 'opencode',
  npmPackage: 'opencode-ai',
  login: '`opencode auth login`, or the key of the provider',
  variables: [
    'ANTHROPIC_API_KEY',
    'GEMINI_API_KEY',
    'OPENAI_API_KEY',
    'OPENCODE_CONFIG',
    'OPENCODE_CONFIG_DIR',
    'OPENCODE_DB',
    'OPENCODE_DISABLE_MODELS_FETCH',
    'OPENROUTER_API_KEY',
    'XDG_CACHE_HOME',
    'XDG_CONFIG_HOME',
    'XDG_DATA_HOME',
    'XDG_STATE_HOME',
  ],
  can: { fork: true, systemPrompt: false, thinking: [], tools: ['bash', 'webfetch'] },
  rights: (mode) =>
    mayEdit(mode)
      ? 'reads and changes files in the repository, and runs no commands unless `allowedTools` has bash'
      : 'reads files in the repository, and neither changes any nor runs commands unless `allowedTools` has bash',
  commandFor: ({ permissionMode, allowedTools, model, resume }) => ({
    args: [
      'run',
      ...option('--format', 'json'),
      ...option('--model', model),
      ...option('--session', resume?.sessionId),
      ...(resume?.fork ? ['--fork'] : []),
    ],
    variables: {
      OPENCODE_PERMISSION: JSON.stringify(permissionsFor(permissionMode, allowedTools)),
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      // Plugins and servers of a repository are code that no person has looked at.
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
    },
  }),
  makeReader: () => new OpencodeReader(),
}

function permissionsFor(mode: PermissionMode, allowed: readonly string[]): Record<string, string> {
  const may = (isAllowed: boolean): string => (isAllowed ? 'allow' : 'deny')
  return {
    edit: may(mayEdit(mode)),
    bash: may(allowed.includes('bash')),
    webfetch: may(allowed.includes('webfetch')),
    external_directory: 'deny',
  }
}

class OpencodeReader implements ProgramReader {
  #isKnown = false

  read(line: Fields): ProgramItem[] {
    return [...this.#session(line), ...this.#items(line, fieldsOf(line['part']))]
  }

  #session(line: Fields): ProgramItem[] {
    const sessionId = textOf(line['sessionID'])
    if (this.#isKnown || sessionId === '') return []
    this.#isKnown = true
    return [{ is: 'session', sessionId }]
  }

  #items(line: Fields, part: Fields): ProgramItem[] {
    switch (line['type']) {
      case 'text':
        return textItem('text', part['text'])
      case 'reasoning':
        return textItem('thinking', part['text'])
      case 'tool_use':
        return toolItems(part)
      case 'step_finish':
        return stepItems(part)
      case 'error':
        return [{ is: 'failed', message: errorOf(line['error']) }]
      default:
        return []
    }
  }
}

/** A tool is reported when it has ended. */
function toolItems(part: Fields): ProgramItem[] {
  const id = textOf(part['callID'])
  const state = fieldsOf(part['state'])
  const output = textOf(state['output']) || textOf(state['error'])
  return [
    toolStart(id, textOf(part['tool']), fieldsOf(state['input'])),
    toolEnd(id, output, state['status'] === 'error'),
  ]
}

function stepItems(part: Fields): ProgramItem[] {
  const tokens = fieldsOf(part['tokens'])
  const cache = fieldsOf(tokens['cache'])
  const usage = {
    input: countOf(tokens['input']),
    output: countOf(tokens['output']) + countOf(tokens['reasoning']),
    cacheRead: countOf(cache['read']),
    cacheWrite: countOf(cache['write']),
  }
  const continues = part['reason'] === 'tool-calls'
  const messageId = textOf(part['id'])
  const costUsd = countOf(part['cost'])
  const event = { type: 'usage', messageId, model: 'unknown', usage, costUsd, subagent: false } as const
  const end: ProgramItem[] = continues ? [] : [{ is: 'completed' }]
  return [{ is: 'call', event, continues }, ...end]
}

function errorOf(error: unknown): string {
  const { name, data, message } = fieldsOf(error)
  return textOf(fieldsOf(data)['message']) || textOf(message) || textOf(name) || textOf(error)
}
