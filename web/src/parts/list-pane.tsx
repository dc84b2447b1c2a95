// The list of sessions in the middle: dense rows with column heads, a filter, an order, and several rows at once.
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { NativeSession } from '../data.ts'
import { isWriting, modKey, useKeys } from '../keyboard.ts'
import { useLive } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import { follow, pathOf, replaceWith } from '../route.ts'
import type { Look, Place } from '../route.ts'
import { columns, countsOf, groupOf, isInbox, listRows, rowsIn, rowsOf, sorted } from '../rows.ts'
import type { Column, Listed, Row } from '../rows.ts'
import { Bulk, CutOff } from './bulk.tsx'
import { RowView } from './list-row.tsx'
import { Empty, Loading, Problem } from './states.tsx'
import { Switch } from './switch.tsx'

interface ListPaneProps {
  title: string
  listed: Listed
  /** The address of the list itself. */
  home: Place
  look: Look
  /** The row that is shown at the right. */
  cursor: string | undefined
  setCursor: (id: string | undefined) => void
  /** A session is open, so moving in the list changes the address. */
  isOpen: boolean
  /** One pane at a time: rows that ask something are cards with buttons. */
  isNarrow: boolean
}

/** More rows are rendered when the reader is near the last one. */
const rowsAtOnce = 80

export function ListPane(props: ListPaneProps) {
  const { title, listed, home, look, cursor, isNarrow } = props
  const sessions = useSessions()
  const [archived, setArchived] = useState(false)
  const [shown, setShown] = useState(rowsAtOnce)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const list = useRef<HTMLUListElement>(null)
  const rows = useRows(listed, look, archived)
  const isGrouped = isInbox(listed)
  const { all } = countsOf(sessions.rows, sessions.notLoaded)
  const toggle = (id: string): void =>
    setChosen((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]),
    )
  useMoving(props, rows, list, toggle)
  // On a very high screen the first rows leave room, and nothing scrolls.
  useEffect(() => {
    const box = list.current
    if (box && box.scrollHeight <= box.clientHeight && shown < rows.length) setShown(shown + rowsAtOnce)
  })
  if (sessions.isLoading)
    return (
      <Pane title={title}>
        <Loading />
      </Pane>
    )
  const visibleRows = rows.slice(0, shown)
  return (
    <Pane title={title}>
      <Filter home={home} look={look} />
      {sessions.error && <Problem text={sessions.error} retry={sessions.reload} />}
      {chosen.size > 0 && (
        <Bulk rows={rows.filter((row) => chosen.has(row.id))} done={() => setChosen(new Set())} />
      )}
      {isGrouped && <CutOff rows={sessions.rows} />}
      <Heads home={home} look={look} />
      <ul
        class="rows"
        ref={list}
        aria-label={title}
        onScroll={({ currentTarget: box }) => {
          if (box.scrollTop + box.clientHeight > box.scrollHeight - 600 && shown < rows.length)
            setShown(shown + rowsAtOnce)
        }}
      >
        {visibleRows.map((row, i) => (
          <RowView
            key={row.id}
            row={row}
            group={
              isGrouped && (i === 0 || groupOf(visibleRows[i - 1]!) !== groupOf(row))
                ? groupOf(row)
                : undefined
            }
            look={{ in: pathOf(home.route), q: look.q, sort: look.sort }}
            isCurrent={row.id === cursor}
            isChosen={chosen.has(row.id)}
            choose={() => toggle(row.id)}
            isCard={isNarrow && isGrouped}
          />
        ))}
        {rows.length === 0 && <Nothing listed={listed} q={look.q} />}
      </ul>
      <footer class="list-foot">
        <Switch label="Show archived" checked={archived} set={setArchived} />
        <span class="faint">
          {rows.length} shown{isGrouped && all > rows.length && `, ${all} in all`}
        </span>
      </footer>
    </Pane>
  )
}

function Pane({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="list-pane" aria-label="Sessions">
      <h1>{title}</h1>
      {children}
    </section>
  )
}

/** The loaded rows of the list; with a filter, also older sessions that the gateway finds. */
function useRows(listed: Listed, { q, sort }: Look, archived: boolean): Row[] {
  const { rows } = useSessions()
  const older = useOlder(q ?? '', listed)
  return useMemo(() => {
    const known = new Set(rows.flatMap((row) => [row.id, row.sessionId]))
    const more = older.filter((session) => !known.has(session.sessionId))
    const found = listRows(rows, listed, { q, sort }, archived)
    // The gateway looks into more fields than the row has.
    return sorted([...found, ...rowsIn(rowsOf([], more, []), listed, archived)], sort, isInbox(listed))
  }, [rows, older, listed, q, sort, archived])
}

const noSessions: NativeSession[] = []

function useOlder(words: string, listed: Listed): NativeSession[] {
  const [settled, setSettled] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words.trim()), 250)
    return () => clearTimeout(timer)
  }, [words])
  const repo = 'repo' in listed ? listed.repo : undefined
  const isWide = repo !== undefined || ('list' in listed && listed.list === 'all')
  const { data } = useLive(
    'cc.list',
    isWide && (settled !== '' || repo !== undefined)
      ? { search: settled || undefined, repo, limit: 400 }
      : { limit: 1 },
  )
  return isWide ? (data?.sessions ?? noSessions) : noSessions
}

/** j and k move through the rows; Enter opens one, Space selects it. */
function useMoving(
  props: ListPaneProps,
  rows: Row[],
  list: RefObject<HTMLElement | null>,
  toggle: (id: string) => void,
): void {
  const { cursor, setCursor, isOpen, isNarrow, look, home } = props
  const { rows: sessions } = useSessions()
  const linkOf = (id: string): HTMLElement | null | undefined =>
    list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`)
  const open = (row: Row | undefined, change: typeof replaceWith): void => {
    if (row)
      change(row.route, {
        in: pathOf(home.route),
        q: look.q,
        sort: look.sort,
        tab: isOpen ? look.tab : undefined,
      })
  }
  const step = (by: number) => (): void => {
    const next = rows[Math.max(0, rows.findIndex(({ id }) => id === cursor) + by)]
    if (!next) return
    setCursor(next.id)
    // An older session is not loaded; its address shows it.
    if (isOpen || !sessions.includes(next)) open(next, replaceWith)
    linkOf(next.id)?.focus()
  }
  useKeys({
    j: step(1),
    k: step(-1),
    ArrowDown: step(1),
    ArrowUp: step(-1),
    ' ': () => cursor !== undefined && toggle(cursor),
  })
  // Focus starts on the first row, unless a person is somewhere already.
  const first = useRef(true)
  useEffect(() => {
    if (!first.current || !list.current || rows.length === 0 || isNarrow) return
    first.current = false
    const isFree = document.activeElement === document.body || document.activeElement === null
    if (cursor !== undefined && isFree && !isWriting(document.activeElement))
      linkOf(cursor)?.focus({ preventScroll: true })
  })
}

function Filter({ home, look }: { home: Place; look: Look }) {
  return (
    <div class="list-filter">
      <input
        type="search"
        aria-label="Filter the list"
        placeholder="Filter"
        value={look.q ?? ''}
        onInput={(event) => replaceWith(home.route, { ...home.look, q: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur()
        }}
      />
    </div>
  )
}

function Heads({ home, look }: { home: Place; look: Look }) {
  const next = (column: Column): string => (look.sort === column ? `-${column}` : column)
  const order = (column: Column): 'ascending' | 'descending' | undefined => {
    if (look.sort?.replace('-', '') !== column) return undefined
    return look.sort.startsWith('-') ? 'descending' : 'ascending'
  }
  return (
    <div class="heads" role="group" aria-label="Sort by">
      <span class="state-head" />
      {Object.entries(columns).map(([name, label]) => {
        const column = name as Column
        const way = order(column)
        return (
          <button
            key={column}
            type="button"
            class={`quiet ${column}`}
            aria-pressed={way !== undefined}
            onClick={() => replaceWith(home.route, { ...home.look, q: look.q, sort: next(column) })}
          >
            {label}
            {way && (way === 'ascending' ? ' ↓' : ' ↑')}
          </button>
        )
      })}
    </div>
  )
}

function Nothing({ listed, q }: { listed: Listed; q: string | undefined }) {
  const { rows } = useSessions()
  if (q) {
    return (
      <li class="nothing">
        <p class="faint">
          No session matches. <kbd>{modKey}K</kbd> searches in everything that was said.
        </p>
      </li>
    )
  }
  if (rows.length > 0 && 'list' in listed) return <li class="nothing faint">Nothing here.</li>
  if ('repo' in listed) return <li class="nothing faint">No session yet.</li>
  return (
    <li>
      <Empty title="No sessions yet">
        <p>
          Every session of Claude Code on this machine appears here as soon as it starts. Start one in a
          terminal with <code>claude</code>, or let Rockpool do it:
        </p>
        <div class="buttons">
          <a class="button primary" href="/new" onClick={follow({ view: 'new' })}>
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
    </li>
  )
}
