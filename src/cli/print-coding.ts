// Coding sessions, approvals, grants and machines.
import { byState, sessionState } from '../domain/coding-state.ts'
import type { SessionState } from '../domain/coding-state.ts'
import type { OutputOf } from '../rpc/client.ts'
import { ago, duration, oneLine, prose, safe, styled, table, tokens, usd, visible } from './print.ts'
import type { Columns, Page, Printers, Style } from './print.ts'

export type CodingRow = OutputOf<'coding.sessions'>['sessions'][number]

export const printers: Printers = {
  'approvals.answer': printApprovals,
  'rules.list': ({ rules }, page) => {
    if (rules.length === 0) return 'There are no rules: sessions ask about everything.'
    return table(page, rules, {
      ID: { value: ({ id }) => id, min: 8 },
      RULE: { value: ({ text }) => text, min: 24 },
      FOR: { value: ({ session, sessionKey }) => session ?? sessionKey ?? 'all sessions', min: 12 },
      BY: { value: ({ grantedBy }) => grantedBy, optional: true },
      SINCE: { value: ({ grantedAt }) => ago(grantedAt, page.now), optional: true, min: 10 },
    })
  },
  'approvals.list': printApprovals,
  'coding.foreground': ({ missed }) => visible(missed),
  'coding.launch': printLaunched,
  'coding.move': (row, page) =>
    [
      `${safe`Resumed ${row.name}`}${onMachine(row)}: ${oneLine(row.workdir)}`,
      ...row.warnings.map((warning) => styled(page, 'yellow', oneLine(warning))),
    ].join('\n'),
  'coding.output': ({ result }) => visible(result),
  'coding.resume': printLaunched,
  'coding.sessions': ({ sessions }, page) => {
    if (sessions.length === 0)
      return 'No coding sessions yet. Start one: rockpool cc launch "fix the failing test" --repo .'
    return table(page, sessions.toSorted(byUrgency), columnsFor(page))
  },
  'coding.stats': printStats,
  'machines.list': printMachines,
}

/** Sessions that need a person first, then the other states by urgency; in each state the latest first. */
export function byUrgency(a: CodingRow, b: CodingRow): number {
  return byState(sessionState(a), sessionState(b)) || b.lastActivityAt - a.lastActivityAt
}

/** The session cannot continue without an answer. One that waits for its next message has only finished its turn. */
export function isAsking(row: CodingRow): boolean {
  return row.waiting !== undefined && row.waiting.for !== 'input'
}

const asks: Readonly<Record<NonNullable<CodingRow['waiting']>['for'], string>> = {
  input: '',
  approval: 'asks to run: ',
  answer: 'asks: ',
  plan: 'has a plan: ',
  budget: 'budget used up: ',
}

/** What the session asks, does, or how it ended, in one line. */
export function currentActivity(row: CodingRow): string {
  if (row.waiting) return `${asks[row.waiting.for]}${row.waiting.about || row.prompt}`
  if (row.lifecycle === 'queued') return `queued: ${row.prompt}`
  return row.endMessage || (row.doing ?? row.prompt)
}

const stateStyles: Readonly<Record<SessionState, Style>> = {
  'needs you': 'yellow',
  failed: 'red',
  ready: 'cyan',
  working: 'green',
  idle: 'dim',
  stopped: 'dim',
}

export function stateStyle(state: SessionState): Style {
  return stateStyles[state]
}

/** Name, state and activity are shown on any page; the others only on wider ones. */
export function columnsFor({ width, now }: Page): Columns<CodingRow> {
  const age = (row: CodingRow): string => duration(Math.max(0, now - row.lastActivityAt))
  return {
    ID: width >= 100 && { value: (row) => row.id, min: 8 },
    NAME: { value: (row) => row.name, min: 12 },
    STATE: { value: sessionState, min: 9, style: (row) => stateStyle(sessionState(row)) },
    NOW: { value: currentActivity, min: width < 72 ? 8 : 16 },
    WHERE: width >= 100 && { value: whereOf, min: 8 },
    AGE: width >= 72 && { value: age, align: 'right', min: 5 },
    COST: width >= 46 && { value: (row) => usd(row.costUsd), align: 'right', min: 7 },
    CONTEXT: width >= 54 && { value: contextShare, align: 'right', min: 4 },
  }
}

function contextShare(row: CodingRow): string {
  if (row.contextTokens === undefined || !row.contextWindow) return tokens(row.contextTokens)
  return `${Math.round((100 * row.contextTokens) / row.contextWindow)}%`
}

function printLaunched(
  row: OutputOf<'coding.resume'> & { action?: string; reason?: string },
  page: Page,
): string {
  const note = row.note ? [styled(page, 'yellow', prose(row.note, page))] : []
  if (row.output !== undefined) return [...note, visible(row.output)].join('\n')
  const hint = `Look: rockpool cc output ${row.id}   Answer: rockpool cc respond ${row.id} "…"`
  return [
    `${styled(page, 'bold', oneLine(row.name))} ${row.id} ${launchState(row)}${onMachine(row)}`,
    ...(row.action ? [prose(explanation(row.action, row.reason ?? ''), page)] : []),
    ...note,
    styled(page, 'dim', hint),
  ].join('\n')
}

/** The reason often begins with the action. */
function explanation(action: string, reason: string): string {
  return oneLine(reason.startsWith(action) ? reason : `${action}: ${reason}`)
}

/** Every session is in the queue for a moment; only one that has to wait there is called queued. */
function launchState(row: CodingRow & { action?: string }): string {
  return row.lifecycle === 'queued' && row.action !== 'queue' ? 'starting' : sessionState(row)
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

/** Shows the whole command, because a person must see what is approved. */
function printApprovals({ approvals }: OutputOf<'approvals.answer'>, page: Page): string {
  if (approvals.length === 0) return 'Nothing waits for an answer.'
  return approvals
    .map((row) => {
      const who = [row.session, row.kind, row.toolName].filter(Boolean).join(' · ')
      const by = row.answeredBy ? ` by ${row.answeredBy}` : ''
      const state = row.state === 'pending' ? '' : safe` ${row.state}${by}`
      const alike = row.alike > 1 ? ` (${row.alike} ask the same: --alike answers all)` : ''
      const heading = `${styled(page, 'bold', row.id)}  ${oneLine(who)}  ${ago(row.askedAt, page.now)}`
      return `${heading}${state}${alike}\n${visible(row.shown).replace(/^/gm, '    ')}`
    })
    .join('\n\n')
}
