// Tool calls of one agent in the words of another: agents run commands and read, write and edit files under other names. A call
// without an equivalent becomes text, which every model understands.
import type { HandoffTurn } from './handoff-turns.ts'

export type HandoffTarget = 'claude' | 'codex' | 'pi'

type ToolTurn = Extract<HandoffTurn, { role: 'tool' }>
type Fields = Record<string, unknown>

/** The action of a tool call, independent of the name of the tool. */
type Act =
  | { does: 'run'; command: string }
  | { does: 'read'; path: string }
  | { does: 'write'; path: string; content: string }
  | { does: 'edit'; path: string; before: string; after: string }

/** The call in the words of the target; undefined if the target has no such tool. */
export function translatedCall(
  turn: ToolTurn,
  to: HandoffTarget,
): { name: string; input: Fields } | undefined {
  const act = actOf(turn)
  if (!act) return undefined
  if (to === 'codex')
    return act.does === 'run' ? { name: 'exec_command', input: { cmd: act.command } } : undefined
  return to === 'claude' ? forClaude(act) : forPi(act)
}

/** A call and its result as text. */
export function callAsText({ name, input, output, isError }: ToolTurn): string {
  const result = isError ? 'It failed' : 'It returned'
  return `I called the tool ${name} with ${JSON.stringify(input)}. ${result}:\n\n${output}`
}

function actOf({ name, input }: ToolTurn): Act | undefined {
  const path = firstText(input, 'file_path', 'path', 'filePath', 'absolute_path')
  switch (name) {
    case 'Bash':
    case 'bash':
    case 'exec_command':
    case 'shell':
    case 'run_shell_command': {
      const command = firstText(input, 'command', 'cmd')
      return command === undefined ? undefined : { does: 'run', command }
    }
    case 'Read':
    case 'read':
    case 'read_file':
      return path === undefined ? undefined : { does: 'read', path }
    case 'Write':
    case 'write':
    case 'write_file': {
      const content = firstText(input, 'content')
      return path === undefined || content === undefined ? undefined : { does: 'write', path, content }
    }
    default:
      return editOf(name, input, path)
  }
}

function editOf(name: string, input: Fields, path: string | undefined): Act | undefined {
  if (path === undefined || !['Edit', 'edit', 'replace'].includes(name)) return undefined
  const edits: unknown = input['edits']
  // pi may edit several places at once; only one place has an equivalent everywhere.
  const one = Array.isArray(edits) && edits.length === 1 ? (edits[0] as Fields) : input
  const before = firstText(one, 'old_string', 'oldString', 'oldText')
  const after = firstText(one, 'new_string', 'newString', 'newText')
  return before === undefined || after === undefined ? undefined : { does: 'edit', path, before, after }
}

function forClaude(act: Act): { name: string; input: Fields } {
  switch (act.does) {
    case 'run':
      return { name: 'Bash', input: { command: act.command } }
    case 'read':
      return { name: 'Read', input: { file_path: act.path } }
    case 'write':
      return { name: 'Write', input: { file_path: act.path, content: act.content } }
    default:
      return { name: 'Edit', input: { file_path: act.path, old_string: act.before, new_string: act.after } }
  }
}

function forPi(act: Act): { name: string; input: Fields } {
  switch (act.does) {
    case 'run':
      return { name: 'bash', input: { command: act.command } }
    case 'read':
      return { name: 'read', input: { path: act.path } }
    case 'write':
      return { name: 'write', input: { path: act.path, content: act.content } }
    default:
      return { name: 'edit', input: { path: act.path, edits: [{ oldText: act.before, newText: act.after }] } }
  }
}

function firstText(input: Fields, ...names: string[]): string | undefined {
  const found = names.map((name) => input[name]).find((value) => typeof value === 'string')
  return typeof found === 'string' ? found : undefined
}
