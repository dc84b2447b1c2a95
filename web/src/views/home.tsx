// Home: sessions that need a person first, then those ready for review, working ones, and recent ones.
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Approval, CodingRow, NativeSession } from '../data.ts'
import { ago, count, nameOf, shortPath, usd, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { needsYou } from '../needs-you.ts'
import { ContextGauge } from '../parts/gauge.tsx'
import { Peek, PeekNative } from '../parts/peek.tsx'
import { Empty, Loaded, Loading, Problem } from '../parts/states.tsx'
import { follow, pathOf } from '../route.ts'
import type { Route } from '../route.ts'

/** A row: a coding session or a native session. */
interface HomeRow {
  id: string
  group: 'Needs you' | 'Ready for review' | 'Working' | 'Recent'
  state: string
  name: string
  now: string
  repo: string
  branch: string
  at: number
  costUsd: number
  context: { used?: number; window?: number }
  warm?: boolean
  route: Route
  coding?: CodingRow
  /** What a native session waits for in its terminal. */
  waitingFor?: string
}

const groups = ['Needs you', 'Ready for review', 'Working', 'Recent'] as const

export function Home() {
  const [open, setOpen] = useState<string>()
  const [by, setBy] = useState<'group' | 'repo'>('group')
  const coding = useLive('coding.sessions', { limit: 200 }, (event) =>
    ['coding-changed', 'approval-changed'].includes(event.type),
  )
  const native = useLive('cc.list', { limit: 200, archived: false }, (event) =>
    ['native-changed', 'session-changed'].includes(event.type),
  )
  const approvals = useLive('approvals.list', {}, (event) => event.type === 'approval-changed')
  const rows = useMemo(
    () => rowsOf(coding.data?.sessions ?? [], native.data?.sessions ?? []),
    [coding.data, native.data],
  )
  const answered = (): void => {
    approvals.reload()
    coding.reload()
  }
  // Both lists are shown together, so that the page does not move when the second one arrives.
  if (coding.data === undefined && coding.error === undefined) return <Loading />
  return (
    <Loaded live={native}>
      {(data) =>
        rows.length === 0 ? (
          <NoSessions />
        ) : (
          <>
            <div class="home-head">
              <h1>Sessions</h1>
              <label>
                Group by{' '}
                <select
                  value={by}
                  onChange={(event) => setBy(event.currentTarget.value === 'repo' ? 'repo' : 'group')}
                >
                  <option value="group">who must act</option>
                  <option value="repo">repository</option>
                </select>
              </label>
            </div>
            {coding.error && <Problem text={coding.error} retry={coding.reload} />}
            {namesOf(rows, by).map((name) => (
              <Group
                key={name}
                title={name}
                rows={rows.filter((row) => row[by] === name)}
                approvals={approvals.data?.approvals ?? []}
                open={open}
                setOpen={setOpen}
                onAnswered={answered}
              />
            ))}
            {data.total > data.sessions.length && (
              <p class="faint">
                {data.total - data.sessions.length} older sessions. Find them with <kbd>Ctrl K</kbd>.
              </p>
            )}
          </>
        )
      }
    </Loaded>
  )
}

function namesOf(rows: HomeRow[], by: 'group' | 'repo'): string[] {
  const used = new Set<string>(rows.map((row) => row[by]))
  return by === 'group' ? groups.filter((group) => used.has(group)) : [...used]
}

function NoSessions() {
  return (
    <Empty title="No sessions yet">
      <p>
        Every session of Claude Code on this machine appears here as soon as it starts. Start one in a
        terminal with <code>claude</code>, or let Rockpool do it:
      </p>
      <div class="buttons">
        <a class="button primary" href="/choose" onClick={follow({ view: 'choose' })}>
          Give it a task
        </a>
        <a class="button" href="/chat" onClick={follow({ view: 'chat' })}>
          Talk to an agent
        </a>
        <a class="button" href="/settings" onClick={follow({ view: 'settings' })}>
          Connect a channel
        </a>
      </div>
    </Empty>
  )
}

interface GroupProps {
  title: string
  rows: HomeRow[]
  approvals: Approval[]
  onAnswered: () => void
  /** The row with an open preview; it stays open when the row moves to another group. */
  open: string | undefined
  setOpen: (id: string | undefined) => void
}

function Group({ title, rows, approvals, onAnswered, open, setOpen }: GroupProps) {
  const [all, setAll] = useState(false)
  if (rows.length === 0) return null
  const shown = all ? rows : rows.slice(0, 30)
  return (
    <section class="group" aria-label={title}>
      <h2>
        {title} <span class="faint">{rows.length}</span>
      </h2>
      <ul class="rows">
        {shown.map((row) => (
          <RowView key={row.id} row={row} open={open === row.id} setOpen={setOpen}>
            {row.coding ? (
              <Peek
                row={row.coding}
                approval={approvals.find((one) => one.id === row.coding?.waiting?.approvalId)}
                onAnswered={onAnswered}
              />
            ) : (
              <PeekNative id={row.id} waitingFor={row.waitingFor} />
            )}
          </RowView>
        ))}
      </ul>
      {rows.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show {rows.length - shown.length} more
        </button>
      )}
    </section>
  )
}

interface RowProps {
  row: HomeRow
  open: boolean
  setOpen: (id: string | undefined) => void
  /** The preview. */
  children: ComponentChildren
}

function RowView({ row, open, setOpen, children }: RowProps) {
  const toggle = (): void => setOpen(open ? undefined : row.id)
  return (
    <li class={`row ${row.state}`} onKeyDown={(event) => onRowKey(event, open, setOpen)}>
      <a href={pathOf(row.route)} data-row={row.id} onClick={follow(row.route)}>
        <span class="state">{row.state}</span>
        <span class="what">
          <span class="name">{visible(row.name)}</span>
          <span class="now">{visible(row.now)}</span>
        </span>
        <span class="where">
          <span class="repo">{visible(row.repo)}</span>
          <span class="branch">{visible(row.branch)}</span>
        </span>
        <span class="number age">{ago(row.at)}</span>
        <span class="number cost">{usd(row.costUsd)}</span>
        <ContextGauge used={row.context.used} window={row.context.window} />
        <span class="warmth">{row.warm === undefined ? '' : row.warm ? 'warm' : 'cold'}</span>
      </a>
      <button type="button" class="peek-toggle" aria-expanded={open} onClick={toggle}>
        {row.coding && needsYou(row.coding) ? 'Answer' : 'Peek'}
      </button>
      {open && children}
    </li>
  )
}

/** Up and Down move through the rows of all groups. Space opens the preview of a row; it follows the arrow keys. */
function onRowKey(event: KeyboardEvent, isOpen: boolean, setOpen: RowProps['setOpen']): void {
  if (!(event.target instanceof HTMLAnchorElement) || !event.target.matches('.row > a')) return
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0 && event.key !== ' ') return
  const rows = [...document.querySelectorAll<HTMLAnchorElement>('.row > a')]
  const next = rows[rows.indexOf(event.target) + step]
  next?.focus()
  const looksIn = event.key === ' ' ? !isOpen : isOpen
  if (next && looksIn) setOpen(next.dataset['row'])
  else if (event.key === ' ') setOpen(undefined)
  event.preventDefault()
}

function rowsOf(coding: CodingRow[], native: NativeSession[]): HomeRow[] {
  const ours = new Set(coding.map((row) => row.claudeSessionId))
  const written = new Map(native.map((session) => [session.sessionId, session]))
  const others = native.filter((session) => !ours.has(session.sessionId)).map(rowOfNative)
  const own = coding.map((row) => rowOfCoding(row, written.get(row.claudeSessionId ?? '')))
  return [...own, ...others].sort((a, b) => b.at - a.at)
}

const dayMs = 86_400_000

/** `written`: the native session of the coding session, once Claude Code has written a transcript. */
function rowOfCoding(row: CodingRow, written: NativeSession | undefined): HomeRow {
  const now = row.waiting
    ? `${row.waiting.for}: ${row.waiting.about}`
    : (row.doing ?? row.endMessage ?? row.prompt)
  return {
    id: row.id,
    group: groupOf(row),
    state: stateOf(row),
    name: row.name,
    now: row.waiting?.for === 'input' ? row.waiting.about || row.prompt : now,
    repo: (row.machine === undefined ? '' : `${row.machine}:`) + shortPath(row.workdir),
    branch: written?.branch ?? '',
    at: row.lastActivityAt,
    costUsd: row.costUsd,
    context: { used: row.contextTokens, window: row.contextWindow },
    warm: written?.warm,
    route: { view: 'coding', id: row.id },
    coding: row,
  }
}

function groupOf(row: CodingRow): HomeRow['group'] {
  if (needsYou(row)) return 'Needs you'
  if (row.waiting) return 'Ready for review'
  if (row.status === 'running' || row.status === 'starting') return 'Working'
  const isNew = Date.now() - row.lastActivityAt < dayMs
  return row.status === 'completed' && isNew ? 'Ready for review' : 'Recent'
}

function stateOf(row: CodingRow): string {
  if (row.waiting) return needsYou(row) ? 'waiting' : 'ready'
  return row.lifecycle === 'suspended' || row.lifecycle === 'queued' ? row.lifecycle : row.status
}

/** An idle session has finished its turn, and its terminal is still open. */
const nativeGroups: Record<NativeSession['status'], HomeRow['group']> = {
  waiting: 'Needs you',
  idle: 'Ready for review',
  busy: 'Working',
  stopped: 'Recent',
}

function rowOfNative(session: NativeSession): HomeRow {
  const name = nameOf(session)
  // The process of a chat that waits for the next message; it needs no review.
  const isChat = session.source === 'rockpool' && session.status === 'idle'
  const now = session.waitingFor ?? session.lastPrompt ?? session.firstMessage
  return {
    id: session.sessionId,
    group: isChat ? 'Recent' : nativeGroups[session.status],
    state: session.status,
    name,
    // The only prompt is also the name.
    now: now === name ? count(session.messageCount, 'message') : (now ?? ''),
    repo: shortPath(session.repoPath),
    branch: session.branch,
    at: Date.parse(session.lastModified),
    costUsd: session.costUsd,
    context: { used: session.contextTokens, window: session.contextWindow },
    warm: session.warm,
    route: { view: 'session', id: session.sessionId },
    waitingFor: session.status === 'waiting' ? (session.waitingFor ?? 'an answer') : undefined,
  }
}
