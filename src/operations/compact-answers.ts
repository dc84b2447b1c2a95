// What an agent gets of a long answer: the first few rows, and of each row what one decides by. Claude Code stores long tool
// answers in a file and shows their first 2 kB, so a usual answer stays below that. `limit` gives more rows.

type Row = Record<string, unknown>

interface View {
  /** The field of the answer that holds the rows. */
  list: string
  /** How many rows are shown when the caller gives no limit. */
  most: number
  row(row: Row): Row
  /** The rows are what was asked for, so they are whole when the caller says how many. */
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

/** The answer for an agent; `given` is what the agent asked with. Answers without rows stay as they are. */
export function compactAnswer(operation: string, given: Row, output: unknown): unknown {
  const view = Object.hasOwn(views, operation) ? views[operation] : undefined
  const rows = (output as Row | null)?.[view?.list ?? '']
  if (!view || !Array.isArray(rows)) return output
  const hasLimit = given['limit'] !== undefined
  if (hasLimit && view.wholeWithLimit) return output
  // The newest stand first in a list, and last in a history.
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

/** Longest texts that a row keeps; names and paths are needed whole. */
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
