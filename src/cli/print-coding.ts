// Coding sessions and machines.
import { shownName } from '../domain/coding-state.ts'
import type { SessionState } from '../domain/coding-state.ts'
import { shellWord } from '../domain/text.ts'
import type { OutputOf } from '../rpc/client.ts'
import { duration, oneLine, prose, safe, styled, table, tokens, usd, usdCell, visible } from './print.ts'
import type { Columns, Page, Printers, Style } from './print.ts'

export type CodingRow = OutputOf<'coding.sessions'>['sessions'][number]

export const printers: Printers = {
  'coding.foreground': ({ missed }) => visible(missed),
  'coding.launch': printLaunched,
  'coding.again': printLaunched,
  'coding.move': (row, page) =>
    [
      `${safe`Resumed ${shownName(row)}`}${onMachine(row)}: ${oneLine(row.workdir)}`,
      ...row.warnings.map((warning) => styled(page, 'yellow', oneLine(warning))),
    ].join('\n'),
  'coding.output': ({ result }) => visible(result),
  'coding.resume': printLaunched,
  'coding.sessions': ({ sessions }, page) => {
    if (sessions.length === 0)
      return 'Rockpool has run no coding session yet. Start one: rockpool cc launch "fix the failing test" --repo .\n`rockpool cc list` shows the sessions that were started without Rockpool.'
    return table(page, sessions.map(codingLine).toSorted(byUrgency), columnsFor(page))
  },
  'coding.stats': printStats,
  'machines.list': printMachines,
}

/** A row of a table: a coding session, or a session that Claude Code runs in a terminal of its own. */
export interface SessionLine {
  id: string
  name: string
  state: SessionState
  needsYou: boolean
  /** Its request, its activity, or its last words. */
  now: string
  where: string
  lastActivityAt: number
  costUsd: number
  context: string
}

export function codingLine(row: CodingRow): SessionLine {
  const { id, state, needsYou, lastActivityAt, costUsd } = row
  const context = contextShare(row.contextTokens, row.contextWindow)
  return {
    id,
    name: shownName(row),
    state,
    needsYou,
    now: currentActivity(row),
    where: whereOf(row),
    lastActivityAt,
    costUsd,
    context,
  }
}

/** Failed sessions that no person has looked at come first, then those that ask, then the rest; the latest first in each group. */
export function byUrgency(a: SessionLine, b: SessionLine): number {
  return urgencyOf(a) - urgencyOf(b) || b.lastActivityAt - a.lastActivityAt
}

const urgency: readonly SessionState[] = [
  'failed',
  'needs you',
  'ready',
  'limited',
  'working',
  'idle',
  'stopped',
]

function urgencyOf({ state, needsYou }: SessionLine): number {
  return state === 'failed' && !needsYou ? urgency.length : urgency.indexOf(state)
}

/** The session cannot continue without an answer. One that waits for its next message has only finished its turn. */
export function isAsking(row: CodingRow): boolean {
  return row.waiting !== undefined && row.waiting.for !== 'input'
}

export function currentActivity(row: CodingRow): string {
  return row.lifecycle === 'queued' ? `queued: ${row.stateText}` : row.stateText
}

const stateStyles: Readonly<Record<SessionState, Style>> = {
  'needs you': 'yellow',
  failed: 'red',
  ready: 'cyan',
  limited: 'yellow',
  working: 'green',
  idle: 'dim',
  stopped: 'dim',
}

export function stateStyle({ state }: { state: SessionState }): Style {
  return stateStyles[state]
}

/** Name, state and activity are shown on any page; the others only on wider ones. */
export function columnsFor({ width, now }: Page): Columns<SessionLine> {
  const age = (line: SessionLine): string => duration(Math.max(1000, now - line.lastActivityAt))
  return {
    ID: width >= 100 && { value: (line) => line.id.slice(0, 8), min: 8 },
    NAME: { value: (line) => line.name, min: 12 },
    STATE: { value: (line) => line.state, min: 9, style: stateStyle },
    NOW: { value: (line) => line.now, min: width < 72 ? 8 : 16 },
    WHERE: width >= 100 && { value: (line) => line.where, min: 8 },
    AGE: width >= 72 && { value: age, align: 'right', min: 5 },
    COST: width >= 46 && { value: (line) => usdCell(line.costUsd), align: 'right', min: 7 },
    CONTEXT: width >= 54 && { value: (line) => line.context, align: 'right', min: 7 },
  }
}

export function contextShare(used: number | undefined, window: number | undefined): string {
  return used === undefined || !window ? tokens(used) : `${Math.round((100 * used) / window)}%`
}

function printLaunched(
  row: OutputOf<'coding.resume'> & { action?: string; reason?: string },
  page: Page,
): string {
  const note = row.note ? [styled(page, 'yellow', prose(row.note, page))] : []
  if (row.output !== undefined) return [...note, visible(row.output)].join('\n')
  const name = oneLine(row.name)
  const hint = `Watch: rockpool cc watch   Answer: rockpool cc respond ${shellWord(name)} "…"`
  return [
    `${styled(page, 'bold', oneLine(shownName(row)))} ${row.id} ${row.state}${onMachine(row)}`,
    ...(row.action ? [prose(explanation(row.action, row.reason ?? '', row), page)] : []),
    ...note,
    styled(page, 'dim', hint),
  ].join('\n')
}

/** The reason often begins with the action. */
function explanation(action: string, reason: string, row: CodingRow): string {
  if (row.queue && reason === 'asked for') return oneLine(currentActivity(row))
  if (reason === 'asked for') return action === 'fresh' ? 'New session (--fresh)' : `${action}, as you asked`
  return oneLine(reason.startsWith(action) ? reason : `${action}: ${reason}`)
}

function printMachines({ machines }: OutputOf<'machines.list'>, page: Page): string {
  const away = (since: number): string => `away ${duration(page.now - since)}`
  return table(page, machines, {
    MACHINE: { value: ({ name, isHere }) => (isHere ? `${name} (here)` : name), min: 12 },
    LABELS: { value: ({ labels }) => labels.join(', '), min: 6 },
    STATE: {
      value: ({ awaySince }) => (awaySince === undefined ? 'online' : away(awaySince)),
      min: 6,
      style: ({ awaySince }) => (awaySince === undefined ? 'green' : 'yellow'),
    },
    SESSIONS: { value: ({ running }) => String(running), align: 'right', min: 3 },
    REPOSITORIES: { value: (row) => row.repositories.map(({ path }) => path).join(' '), min: 20 },
  })
}

function whereOf({ workdir, machine }: CodingRow): string {
  const folder = workdir.split('/').at(-1) ?? ''
  return machine === undefined ? folder : `${machine}:${folder}`
}

function onMachine({ machine }: CodingRow): string {
  return machine === undefined ? '' : safe` on ${machine}`
}

/** The figures, and how much is left of each limit. */
function printStats({ display, budgets }: OutputOf<'coding.stats'>, page: Page): string {
  if (budgets.length === 0) return visible(display)
  const left = (at: number): string => duration(Math.max(0, at - page.now))
  const limits = table(page, budgets, {
    'LIMIT OF': ({ of }) => of,
    WHICH: { value: ({ name }) => name, min: 12 },
    SPENT: { value: ({ spentUsd }) => usd(spentUsd), align: 'right' },
    OF: { value: ({ limitUsd }) => usd(limitUsd), align: 'right' },
    'RUNS OUT IN': {
      value: ({ runsOutAt }) => (runsOutAt === undefined ? '-' : left(runsOutAt)),
      align: 'right',
    },
  })
  return `${visible(display)}\n\n${limits}`
}
