// Gemini CLI as a program: `gemini --output-format stream-json`. Without a terminal it refuses each tool that needs a question, so
// its approval mode decides at the start. It deletes sessions that it takes for old or empty; a file of settings prevents that.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentProgram, ProgramItem, ProgramReader } from './program.ts'
import { countOf, fieldsOf, mayEdit, option, textItem, textOf, toolEnd, toolStart } from './program.ts'

type Fields = Record<string, unknown>

export const gemini: AgentProgram = {
  kind: 'gemini',
  name: 'Gemini CLI',
  command: 'gemini',
  npmPackage: '@google/gemini-cli',
  login: 'a login in `gemini`, or GEMINI_API_KEY',
  variables: [
    'GEMINI_CLI_HOME',
    'GEMINI_API_KEY',
    'GEMINI_MODEL',
    'GOOGLE_API_KEY',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'GOOGLE_CLOUD_LOCATION',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_GEMINI_BASE_URL',
    'GOOGLE_GENAI_USE_VERTEXAI',
  ],
  can: { fork: false, systemPrompt: false, thinking: [], tools: [] },
  rights: (mode) =>
    mayEdit(mode)
      ? 'reads and changes files in the repository, and runs no commands'
      : 'reads files in the repository, and neither changes any nor runs commands',
  commandFor: ({ permissionMode, model, resume, newId, folder }) => ({
    args: [
      ...option('--output-format', 'stream-json'),
      ...option('--approval-mode', mayEdit(permissionMode) ? 'auto_edit' : 'default'),
      ...option('--model', model),
      ...option('--resume', resume?.sessionId),
      ...option('--session-id', resume ? undefined : newId),
    ],
    variables: { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: settingsIn(folder) },
  }),
  makeReader: () => new GeminiReader(),
}

/** After some resumes Gemini takes a session for empty at its next start, and deletes it with all its messages. */
function settingsIn(folder: string): string {
  const path = join(folder, 'gemini-defaults.json')
  const general = { sessionRetention: { enabled: false }, enableAutoUpdate: false }
  writeFileSync(path, JSON.stringify({ general }), { mode: 0o600 })
  return path
}

class GeminiReader implements ProgramReader {
  #text = ''
  #model = 'unknown'

  read(line: Fields): ProgramItem[] {
    switch (line['type']) {
      case 'init':
        this.#model = textOf(line['model']) || this.#model
        return [{ is: 'session', sessionId: textOf(line['session_id']), model: this.#model }]
      case 'message':
        return line['role'] === 'assistant' ? this.#answer(line) : []
      case 'tool_use':
        return [
          ...this.#finished(),
          toolStart(textOf(line['tool_id']), textOf(line['tool_name']), fieldsOf(line['parameters'])),
        ]
      case 'tool_result':
        return [toolEnd(textOf(line['tool_id']), resultOf(line), line['status'] === 'error')]
      case 'error':
        return textItem('notice', line['message'])
      case 'result':
        return [...this.#finished(), ...this.#result(line)]
      default:
        return []
    }
  }

  /** An answer comes in pieces; only the line after the last piece shows that the answer has ended. */
  #answer(line: Fields): ProgramItem[] {
    const text = textOf(line['content'])
    this.#text += text
    return textItem('text-delta', text)
  }

  #finished(): ProgramItem[] {
    const text = this.#text
    this.#text = ''
    return textItem('text', text)
  }

  /** The usage of all calls of the turn, by model. */
  #result(line: Fields): ProgramItem[] {
    const models = Object.entries(fieldsOf(fieldsOf(line['stats'])['models']))
    const calls = models.map(([model, stats]) => callOf(model, fieldsOf(stats), textOf(line['timestamp'])))
    const error = fieldsOf(line['error'])
    return [
      ...calls,
      line['status'] === 'error'
        ? { is: 'failed', message: textOf(error['message']) || textOf(error['type']) }
        : { is: 'completed' },
    ]
  }
}

/** Only the total includes the tokens of thoughts; they are billed as output. */
function callOf(model: string, stats: Fields, at: string): ProgramItem {
  const cacheRead = countOf(stats['cached'])
  const read = countOf(stats['input_tokens'])
  const output = Math.max(countOf(stats['output_tokens']), countOf(stats['total_tokens']) - read)
  const usage = { input: Math.max(0, read - cacheRead), cacheRead, cacheWrite: 0, output }
  return {
    is: 'call',
    event: { type: 'usage', messageId: `${at} ${model}`, model, usage, subagent: false },
    continues: false,
  }
}

function resultOf(line: Fields): string {
  return textOf(line['output']) || textOf(fieldsOf(line['error'])['message'])
}
