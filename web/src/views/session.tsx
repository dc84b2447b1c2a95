// One session: what it is at the top, its conversation, changes, files, costs and records as tabs, and below them the dock, which
// is the decision when the session asks something and the composer when not.
import { useEffect, useState } from 'preact/hooks'
import { shownName } from '../../../src/domain/coding-state.ts'
import type { CodingRow, Info, NativeSession } from '../data.ts'
import { ago, nameOf, shortPath, usd, visible } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useAction, useLive } from '../live.ts'
import type { Live } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import { CostTab, FilesTab } from '../parts/anatomy.tsx'
import { About } from '../parts/about.tsx'
import { ChangesTab } from '../parts/changes.tsx'
import { Conversation } from '../parts/conversation.tsx'
import { Dock } from '../parts/dock.tsx'
import { EndAndArchive } from '../parts/end-session.tsx'
import { ContextGauge } from '../parts/gauge.tsx'
import { Link } from '../parts/link.tsx'
import { isOffline, OfflineConversation, Output } from '../parts/output.tsx'
import { ReviewTab } from '../parts/review.tsx'
import { Empty, Loading, Problem, Words } from '../parts/states.tsx'
import { follow, go, pathOf, routeOf } from '../route.ts'
import type { Look, Route, SessionRoute } from '../route.ts'
import { resumedConversation } from '../rows.ts'
import type { Row } from '../rows.ts'

const tabs = { conversation: 'Conversation', diff: 'Diff', files: 'Files', cost: 'Cost', raw: 'Raw' } as const
type Tab = keyof typeof tabs | 'about'

interface SessionPaneProps {
  route: SessionRoute | { view: 'coding'; id: string }
  look: Look
}

export function SessionPane({ route, look }: SessionPaneProps) {
  const sessions = useSessions()
  const row = sessions.rows.find((one) =>
    route.view === 'coding' ? one.id === route.id : one.sessionId === route.id || one.id === route.id,
  )
  const sessionId = row?.sessionId ?? route.id
  // By the id of the coding session: one on another machine has no transcript here.
  const info = useLive(
    'cc.info',
    // Reading the whole transcript takes long in a long session; only the facts about it need that.
    { id: route.id, health: false, lines: false },
    (event) =>
      (event.type === 'native-changed' && event.sessionId === sessionId) ||
      (event.type === 'coding-changed' && event.id === route.id),
    1_000,
  )
  const [forkAt, setForkAt] = useState<string>()
  useEffect(() => setForkAt(undefined), [route.id])
  const coding = row?.coding ?? info.data?.coding
  // The dock depends on what the session asks; shown together, nothing moves.
  if (sessions.isLoading) return <Loading />
  if (!coding && info.data === undefined && info.error !== undefined) {
    return <Missing problem={info.error} retry={info.reload} />
  }
  const tab = tabOf(look.tab)
  const go = (next: Tab): Look => ({
    ...look,
    mark: undefined,
    tab: next === 'conversation' ? undefined : next,
  })
  return (
    <article class="session-pane" aria-label="Session">
      <Head row={row} coding={coding} session={info.data?.session} look={look} />
      {info.data?.session.kept && <KeptOnly session={info.data.session} reload={info.reload} />}
      <nav class="tabs" aria-label="Parts of the session">
        {[...Object.entries(tabs), ['about', 'About'] as const].map(([name, label]) => (
          <a
            key={name}
            href={pathOf(route, go(name as Tab))}
            aria-current={tab === name ? 'true' : undefined}
            onClick={follow(route, go(name as Tab))}
          >
            {label}
          </a>
        ))}
      </nav>
      <Body tab={tab} {...{ route, look, row, coding, info }} onFork={setForkAt} />
      <Dock row={row} coding={coding} info={info.data} forkAt={forkAt} endFork={() => setForkAt(undefined)} />
    </article>
  )
}

function tabOf(name: string | undefined): Tab {
  return name === 'about' || (name !== undefined && name in tabs) ? (name as Tab) : 'conversation'
}

interface BodyProps extends SessionPaneProps {
  tab: Tab
  row: Row | undefined
  coding: CodingRow | undefined
  info: Live<Info>
  onFork: (uuid: string) => void
}

function Body({ tab, route, look, row, coding, info, onFork }: BodyProps) {
  const session = info.data?.session
  if (tab === 'about')
    return (
      <div class="tab-body" tabIndex={0}>
        {session ? <About session={session} info={info} coding={coding} /> : <Loading />}
      </div>
    )
  const isWritten = session !== undefined && (coding === undefined || session.messageCount > 0)
  if (coding && !isWritten) {
    if (tab === 'conversation') return <Output coding={coding} />
    return (
      <div class="tab-body" tabIndex={0}>
        {tab === 'diff' ? <ReviewTab coding={coding} /> : <NotWritten tab={tab} coding={coding} />}
      </div>
    )
  }
  const id = session?.sessionId ?? route.id
  if (tab === 'conversation' || tab === 'raw') {
    const shown = {
      place: { view: 'session', id, at: route.view === 'session' ? route.at : undefined } as const,
      look,
      raw: tab === 'raw',
      root: session?.repoPath,
      state: row?.state ?? session?.state,
      requests: row?.requests,
      coding: row?.state === 'working' || row?.state === 'needs you' ? coding : undefined,
      promptCount: session?.promptCount,
      agentKind: session?.agentKind === 'claude' ? undefined : session?.agentKind,
      onFork: session?.agentKind === 'claude' ? onFork : undefined,
    }
    if (tab === 'conversation' && isOffline(coding)) return <OfflineConversation {...shown} of={coding} />
    return <Conversation key={tab} {...shown} />
  }
  if (!session) return <Loading />
  return (
    <div class="tab-body" tabIndex={0}>
      {tab === 'diff' && (coding ? <ReviewTab coding={coding} /> : <ChangesTab session={session} />)}
      {tab === 'files' && <FilesTab session={session} />}
      {tab === 'cost' && <CostTab session={session} coding={coding} />}
    </div>
  )
}

/** The content of a tab for a coding session before Claude Code has written a transcript. */
function NotWritten({ tab, coding }: { tab: keyof typeof missingWithout; coding: CodingRow }) {
  return (
    <>
      {tab === 'cost' && (
        <dl>
          <dt>Cost</dt>
          <dd>
            {usd(coding.costUsd)} of {usd(coding.budgetUsd)}
          </dd>
        </dl>
      )}
      <p class="faint">
        Claude Code has written no transcript of this session, so {missingWithout[tab]} not known.
      </p>
    </>
  )
}

const missingWithout = {
  files: 'the files that it read or changed are',
  cost: 'its tokens and its context are',
  raw: 'its records are',
}

interface HeadProps {
  row: Row | undefined
  coding: CodingRow | undefined
  session: NativeSession | undefined
  look: Look
}

function Head({ row, coding, session, look }: HeadProps) {
  const name = row?.name ?? (session ? nameOf(session) : coding ? shownName(coding) : '')
  const path = coding?.workdir ?? session?.repoPath
  const branch = row?.branch || session?.branch
  const state = row?.state ?? coding?.state ?? session?.state
  const resumed = coding && resumedConversation(coding, session)
  const context = session && session.contextTokens > 0 ? session : coding
  const back = look.in === undefined ? ({ view: 'inbox' } as const) : routeOf(look.in)
  return (
    <header class="session-head">
      <div class="title">
        <a
          class="back"
          href={pathOf(back)}
          aria-label="Back to the list"
          onClick={follow(back, { q: look.q, sort: look.sort })}
        >
          ‹
        </a>
        <h1 class={name === '' ? 'to-come' : ''}>{visible(name)}</h1>
        <EndAndArchive row={row} session={session} />
      </div>
      <p class="facts">
        {state !== undefined && <span class={`chip state-${state.replace(' ', '-')}`}>{state}</span>}
        {session && session.agentKind !== 'claude' && (
          <span class="chip agent-kind">{session.agentKind}</span>
        )}
        {path !== undefined && <Link to={{ view: 'project', path }}>{visible(shortPath(path))}</Link>}
        {branch && <span>{visible(branch)}</span>}
        {row && <span>{row.state === 'needs you' ? `waiting ${ago(row.at)}` : ago(row.at)}</span>}
        {resumed && <span>{usd(resumed.costUsd)}</span>}
        <span>
          {usd(coding?.costUsd ?? session?.costUsd)}
          {coding && ` of ${usd(coding.budgetUsd)}`}
          {resumed && ' since the resume'}
        </span>
        {context?.contextTokens !== undefined && context.contextTokens > 0 && (
          <ContextGauge used={context.contextTokens} window={context.contextWindow} />
        )}
        <Origin coding={coding} session={session} />
      </p>
    </header>
  )
}

/** The program of the session has deleted the transcript. A message to Claude Code restores it, too. */
function KeptOnly({ session, reload }: { session: Info['session']; reload: () => void }) {
  const { sessionId: id, agentKind } = session
  const isClaude = agentKind === 'claude'
  const { reload: reloadList } = useSessions()
  const { run, busy, error } = useAction()
  const restore = async (): Promise<void> => {
    if (!(await run('vault.restore', { id }))) return
    reload()
    reloadList()
  }
  return (
    <div class="kept-only" role="status">
      <p>
        {isClaude ? 'Claude Code' : agentKind} has deleted this session; the vault has a copy.
        {isClaude && ' A message restores it.'}
      </p>
      <button type="button" disabled={busy} onClick={() => void restore()}>
        {busy ? 'Restoring…' : 'Restore'}
      </button>
      {error && <Problem text={error} />}
    </div>
  )
}

/** Which earlier session it continues. */
function Origin({ coding, session }: Pick<HeadProps, 'coding' | 'session'>) {
  const { rows } = useSessions()
  const from = session?.forkedFrom ?? coding?.resumedFrom
  if (from === undefined || from === session?.sessionId) return null
  const known = rows.find((row) => row.sessionId === from)
  return (
    <span>
      {session?.forkedFrom === undefined ? 'continues' : 'fork of'}{' '}
      <Link to={{ view: 'session', id: from }}>{visible(known?.name ?? from.slice(0, 8))}</Link>
    </span>
  )
}

function Missing({ problem, retry }: { problem: string; retry: () => void }) {
  const back: Route = { view: 'inbox' }
  useKeys({ Escape: () => go(back) })
  return (
    <Empty title="This session cannot be shown">
      <p>
        <Words text={problem} />
      </p>
      <div class="buttons">
        <a class="button primary" href="/" onClick={follow(back)}>
          Inbox
        </a>
        <button type="button" onClick={retry}>
          Try again
        </button>
      </div>
    </Empty>
  )
}
