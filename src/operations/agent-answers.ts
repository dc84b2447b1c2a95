// Answers for agents and chats. Of a long list an agent gets the first rows, each with its most important fields: Claude Code
// stores long tool answers in a file and shows only their first 2 kB. `limit` gives more rows.
import { formatUsd } from '../domain/text.ts'

type Row = Record<string, unknown>

interface View {
  /** The field of the answer that holds the rows. */
  list: string
  /** How many rows are shown when the caller gives no limit. */
  most: number
  row(row: Row): Row
  /** Give whole rows when the caller sets a limit. */
  wholeWithLimit?: boolean
}

const views: Readonly<Record<string, View>> = {
  'cc.list': {
    list: 'sessions',
    most: 6,
    row: (row) => ({
      ...picked(row, ['sessionId', 'agentKind', 'status', 'repoPath', 'branch', 'lastModified', 'costUsd']),
      title: row['title'] ?? row['label'] ?? row['lastPrompt'] ?? row['firstMessage'],
    }),
  },
  'coding.sessions': {
    list: 'sessions',
    most: 6,
    row: (row) => ({
      ...picked(row, ['id', 'name', 'lifecycle', 'status', 'workdir', 'prompt', 'costUsd', 'display']),
      waiting: (row['waiting'] as Row | undefined)?.['about'],
    }),
  },
  'sessions.list': {
    list: 'sessions',
    most: 6,
    row: (row) =>
      picked(row, [
        'key',
        'sessionId',
        'label',
        'displayName',
        'derivedTitle',
        'lastMessagePreview',
        'updatedAt',
        'model',
        'totalTokens',
      ]),
  },
  'sessions.search': hits(),
  'memory.search': hits(),
  'memory.list': {
    list: 'notes',
    most: 12,
    row: (row) => picked(row, ['agentId', 'name', 'bytes', 'changedAt']),
  },
  'sessions.history': {
    list: 'entries',
    most: 6,
    wholeWithLimit: true,
    row: (row) => {
      const message = row['message'] as Row | undefined
      return {
        ...picked(row, ['type', 'timestamp']),
        role: message?.['role'],
        text: textIn(message?.['content']),
      }
    },
  },
}

function hits(): View {
  const fields = ['sessionId', 'sessionKey', 'source', 'repoPath', 'role', 'line', 'snippet']
  return { list: 'hits', most: 5, row: (row) => picked(row, fields) }
}

/** The answer for an agent; `given` is the input of the agent. Answers without rows stay unchanged. */
export function compactAnswer(operation: string, given: Row, output: unknown): unknown {
  const view = Object.hasOwn(views, operation) ? views[operation] : undefined
  const rows = (output as Row | null)?.[view?.list ?? '']
  if (!view || !Array.isArray(rows)) return output
  const hasLimit = given['limit'] !== undefined
  if (hasLimit && view.wholeWithLimit) return output
  // The newest rows are the first of a list, and the last of a history.
  const shown = hasLimit ? rows : view.list === 'entries' ? rows.slice(-view.most) : rows.slice(0, view.most)
  const total = Math.max(Number((output as Row)['total'] ?? 0), rows.length)
  const { notes } = output as Row
  return {
    total,
    [view.list]: shown.map((row: Row) => shortened(view.row(row))),
    ...(view.list !== 'notes' && Array.isArray(notes) && notes.length > 0
      ? { notes: notes as unknown[] }
      : {}),
    ...(shown.length < total ? { more: `${total - shown.length} more; set limit to see them` } : {}),
  }
}

function picked(row: Row, fields: readonly string[]): Row {
  return Object.fromEntries(fields.filter((field) => field in row).map((field) => [field, row[field]]))
}

/** The longest texts of a row; names and paths stay whole. */
const maxChars: Readonly<Record<string, number>> = {
  title: 60,
  prompt: 60,
  waiting: 80,
  snippet: 220,
  text: 240,
  lastMessagePreview: 80,
}

function shortened(row: Row): Row {
  const short = Object.entries(row).map(([field, value]) => {
    if (typeof value === 'number') return [field, Math.round(value * 10_000) / 10_000]
    const max = maxChars[field]
    if (typeof value !== 'string' || max === undefined || value.length <= max) return [field, value]
    return [field, `${value.slice(0, max).toWellFormed()}…`]
  })
  return Object.fromEntries(short) as Row
}

function textIn(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return content
    .map((block: { text?: unknown }) => (typeof block.text === 'string' ? block.text : ''))
    .join('')
}

/** The reason often begins with the action. */
function whyOf({ action, reason }: Row): string {
  const why = String(reason)
  return why.startsWith(`${String(action)}: `) ? why : `${String(action)}: ${why}`
}

const howToStartFresh = 'It continues an earlier conversation. For a new one, launch it with fresh: true.'

/** The formats that users of the plugin know. */
const texts: Readonly<Record<string, (output: Row) => string>> = {
  'coding.launch': (row) =>
    [
      `Launched ${named(row)} (${whyOf(row)})`,
      whereOf(row),
      ...(row['action'] === 'resume' || row['action'] === 'fork' ? [howToStartFresh] : []),
      typeof row['output'] === 'string'
        ? row['output']
        : 'It runs in the background; you get a message when it waits or is done.',
    ].join('\n'),
  'coding.resume': (row) => `Resumed ${named(row)}\n${whereOf(row)}`,
  'coding.move': (row) => [`Moved ${named(row)}`, whereOf(row), ...(row['warnings'] as string[])].join('\n'),
  'coding.respond': (row) => `Sent to ${named(row)}.`,
  'coding.kill': (row) => {
    if (row['killed']) return `⛔ ${named(row)} was ended.`
    return row['waiting']
      ? `${named(row)} waits for its next message again.`
      : `${named(row)} is over already.`
  },
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
  'approvals.answer': ({ approvals, budgetUsd }) =>
    [
      ...(approvals as Array<{ state: string; session?: string }>).map(
        (row) => `${row.state}${row.session ? ` [${row.session}]` : ''}`,
      ),
      ...(typeof budgetUsd === 'number' ? [`Its budget is now ${formatUsd(budgetUsd, 0.01)}.`] : []),
    ].join('\n'),
}

/** The output of a coding operation as text; undefined for other operations. */
export function answerText(operation: string, output: unknown): string | undefined {
  const write = Object.hasOwn(texts, operation) ? texts[operation] : undefined
  return write?.(output as Row)
}

function whereOf({ workdir, machine }: Row): string {
  return `📁 ${String(workdir)}${typeof machine === 'string' ? ` on ${machine}` : ''}`
}

function named(row: Row): string {
  return `${String(row['name'])} [${String(row['id'])}]`
}
