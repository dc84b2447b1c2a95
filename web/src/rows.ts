// The rows of the lists: coding sessions and native sessions as one kind of row, with one word for the state, and which rows a
// list has, in which order.
import { shownName } from '../../src/domain/coding-state.ts'
import { titleText } from '../../src/domain/machine-text.ts'
import type { Approval, CodingRow, NativeSession } from './data.ts'
import { clock, count, nameOf, shortPath } from './format.ts'
import type { ListName, Look, Route } from './route.ts'

type State = CodingRow['state']

export interface Row {
  id: string
  state: State
  /** It asks a person, or it failed and no person has looked at it yet. */
  needsYou: boolean
  name: string
  /** One line: its request, its activity or its last words. */
  now: string
  repo: string
  /** The program, if it is not Claude Code. */
  agentKind?: string
  path: string
  branch: string
  /** Since when it waits; otherwise its last activity. */
  at: number
  costUsd: number
  archived: boolean
  route: Route
  /** Claude's id of the conversation, once there is a transcript. */
  sessionId?: string
  coding?: CodingRow
  /** Its open request, if the page can answer it. */
  approval?: Approval
  /** All its open requests. */
  requests: Approval[]
  /** Claude Code has deleted its transcript, and the vault has it. */
  kept?: boolean
  /** The request that a native session shows in its terminal. */
  waitingFor?: string
}

/** The order of the groups of the inbox: who must act comes first. */
const groups: Array<[state: State, title: string]> = [
  ['needs you', 'Needs you'],
  ['failed', 'Failed'],
  ['limited', 'Limited'],
  ['ready', 'Ready for review'],
  ['working', 'Working'],
]
/** The last group of the inbox has a few; the list of all sessions has the others. */
const recent = 'Recent'
const shownRecent = 30

export function rowsOf(coding: CodingRow[], native: NativeSession[], approvals: Approval[]): Row[] {
  // A coding session without a transcript is in both lists, under its own id. One list may be older than the start of the session
  // and the other one newer.
  const ours = new Set(coding.flatMap((row) => [row.claudeSessionId, row.nextClaudeSessionId, row.id]))
  const written = new Map(native.map((session) => [session.sessionId, session]))
  const others = native
    .filter((session) => !ours.has(session.sessionId))
    .map((session) =>
      rowOfNative(
        session,
        approvals.filter((one) => one.nativeId === session.sessionId),
      ),
    )
  const own = coding.map((row) =>
    rowOfCoding(
      row,
      written.get(row.claudeSessionId ?? ''),
      approvals.filter((one) => one.codingId === row.id),
    ),
  )
  return [...own, ...others].sort((a, b) => b.at - a.at)
}

/** The conversation that was there before the coding session resumed it. Title, cost and context are then those of the whole
 *  conversation; the row of the coding session only counts from the resume. A fork is a conversation of its own. */
export function resumedConversation(
  { resumedFrom, claudeSessionId }: Pick<CodingRow, 'resumedFrom' | 'claudeSessionId'>,
  written: NativeSession | undefined,
): NativeSession | undefined {
  const isResumed = resumedFrom !== undefined && resumedFrom === claudeSessionId
  return isResumed && written?.sessionId === claudeSessionId ? written : undefined
}

/** `written`: the native session of the coding session, once Claude Code has written a transcript. */
function rowOfCoding(row: CodingRow, written: NativeSession | undefined, requests: Approval[]): Row {
  const { state } = row
  const resumed = resumedConversation(row, written)
  return {
    id: row.id,
    state,
    needsYou: row.needsYou,
    name: resumed ? nameOf(resumed) : shownName(row),
    now: row.stateText,
    repo: (row.machine === undefined ? '' : `${row.machine}:`) + shortPath(row.workdir),
    path: row.workdir,
    branch: written?.branch ?? '',
    at: (state === 'needs you' && row.waiting?.since) || row.lastActivityAt,
    costUsd: resumed?.costUsd ?? row.costUsd,
    archived: written?.archived === true && !row.needsYou && state !== 'working',
    route: { view: 'coding', id: row.id },
    sessionId: row.claudeSessionId,
    kept: written?.kept,
    coding: row,
    approval: requests[0],
    requests,
  }
}

/** `requests`: what its permission dialogs in the terminal ask, if the session has Rockpool's plugin. */
function rowOfNative(session: NativeSession, requests: Approval[]): Row {
  const [approval] = requests
  const name = nameOf(session)
  const limited = session.limit && `usage limit, resets ${clock(session.limit.until)}`
  const asks = approval?.shown.split('\n', 1)[0]
  const said = titleText(session.lastPrompt ?? session.firstMessage)
  const now = asks ?? session.waitingFor ?? limited ?? session.stateText ?? said
  return {
    id: session.sessionId,
    agentKind: session.agentKind === 'claude' ? undefined : session.agentKind,
    state: approval ? 'needs you' : session.state,
    needsYou: approval !== undefined || session.state === 'needs you',
    approval,
    requests,
    name,
    // The only prompt is also the name.
    now: now === name ? count(session.messageCount, 'message') : now,
    repo: shortPath(session.repoPath),
    path: session.repoPath,
    branch: session.branch,
    at: Date.parse(session.lastModified),
    costUsd: session.costUsd,
    archived: session.archived,
    route: { view: 'session', id: session.sessionId },
    sessionId: session.sessionId,
    kept: session.kept,
    waitingFor: session.status === 'waiting' ? (session.waitingFor ?? 'an answer') : undefined,
  }
}

/** What a list has: one of the named lists, or the sessions of a repository. */
export type Listed = { list: ListName } | { repo: string }

const stateOfList: Partial<Record<ListName, State>> = {
  review: 'ready',
  working: 'working',
  failed: 'failed',
}

export function rowsIn(rows: Row[], listed: Listed, withArchived = false): Row[] {
  const shown = rows.filter((row) => withArchived || !row.archived)
  if ('repo' in listed) return shown.filter((row) => row.path === listed.repo)
  if (listed.list === 'all') return shown
  if (listed.list !== 'inbox') return shown.filter((row) => row.state === stateOfList[listed.list])
  const inGroup = (title: string): Row[] => shown.filter((row) => groupOf(row) === title)
  return [...groups.flatMap(([, title]) => inGroup(title)), ...inGroup(recent).slice(0, shownRecent)]
}

/** How many sessions each list has. `notLoaded`: how many there are besides the rows. */
export function countsOf(rows: Row[], notLoaded: number): Record<ListName, number> {
  const count = (list: ListName): number => rowsIn(rows, { list }).length
  return {
    inbox: rows.filter((row) => row.needsYou && !row.archived).length,
    review: count('review'),
    working: count('working'),
    failed: count('failed'),
    all: count('all') + notLoaded,
  }
}

export function isInbox(listed: Listed): boolean {
  return 'list' in listed && listed.list === 'inbox'
}

/** The rows of a list as the address wants them: filtered and sorted. */
export function listRows(rows: Row[], listed: Listed, { q = '', sort }: Look, withArchived = false): Row[] {
  const words = q.trim()
  const inList = rowsIn(rows, listed, withArchived)
  const found = words === '' ? inList : inList.filter((row) => matches(row, words))
  return sorted(found, sort, isInbox(listed))
}

export function groupOf(row: Row): string {
  // A failure that a person has looked at needs nothing more.
  if (row.state === 'failed' && !row.needsYou) return recent
  return groups.find(([state]) => state === row.state)?.[1] ?? recent
}

/** True if the row has every word, in any of its texts. */
function matches(row: Row, words: string): boolean {
  const said = `${row.name} ${row.now} ${row.repo} ${row.branch} ${row.state} ${row.id}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word))
}

export const columns = { name: 'Session', repo: 'Repository', age: 'Age', cost: 'Cost' } as const
export type Column = keyof typeof columns

const compare: Record<Column, (a: Row, b: Row) => number> = {
  name: (a, b) => a.name.localeCompare(b.name),
  repo: (a, b) => a.repo.localeCompare(b.repo) || b.at - a.at,
  age: (a, b) => b.at - a.at,
  cost: (a, b) => b.costUsd - a.costUsd,
}

/** `sort` is a column, with `-` in front for the reverse order. Without it the order of the list stays. */
export function sorted(rows: Row[], sort: string | undefined, isGrouped: boolean): Row[] {
  const column = Object.keys(columns).find((name) => name === sort?.replace('-', '')) as Column | undefined
  if (column === undefined) return rows
  const way = sort?.startsWith('-') ? -1 : 1
  const inColumn = (a: Row, b: Row): number => way * compare[column](a, b)
  if (!isGrouped) return rows.toSorted(inColumn)
  return [...Map.groupBy(rows, groupOf).values()].flatMap((group) => group.sort(inColumn))
}
