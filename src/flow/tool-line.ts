// One line for a tool call: the tool's name and its most telling argument. For chats, terminals and the dashboard.
import { plainLine } from '../domain/text.ts'

const tellingFields = [
  'command',
  'file_path',
  'path',
  'pattern',
  'query',
  'url',
  'description',
  'prompt',
  'skill',
]

/** `Bash: git status`, `Read: src/main.ts` */
export function toolLine(name: string, input: Record<string, unknown>): string {
  const about = tellingFields
    .map((field) => input[field])
    .find((value) => typeof value === 'string' && value !== '')
  const shortName = name.replace(/^mcp__/, '').replaceAll('__', '.')
  return typeof about === 'string' ? `🔧 ${shortName}: ${plainLine(about, 120)}` : `🔧 ${shortName}`
}
