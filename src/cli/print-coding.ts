// Coding sessions and what they ask, for people at a terminal.
import type { Grant } from '../domain/coding-session.ts'
import { ago, duration, oneLine, prose, styled, table, tokens, usd, visible } from './print.ts'
import type { Column, Page, Style } from './print.ts'
import type { Machine } from '../domain/machine.ts'

export interface CodingRow {
  id: string
  name: string
  status: string
  lifecycle: string
  waiting?: { for: string; about: string; since: number; approvalId?: string }
  endMessage?: string
  prompt: string
  workdir: string
  machine?: string
  costUsd: number
  budgetUsd: number
  turns: number
  waitedMs: number
  contextTokens?: number
  contextWindow?: number
  doing?: string
  lastActivityAt: number
  claudeSessionId?: string
  unsaid?: string[]
}

/** Sessions that wait for a person first, then working ones, then the rest. */
export function byWhoMustAct(a: CodingRow, b: CodingRow): number {
  return groupOf(a) - groupOf(b) || b.lastActivityAt - a.lastActivityAt
}

function groupOf(row: CodingRow): number {
  if (isAsking(row)) return 0
  if (row.waiting) return 1
  return row.status === 'running' || row.status === 'starting' ? 2 : 3
}

/** Blocked on an answer. A session that waits for its next message has only finished its turn. */
export function isAsking(row: CodingRow): boolean {
  return row.waiting !== undefined && row.waiting.for !== 'input'
}

/** What it does, asks, or how it ended, in one line. */
export function nowOf(row: CodingRow): string {
  if (row.waiting) return row.waiting.about || row.prompt
  return row.doing ?? (row.endMessage || row.prompt)
}

export function stateOf(row: CodingRow): string {
  return row.lifecycle === 'ended' ? row.status : row.lifecycle.replace('awaiting-', 'waits: ')
}

export function styleOf(row: CodingRow): Style | undefined {
  if (row.waiting) return 'yellow'
  if (row.status === 'failed') return 'red'
  return row.status === 'running' || row.status === 'starting' ? 'green' : 'dim'
}

export const codingColumns: ReadonlyArray<Column<CodingRow & { now: number }>> = [
  { title: 'ID', value: (row) => row.id, min: 8 },
  { title: 'NAME', value: (row) => row.name, min: 12 },
  { title: 'STATE', value: stateOf, min: 15, style: styleOf },
  { title: 'NOW', value: nowOf, min: 16 },
  { title: 'WHERE', value: whereOf, min: 8 },
  {
    title: 'AGE',
    value: (row) => duration(Math.max(0, row.now - row.lastActivityAt)),
    align: 'right',
    min: 5,
  },
  { title: 'COST', value: (row) => usd(row.costUsd), align: 'right', min: 7 },
  { title: 'CONTEXT', value: fillOf, align: 'right', min: 4 },
]

/** From which width on there is room for a column. What it does and whom it waits for must be readable on any screen. */
const roomFor: Readonly<Record<string, number>> = { ID: 100, WHERE: 100, AGE: 72, CONTEXT: 54, COST: 46 }

export function columnsFor(width: number): typeof codingColumns {
  return codingColumns
    .filter(({ title }) => width >= (roomFor[title] ?? 0))
    .map((column) => (column.title === 'NOW' && width < 72 ? { ...column, min: 8 } : column))
}

export function fillOf(row: Pick<CodingRow, 'contextTokens' | 'contextWindow'>): string {
  if (row.contextTokens === undefined || !row.contextWindow) return tokens(row.contextTokens)
  return `${Math.round((100 * row.contextTokens) / row.contextWindow)}%`
}

export function printSessions(output: { sessions: CodingRow[] }, page: Page): string {
  if (output.sessions.length === 0) {
    return 'No coding sessions yet. Start one: rockpool cc launch "fix the failing test" --repo .'
  }
  const rows = output.sessions.toSorted(byWhoMustAct).map((row) => ({ ...row, now: page.now }))
  return table(rows, columnsFor(page.width), page)
}

export function printLaunched(
  output: CodingRow & { action?: string; reason?: string; output?: string; note?: string },
  page: Page,
): string {
  const note = output.note ? [styled(page, 'yellow', prose(output.note, page))] : []
  if (output.output !== undefined) return [...note, visible(output.output)].join('\n')
  return [
    `${styled(page, 'bold', oneLine(output.name))} ${output.id} ${launchedAs(output)}${onOf(output)}`,
    ...(output.action ? [prose(howOf(output.action, output.reason ?? ''), page)] : []),
    ...note,
    styled(
      page,
      'dim',
      `Look: rockpool cc output ${output.id}   Answer: rockpool cc respond ${output.id} "…"`,
    ),
  ].join('\n')
}

/** The reason mostly says the action itself. */
function howOf(action: string, reason: string): string {
  return oneLine(reason.startsWith(action) ? reason : `${action}: ${reason}`)
}

/** It is in the queue for a moment before it starts; only one that has to wait there is called queued. */
function launchedAs(row: CodingRow & { action?: string }): string {
  return row.lifecycle === 'queued' && row.action !== 'queue' ? 'starting' : stateOf(row)
}

export function printMoved(row: CodingRow & { warnings: string[] }, page: Page): string {
  return [
    `Resumed ${oneLine(row.name)}${onOf(row)}: ${oneLine(row.workdir)}`,
    ...row.warnings.map((warning) => styled(page, 'yellow', oneLine(warning))),
  ].join('\n')
}

export function printMachines(output: { machines: Machine[] }, page: Page): string {
  const rows = output.machines.map((machine) => ({ ...machine, now: page.now }))
  return table(rows, machineColumns, page)
}

const machineColumns: ReadonlyArray<Column<Machine & { now: number }>> = [
  { title: 'MACHINE', value: ({ name, isHere }) => (isHere ? `${name} (here)` : name), min: 12 },
  { title: 'LABELS', value: ({ labels }) => labels.join(', '), min: 6 },
  {
    title: 'STATE',
    value: ({ awaySince, now }) => (awaySince === undefined ? 'lives' : `away ${duration(now - awaySince)}`),
    min: 6,
    style: ({ awaySince }) => (awaySince === undefined ? 'green' : 'yellow'),
  },
  { title: 'SESSIONS', value: ({ running }) => String(running), align: 'right', min: 3 },
  {
    title: 'REPOSITORIES',
    value: ({ repositories }) => repositories.map(({ path }) => path).join(' '),
    min: 20,
  },
]

function whereOf({ workdir, machine }: CodingRow): string {
  const folder = workdir.split('/').at(-1) ?? ''
  return machine === undefined ? folder : `${machine}:${folder}`
}

function onOf({ machine }: CodingRow): string {
  return machine === undefined ? '' : ` on ${oneLine(machine)}`
}

export function printSent(row: CodingRow): string {
  return `Sent to ${oneLine(row.name)}.`
}

export function printInterrupted(row: CodingRow): string {
  return `${oneLine(row.name)} was stopped (${stateOf(row)}). Say what comes next: rockpool cc respond ${row.id} "…"`
}

export function printReleased(row: CodingRow): string {
  return `${oneLine(row.name)} is released. Continue it with: rockpool cc attach ${row.id}, or rockpool cc resume ${row.id}`
}

export function printKilled(row: CodingRow & { killed: boolean }): string {
  return row.killed
    ? `${oneLine(row.name)} was ended.`
    : `${oneLine(row.name)} is over already (${stateOf(row)}).`
}

export function printBackground({ ids }: { ids: string[] }): string {
  return ids.length === 0 ? 'Nothing was streamed here.' : `No longer streamed here: ${ids.join(', ')}.`
}

export function printText(output: { result?: string; display?: string; missed?: string }): string {
  return visible(output.result ?? output.missed ?? output.display ?? '')
}

interface Limit {
  of: string
  name: string
  limitUsd: number
  spentUsd: number
  runsOutAt?: number
}

/** The figures, and how much is left of each limit. */
export function printStats({ display, budgets }: { display: string; budgets: Limit[] }, page: Page): string {
  if (budgets.length === 0) return visible(display)
  const columns: Array<Column<Limit>> = [
    { title: 'LIMIT OF', value: ({ of }) => of },
    { title: 'WHICH', value: ({ name }) => name, min: 12 },
    { title: 'SPENT', value: ({ spentUsd }) => usd(spentUsd), align: 'right' },
    { title: 'OF', value: ({ limitUsd }) => usd(limitUsd), align: 'right' },
    {
      title: 'RUNS OUT IN',
      value: ({ runsOutAt }) => (runsOutAt === undefined ? '-' : duration(Math.max(0, runsOutAt - page.now))),
      align: 'right',
    },
  ]
  return `${visible(display)}\n\n${table(budgets, columns, page)}`
}

interface ApprovalRow {
  id: string
  session?: string
  kind: string
  toolName: string
  shown: string
  state: string
  askedAt: number
  answeredBy?: string
  alike: number
}

/** Shows the whole command, because a person must see what is approved. */
export function printApprovals(output: { approvals: ApprovalRow[] }, page: Page): string {
  if (output.approvals.length === 0) return 'Nothing waits for an answer.'
  return output.approvals
    .map((row) => {
      const who = [row.session, row.kind, row.toolName].filter(Boolean).join(' · ')
      const state =
        row.state === 'pending' ? '' : `${row.state}${row.answeredBy ? ` by ${row.answeredBy}` : ''}`
      const alike = row.alike > 1 ? ` (${row.alike} ask the same: --alike answers all)` : ''
      const heading = `${styled(page, 'bold', row.id)}  ${oneLine(who)}  ${ago(row.askedAt, page.now)}${state && ` ${oneLine(state)}`}${alike}`
      return `${heading}\n${visible(row.shown).replace(/^/gm, '    ')}`
    })
    .join('\n\n')
}

export function printGrants({ grants }: { grants: Grant[] }, page: Page): string {
  if (grants.length === 0) return 'Nothing is allowed once and for all.'
  const columns: Array<Column<Grant>> = [
    { title: 'ID', value: ({ id }) => id, min: 8 },
    { title: 'TOOL', value: ({ tool }) => tool },
    { title: 'PATTERN', value: ({ pattern }) => pattern, min: 16 },
    { title: 'WHERE', value: ({ codingId, sessionKey }) => sessionKey ?? codingId ?? 'everywhere', min: 12 },
    { title: 'BY', value: ({ grantedBy }) => grantedBy, spare: true },
    { title: 'SINCE', value: ({ grantedAt }) => ago(grantedAt, page.now), spare: true, min: 10 },
  ]
  return table(grants, columns, page)
}
