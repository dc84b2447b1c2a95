// Home: who must act. Sessions that wait for a person first, then what is ready, what works, and what was lately.
import { useMemo, useState } from 'preact/hooks'
import type { Approval, CodingRow, NativeSession } from '../data.ts'
import { ago, shortPath, usd, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { ContextGauge } from '../parts/gauge.tsx'
import { Peek } from '../parts/peek.tsx'
import { Empty, Loaded } from '../parts/states.tsx'
import { go, pathOf } from '../route.ts'
import type { Route } from '../route.ts'

/** A coding session of ours or a native one, in the words of a row. */
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
}

const groups = ['Needs you', 'Ready for review', 'Working', 'Recent'] as const

export function Home() {
  const [open, setOpen] = useState<string>()
  const coding = useLive<{ sessions: CodingRow[] }>('coding.sessions', { limit: 200 }, (event) =>
    ['coding-changed', 'approval-changed'].includes(event.type),
  )
  const native = useLive<{ total: number; sessions: NativeSession[] }>(
    'cc.list',
    { limit: 200, archived: false },
    (event) => ['native-changed', 'session-changed'].includes(event.type),
  )
  const approvals = useLive<{ approvals: Approval[] }>(
    'approvals.list',
    {},
    (event) => event.type === 'approval-changed',
  )
  const rows = useMemo(
    () => rowsOf(coding.data?.sessions ?? [], native.data?.sessions ?? []),
    [coding.data, native.data],
  )
  return (
    <Loaded live={native}>
      {(data) =>
        rows.length === 0 ? (
          <Empty title="No sessions yet">
            <p>
              Sessions of Claude Code on this machine appear here by themselves. Start one in a terminal with{' '}
              <code>claude</code>, or give Rockpool a task:
            </p>
            <a class="button primary" href="/choose">
              New task
            </a>
          </Empty>
        ) : (
          <>
            <h1 class="sr">Sessions</h1>
            {groups.map((group) => (
              <Group
                key={group}
                title={group}
                rows={rows.filter((row) => row.group === group)}
                approvals={approvals.data?.approvals ?? []}
                open={open}
                setOpen={setOpen}
                onAnswered={() => {
                  approvals.reload()
                  coding.reload()
                }}
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

interface GroupProps {
  title: string
  rows: HomeRow[]
  approvals: Approval[]
  onAnswered: () => void
  /** The row that is looked into; it stays open when it moves to another group. */
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
          <li key={row.id} class={`row ${row.state}`} onKeyDown={moveByArrow}>
            <a href={pathOf(row.route)} onClick={(event) => openRow(event, row.route)}>
              <span class="state">{row.state}</span>
              <span class="name">{visible(row.name)}</span>
              <span class="now">{visible(row.now)}</span>
              <span class="repo">
                {visible(row.repo)}
                {row.branch !== '' && <span class="faint"> · {visible(row.branch)}</span>}
              </span>
              <span class="number">{ago(row.at)}</span>
              <span class="number">{usd(row.costUsd)}</span>
              <ContextGauge used={row.context.used} window={row.context.window} />
              <span class="faint">{row.warm === undefined ? '' : row.warm ? 'warm' : 'cold'}</span>
            </a>
            {row.coding && (
              <button
                type="button"
                class="peek-toggle"
                aria-expanded={open === row.id}
                onClick={() => setOpen(open === row.id ? undefined : row.id)}
              >
                {row.coding.waiting ? 'Answer' : 'Peek'}
              </button>
            )}
            {open === row.id && row.coding && (
              <Peek
                row={row.coding}
                approval={approvals.find((one) => one.id === row.coding?.waiting?.approvalId)}
                onAnswered={onAnswered}
              />
            )}
          </li>
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

/** Up and down go through the rows, whatever group they are in. */
function moveByArrow(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0 || !(event.target instanceof HTMLAnchorElement)) return
  const rows = [...document.querySelectorAll<HTMLAnchorElement>('.row > a')]
  rows[rows.indexOf(event.target) + step]?.focus()
  event.preventDefault()
}

function openRow(event: MouseEvent, route: Route): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  go(route)
}

function rowsOf(coding: CodingRow[], native: NativeSession[]): HomeRow[] {
  const ours = new Set(coding.map((row) => row.claudeSessionId))
  const others = native.filter((session) => !ours.has(session.sessionId)).map(rowOfNative)
  return [...coding.map(rowOfCoding), ...others].sort((a, b) => b.at - a.at)
}

const dayMs = 86_400_000

function rowOfCoding(row: CodingRow): HomeRow {
  const running = row.status === 'running' || row.status === 'starting'
  const ready = row.status === 'completed' && Date.now() - row.lastActivityAt < dayMs
  return {
    id: row.id,
    group: row.waiting ? 'Needs you' : running ? 'Working' : ready ? 'Ready for review' : 'Recent',
    state: row.waiting ? 'waiting' : row.lifecycle === 'suspended' ? 'suspended' : row.status,
    name: row.name,
    now: row.waiting
      ? `${row.waiting.for}: ${row.waiting.about}`
      : (row.doing ?? row.endMessage ?? row.prompt),
    repo: shortPath(row.workdir),
    branch: '',
    at: row.lastActivityAt,
    costUsd: row.costUsd,
    context: { used: row.contextTokens, window: row.contextWindow },
    route: { view: 'coding', id: row.id },
    coding: row,
  }
}

function rowOfNative(session: NativeSession): HomeRow {
  const group = session.status === 'waiting' ? 'Needs you' : session.status === 'busy' ? 'Working' : 'Recent'
  return {
    id: session.sessionId,
    group,
    state: session.status,
    name: session.title ?? session.label ?? (session.firstMessage || session.sessionId.slice(0, 8)),
    now: session.waitingFor ?? session.lastPrompt ?? session.firstMessage,
    repo: shortPath(session.repoPath),
    branch: session.branch,
    at: Date.parse(session.lastModified),
    costUsd: session.costUsd,
    context: { used: session.contextTokens, window: session.contextWindow },
    warm: session.warm,
    route: { view: 'session', id: session.sessionId },
  }
}
