// What coding operations answer, as words for a chat or an agent: the formats that users of the plugin know.
import { asRockpoolError } from '../../domain/errors.ts'

type Output = Record<string, unknown>

const texts: Readonly<Record<string, (output: Output) => string>> = {
  'coding.launch': (row) =>
    [
      `Launched ${named(row)} (${String(row['action'])}: ${String(row['reason'])})`,
      placeOf(row),
      typeof row['output'] === 'string'
        ? row['output']
        : 'It runs in the background; you are told when it waits or is done.',
    ].join('\n'),
  'coding.resume': (row) => `Resumed as ${named(row)}\n${placeOf(row)}`,
  'coding.move': (row) => [`Moved ${named(row)}`, placeOf(row), ...(row['warnings'] as string[])].join('\n'),
  'coding.respond': (row) => `Sent to ${named(row)}.`,
  'coding.kill': (row) => (row['killed'] ? `⛔ ${named(row)} was ended.` : `${named(row)} is over already.`),
  'coding.sessions': ({ sessions, more }) =>
    [
      ...(sessions as Array<{ display: string }>).map((row) => row.display),
      ...(typeof more === 'string' ? [more] : []),
    ].join('\n\n') || 'No coding sessions.',
  'coding.output': ({ result }) => String(result),
  'coding.foreground': ({ missed }) => String(missed),
  'coding.background': ({ ids }) =>
    (ids as string[]).length === 0 ? 'Nothing was streamed here.' : 'No longer streaming here.',
  'coding.stats': ({ display }) => String(display),
  'approvals.answer': ({ approvals }) =>
    (approvals as Array<{ state: string; session?: string }>)
      .map((row) => `${row.state}${row.session ? ` [${row.session}]` : ''}`)
      .join('\n'),
}

/** Undefined for an operation that has no words of its own. */
export function wordsFor(operation: string, output: unknown): string | undefined {
  const write = Object.hasOwn(texts, operation) ? texts[operation] : undefined
  return write?.(output as Output)
}

/** What went wrong and what helps, in one line. */
export function wordsForError(error: unknown): string {
  const { message, hint } = asRockpoolError(error)
  return [message, hint].filter(Boolean).join(' ')
}

function placeOf({ workdir, machine }: Output): string {
  return `📁 ${String(workdir)}${typeof machine === 'string' ? ` on ${machine}` : ''}`
}

function named(row: Output): string {
  return `${String(row['name'])} [${String(row['id'])}]`
}
