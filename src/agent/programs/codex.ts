// Codex as a program: `codex exec --json`, continued with `codex exec resume`. Its sandbox is chosen at the start, because a run
// without a terminal asks no questions: it reads, or it also writes within the repository. The network is closed to its commands.
import type { AgentProgram, ProgramItem, ProgramReader, ProgramTurn } from './program.ts'
import { fieldsOf, mayEdit, option, textItem, textOf, toolEnd, toolStart } from './program.ts'

type Fields = Record<string, unknown>

const efforts = new Map([
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['max', 'xhigh'],
])

export const codex: AgentProgram = {
  kind: 'codex',
  name: 'Codex',
  command: 'codex',
  npmPackage: '@openai/codex',
  login: '`codex login`, or OPENAI_API_KEY',
  variables: ['CODEX_HOME', 'CODEX_SQLITE_HOME', 'OPENAI_API_KEY', 'CODEX_API_KEY', 'OPENAI_BASE_URL'],
  can: { fork: true, systemPrompt: true, thinking: [...efforts.keys()], tools: [] },
  rights: (mode) =>
    mayEdit(mode)
      ? 'changes files and runs commands in its sandbox, which writes only in the repository and has no network'
      : 'reads files and runs commands in its sandbox, which writes nothing and has no network',
  countsInFiles: true,
  commandFor: (turn) => ({ args: ['exec', ...optionsOf(turn), ...sessionOf(turn), '-'] }),
  makeReader: () => new CodexReader(),
}

function optionsOf({ cwd, model, thinking, systemPrompt, permissionMode }: ProgramTurn): string[] {
  const effort = efforts.get(thinking ?? '')
  const settings = [
    'approval_policy="never"',
    'check_for_update_on_startup=false',
    ...(effort === undefined ? [] : [`model_reasoning_effort="${effort}"`]),
    ...(systemPrompt === undefined ? [] : [`developer_instructions=${JSON.stringify(systemPrompt)}`]),
  ]
  return [
    '--json',
    // Rockpool has checked the directory, and decides below what may be written.
    '--skip-git-repo-check',
    ...option('--sandbox', mayEdit(permissionMode) ? 'workspace-write' : 'read-only'),
    ...option('--cd', cwd),
    ...option('--model', model),
    ...settings.flatMap((setting) => option('-c', setting)),
  ]
}

function sessionOf({ resume }: ProgramTurn): string[] {
  return resume ? [resume.fork ? 'fork' : 'resume', resume.sessionId] : []
}

class CodexReader implements ProgramReader {
  /** Codex repeats an answer that was cut off. */
  #lastText = ''

  read(line: Fields): ProgramItem[] {
    switch (line['type']) {
      case 'thread.started':
        return [{ is: 'session', sessionId: textOf(line['thread_id']) }]
      case 'item.started':
        return this.#started(fieldsOf(line['item']))
      case 'item.completed':
        return this.#completed(fieldsOf(line['item']))
      case 'turn.completed':
        return [{ is: 'completed' }]
      case 'turn.failed':
        return [{ is: 'failed', message: textOf(fieldsOf(line['error'])['message']) }]
      case 'error':
        return retryOf(textOf(line['message']))
      default:
        return []
    }
  }

  #started(item: Fields): ProgramItem[] {
    const tool = toolOf(item)
    return tool ? [toolStart(textOf(item['id']), tool.name, tool.input)] : []
  }

  #completed(item: Fields): ProgramItem[] {
    const id = textOf(item['id'])
    if (item['type'] === 'agent_message') return this.#text(textOf(item['text']))
    if (item['type'] === 'reasoning') return textItem('thinking', item['text'])
    if (item['type'] === 'error') return textItem('notice', item['message'])
    return toolOf(item) ? [toolEnd(id, outputOf(item), item['status'] === 'failed')] : []
  }

  #text(text: string): ProgramItem[] {
    if (text === this.#lastText) return []
    this.#lastText = text
    return textItem('text', text)
  }
}

/** `Reconnecting... 1/5 (reason)`; other errors come again with the end of the turn. */
function retryOf(message: string): ProgramItem[] {
  const [, attempt, reason = ''] = /^Reconnecting\.\.\. (\d+)\/\d+(?: \((.*)\))?/.exec(message) ?? []
  if (attempt === undefined) return []
  return [
    {
      is: 'event',
      event: { type: 'retry', attempt: Number(attempt), delayMs: 0, reason: reason || 'no connection' },
    },
  ]
}

function toolOf(item: Fields): { name: string; input: Fields } | undefined {
  switch (item['type']) {
    case 'command_execution':
      return { name: 'command', input: { command: item['command'] } }
    case 'file_change':
      return { name: 'apply_patch', input: { path: pathsOf(item['changes']) } }
    case 'mcp_tool_call':
      return { name: `${textOf(item['server'])}.${textOf(item['tool'])}`, input: fieldsOf(item['arguments']) }
    case 'web_search':
      return { name: 'web_search', input: { query: item['query'] } }
    case 'collab_tool_call':
      return { name: textOf(item['tool']), input: { prompt: item['prompt'] } }
    default:
      return undefined
  }
}

function pathsOf(changes: unknown): string {
  return Array.isArray(changes) ? changes.map((change) => textOf(fieldsOf(change)['path'])).join(', ') : ''
}

function outputOf(item: Fields): string {
  const output = textOf(item['aggregated_output'])
  const code = item['exit_code']
  return typeof code === 'number' && code !== 0 ? `exit code ${code}\n${output}` : output
}
