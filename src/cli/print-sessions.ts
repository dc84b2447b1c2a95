// How sessions look in a terminal.
import { isNamedByKey } from '../domain/session-meta.ts'
import type { SessionRowOutput } from '../operations/sessions/session-row.ts'
import { ago, broken, fit, oneLine, pairs, prose, styled, table, tokens, usd, visible } from './print.ts'
import type { Column, Page } from './print.ts'

interface SessionList {
  total: number
  count: number
  sessions: SessionRowOutput[]
}

export function printList({ sessions, total, count }: SessionList, page: Page): string {
  if (sessions.length === 0) return noSessions(page)
  const agents = new Set(sessions.map((row) => row.agentId))
  const columns: Array<Column<SessionRowOutput>> = [
    { title: 'SESSION', value: nameOf, min: 20 },
    ...(agents.size > 1 ? [{ title: 'AGENT', value: (row: SessionRowOutput) => row.agentId }] : []),
    { title: 'ID', value: (row) => row.sessionId.slice(0, 8), min: 8, style: 'dim', spare: true },
    { title: 'ACTIVE', value: (row) => ago(row.updatedAt, page.now), align: 'right', min: 10 },
    { title: 'CONTEXT', value: contextOf, align: 'right', min: 7, spare: true },
    { title: 'COST', value: (row) => usd(row.estimatedCostUsd), align: 'right', min: 5, spare: true },
    { title: 'MODEL', value: (row) => (row.model ?? '-').replace(/^claude-/, ''), min: 6, spare: true },
  ]
  const more =
    count < total ? `\n${styled(page, 'dim', `${count} of ${total}; --limit all shows them all.`)}` : ''
  return `${table(sessions, columns, page)}${more}`
}

function noSessions({ input = {} }: Page): string {
  if (input['archived'] === true)
    return 'No archived sessions. `rockpool sessions archives` lists what a reset or a deletion put away.'
  const { limit: _limit, ...wishes } = input
  return Object.keys(wishes).length > 0 ? 'No session fits.' : 'No sessions. `rockpool chat` begins one.'
}

function nameOf(row: SessionRowOutput): string {
  const name = row.label ?? (isNamedByKey(row) ? undefined : row.displayName) ?? row.subject
  return name ? `${name} (${row.key})` : row.key
}

function contextOf(row: SessionRowOutput): string {
  if (row.totalTokens === undefined) return '-'
  const share = row.contextTokens ? ` ${Math.round((row.totalTokens / row.contextTokens) * 100)}%` : ''
  return `${tokens(row.totalTokens)}${share}`
}

interface SessionView {
  session: SessionRowOutput
  transcript: { exists: boolean; damage: string[] }
  items: Array<{ role: string; text: string }>
  /** Kept for OpenClaw. */
  withoutEffect: string[]
}

export function printStanding(row: SessionRowOutput, page: Page): string {
  return pairs(standing(row, page), page)
}

function standing(row: SessionRowOutput, page: Page): Array<[string, string | undefined]> {
  return [
    ['Key', row.key],
    ['Label', row.label],
    ['Id', row.sessionId],
    ['Agent', row.agentId],
    ['Active', ago(row.updatedAt, page.now)],
    ['Model', row.model],
    ['Context', contextOf(row)],
    ['Cost', row.estimatedCostUsd === undefined ? undefined : usd(row.estimatedCostUsd)],
    ['Claude', row.sdkSessionId],
    ['Archived', row.archivedAt === undefined ? undefined : ago(row.archivedAt, page.now)],
  ]
}

/** Prints the key alone, for use in another command. */
export function printKey({ key }: { key: string }): string {
  return oneLine(key)
}

interface Lost {
  key: string
  compactions: number
  total: number
  lines: Array<{ role: string; text: string; at: string }>
}

export function printLost({ key, compactions, total, lines }: Lost, page: Page): string {
  if (compactions === 0) return `${oneLine(key)} was never compacted: all of it is in the context.`
  if (lines.length === 0) return 'Nothing that a compaction removed has these words.'
  const said = lines.flatMap(({ role, text, at }) => [
    `${styled(page, 'dim', timeOf(at))} ${oneLine(role)}`,
    prose(visible(text), page, 2),
  ])
  return [
    ...said,
    ...(lines.length < total ? [`The last ${lines.length} of ${total}; --limit shows more.`] : []),
  ].join('\n')
}

export function printView({ session, transcript, items, withoutEffect }: SessionView, page: Page): string {
  const facts = pairs(
    [
      ...standing(session, page),
      ['Transcript', transcript.exists ? undefined : 'none yet'],
      ['No effect', withoutEffect.length > 0 ? withoutEffect.join(', ') : undefined],
      ['Damage', transcript.damage.length > 0 ? transcript.damage.join('\n') : undefined],
    ],
    page,
  )
  const said = items.map(({ role, text }) => broken(`${styled(page, 'bold', role)}  ${visible(text)}`, page))
  return [facts, ...(said.length > 0 ? ['', ...said] : [])].join('\n')
}

/** The text itself, so that it can be written to a file; a terminal must not be driven by it. */
export function printExport({ text }: { text: string }, page: Page): string {
  return page.interactive ? visible(text.trimEnd()) : text.trimEnd()
}

interface Entry {
  type: string
  timestamp: string
  [field: string]: unknown
}

interface History {
  key: string
  before?: number
  entries: Entry[]
  damage: string[]
}

export function printHistory({ key, entries, damage, before }: History, page: Page): string {
  const lines = entries.flatMap((entry) => printEntry(entry, page))
  const notes = damage.map((what) => styled(page, 'yellow', `! ${visible(what)}`))
  const more = before === undefined ? [] : [styled(page, 'dim', `… more before this: --before ${before}`)]
  const nothing = lines.length + notes.length + more.length === 0 && !page.following
  return nothing ? `Nothing was said in ${oneLine(key)} yet.` : [...more, ...lines, ...notes].join('\n')
}

interface Totals {
  inputTokens: number
  outputTokens: number
  cacheRead: number
  cacheWrite: number
  costUsd: number
}

export function printUsage(
  usage: { totals: Totals; count: number; sessions: Array<Totals & { key: string; updatedAt: number }> },
  page: Page,
): string {
  const { totals, count, sessions } = usage
  if (count === 0) return 'No session was active then.'
  const all = `${usd(totals.costUsd)} in ${count} session${count === 1 ? '' : 's'}: ${tokens(totals.inputTokens)} in, ${tokens(totals.outputTokens)} out, ${tokens(totals.cacheRead)} read from the cache, ${tokens(totals.cacheWrite)} written to it`
  const columns: Array<Column<(typeof sessions)[number]>> = [
    { title: 'SESSION', value: ({ key }) => key, min: 20 },
    { title: 'COST', value: ({ costUsd }) => usd(costUsd), align: 'right', min: 6 },
    { title: 'IN', value: ({ inputTokens }) => tokens(inputTokens), align: 'right' },
    { title: 'OUT', value: ({ outputTokens }) => tokens(outputTokens), align: 'right' },
    {
      title: 'CACHE READ',
      value: ({ cacheRead }) => tokens(cacheRead),
      align: 'right',
      spare: true,
      min: 10,
    },
    { title: 'ACTIVE', value: ({ updatedAt }) => ago(updatedAt, page.now), spare: true, min: 10 },
  ]
  return `${prose(all, page)}\n\n${table(sessions, columns, page)}`
}

interface Preview {
  key: string
  status: string
  items: Array<{ role: string; text: string }>
}

export function printPreviews({ previews }: { previews: Preview[] }, page: Page): string {
  return previews
    .map(({ key, status, items }) => {
      const lines = items.map(
        ({ role, text }) =>
          `  ${styled(page, 'dim', oneLine(role))} ${fit(oneLine(text), Math.max(20, page.width - role.length - 3))}`,
      )
      const none = status === 'missing' ? '  There is no such session.' : '  Nothing was said yet.'
      return [styled(page, 'bold', oneLine(key)), ...(lines.length > 0 ? lines : [none])].join('\n')
    })
    .join('\n\n')
}

function printEntry(entry: Entry, page: Page): string[] {
  const when = styled(page, 'dim', timeOf(entry.timestamp))
  if (entry.type === 'message') return printMessage(entry['message'] as Message, when, page)
  if (entry.type === 'compaction')
    return [`${when} ${styled(page, 'magenta', 'compacted')}`, prose(said(entry['summary']), page, 2)]
  if (entry.type === 'model_change')
    return [`${when} ${styled(page, 'dim', `model ${said(entry['modelId'])}`)}`]
  if (entry.type === 'thinking_level_change')
    return [`${when} ${styled(page, 'dim', `thinking ${said(entry['thinkingLevel'])}`)}`]
  return []
}

/** In UTC, and says so: transcripts are read on many machines. */
export function timeOf(timestamp: string | number): string {
  const at = typeof timestamp === 'number' ? timestamp : Date.parse(timestamp)
  return Number.isNaN(at) || at === 0 ? '-' : `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`
}

interface Message {
  role: string
  content: unknown
  toolName?: unknown
  isError?: unknown
  model?: unknown
}

interface Block {
  type: string
  text?: unknown
  name?: unknown
  arguments?: unknown
}

/** What was delivered without a model (a notice, a message sent by hand) is told apart from what the agent said. */
function speakerOf({ role, toolName, isError, model }: Message): string {
  if (role === 'toolResult') return `${said(toolName)}${isError ? ' failed' : ''}`
  return model === 'delivery-mirror' ? 'delivered' : role
}

function printMessage(message: Message, when: string, page: Page): string[] {
  const blocks: Block[] =
    typeof message.content === 'string'
      ? [{ type: 'text', text: message.content }]
      : ((message.content ?? []) as Block[])
  const color = message.role === 'user' ? 'cyan' : message.role === 'assistant' ? 'green' : 'dim'
  const who = speakerOf(message)
  return blocks.flatMap((block) => {
    if (block.type === 'text')
      return [`${when} ${styled(page, color, oneLine(who))}`, prose(said(block.text), page, 2)]
    if (block.type === 'toolCall') {
      const input = oneLine(JSON.stringify(block.arguments ?? {})).slice(0, page.width)
      return [`${when} ${styled(page, 'dim', `uses ${oneLine(said(block.name))} ${input}`)}`]
    }
    return block.type === 'image' ? [`${when} ${styled(page, 'dim', '[image]')}`] : []
  })
}

function said(text: unknown): string {
  return visible(typeof text === 'string' ? text : '').trimEnd()
}
