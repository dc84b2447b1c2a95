// The frame of every view: views at the left, a list in the middle, what was opened at the right; the header, the palette, the keys.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { openGateway } from './gateway.ts'
import type { ConnectionState } from './gateway.ts'
import { shortPath } from './format.ts'
import { isWriting, useKeyPairs, useKeys } from './keyboard.ts'
import { GatewayContext } from './live.ts'
import { Login, codeInAddress } from './login.tsx'
import { SessionsContext, useCalling, useLoadedSessions } from './needs-you.ts'
import { AwayBanner, AwayAtStart } from './parts/away.tsx'
import { DemoBanner, StatusContext, useStatus } from './parts/claude-state.tsx'
import { Keys } from './parts/keys.tsx'
import { ListPane } from './parts/list-pane.tsx'
import { Palette } from './parts/palette.tsx'
import { Empty } from './parts/states.tsx'
import { Toasts } from './parts/toasts.tsx'
import { TopBar } from './parts/top-bar.tsx'
import { BottomTabs, ViewsPane, places } from './parts/views-pane.tsx'
import { follow, go, isList, routeOf, usePlace } from './route.ts'
import type { Look, Place, Route } from './route.ts'
import { listRows } from './rows.ts'
import type { Listed, Row } from './rows.ts'
import { Chat } from './views/chat.tsx'
import { Cost } from './views/cost.tsx'
import { Schedules } from './views/schedules.tsx'
import { Document } from './views/document.tsx'
import { MailView } from './views/mail.tsx'
import { NewTask } from './views/new-task.tsx'
import { NoteView } from './views/note.tsx'
import { Project } from './views/project.tsx'
import { SessionPane } from './views/session.tsx'
import { Settings } from './views/settings.tsx'
import { SubagentView } from './views/subagent.tsx'
import { WhyView } from './views/why.tsx'

export function App() {
  const [connection, setConnection] = useState<ConnectionState>('connecting')
  /** While it reconnects, the gateway stays `away` until it answers. */
  const onState = (state: ConnectionState): void =>
    setConnection((before) => (before === 'away' && state === 'connecting' ? before : state))
  const [loginNeeded, setLoginNeeded] = useState(codeInAddress() !== undefined)
  const gateway = useMemo(
    () => openGateway({ onState, onRefused: () => setLoginNeeded(true) }),
    [loginNeeded],
  )
  if (loginNeeded) return <Login onIn={() => setLoginNeeded(false)} />
  return (
    <GatewayContext.Provider value={gateway}>
      <Frame connection={connection} />
    </GatewayContext.Provider>
  )
}

function Frame({ connection }: { connection: ConnectionState }) {
  const place = usePlace()
  const { route } = place
  const sessions = useLoadedSessions()
  const status = useStatus()
  const [wasConnected, setWasConnected] = useState(false)
  useEffect(() => {
    if (connection === 'connected') setWasConnected(true)
  }, [connection])
  const [paletteOpen, setPaletteOpen] = useState(false)
  const [keysOpen, setKeysOpen] = useState(false)
  useFrameKeys(setPaletteOpen, setKeysOpen)
  const isNarrow = useNarrow()
  const panes = usePanes(place, sessions.rows, isNarrow)
  const waiting = useMemo(() => sessions.rows.filter((row) => row.needsYou && !row.archived), [sessions.rows])
  useCalling(waiting, panes.shown?.name ?? titleOf(route))
  const isAway = connection === 'away' && !wasConnected
  return (
    <SessionsContext.Provider value={sessions}>
      <StatusContext.Provider value={status}>
        <Toasts
          placeOf={(name) => sessions.rows.find((row) => row.coding?.name === name)?.route}
          isShown={(name) =>
            route.view === 'chat' ||
            // There each request is a card.
            (isNarrow && route.view === 'inbox') ||
            (name !== undefined && name === panes.shown?.coding?.name)
          }
        >
          <div class={`frame ${panes.list ? 'three' : 'two'} ${panes.isDetail ? 'at-detail' : 'at-list'}`}>
            <a class="skip" href="#main" onClick={toMain}>
              Skip to content
            </a>
            <TopBar waiting={waiting} isAway={connection === 'away'} onFind={() => setPaletteOpen(true)} />
            {connection === 'away' && wasConnected ? <AwayBanner /> : <DemoBanner />}
            {!isNarrow && <ViewsPane route={route} list={panes.home.route} />}
            <main id="main" tabIndex={-1}>
              {isAway ? <AwayAtStart /> : <Panes place={place} panes={panes} isNarrow={isNarrow} />}
            </main>
            {isNarrow && <BottomTabs list={panes.home.route} />}
          </div>
          {paletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
        </Toasts>
        {keysOpen && <Keys onClose={() => setKeysOpen(false)} />}
      </StatusContext.Provider>
    </SessionsContext.Provider>
  )
}

/** The part of the address after `#` says how things are shown, so the link does not use it. */
function toMain(event: MouseEvent): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

function useFrameKeys(
  setPaletteOpen: (change: (open: boolean) => boolean) => void,
  setKeysOpen: (change: (open: boolean) => boolean) => void,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k'
      if (!isPalette && (event.key !== '/' || isWriting(event.target))) return
      event.preventDefault()
      setPaletteOpen((open) => !open || !isPalette)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  useKeys({ '?': () => setKeysOpen((open) => !open), n: () => go({ view: 'new' }) })
  useKeyPairs('g', Object.fromEntries(places.map(({ key, route }) => [key, () => go(route)])))
}

const narrow = '(max-width: 800px)'

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(matchMedia(narrow).matches)
  useEffect(() => {
    const media = matchMedia(narrow)
    const look = (): void => setNarrow(media.matches)
    media.addEventListener('change', look)
    return () => media.removeEventListener('change', look)
  }, [])
  return isNarrow
}

interface PanesState {
  /** The list in the middle, if the view has one. */
  list: Listed | undefined
  home: Place
  cursor: string | undefined
  setCursor: (id: string | undefined) => void
  /** The row at the right. */
  shown: Row | undefined
  /** Something was opened; on a phone it takes the place of the list. */
  isDetail: boolean
}

/** Which list belongs to the address, and which of its rows is shown. */
function usePanes({ route, look }: Place, rows: Row[], isNarrow: boolean): PanesState {
  const [moved, setCursor] = useState<string>()
  const home = useMemo(() => homeOf(route, look), [route, look.in, look.q, look.sort])
  const list = useMemo(() => listedIn(home.route), [home])
  const inList = useMemo(
    () => (list ? listRows(rows, list, { q: look.q, sort: look.sort }) : []),
    [rows, list, look.q, look.sort],
  )
  const isSession = route.view === 'session' || route.view === 'coding'
  const opened = isSession
    ? rows.find((row) => row.id === route.id || (route.view === 'session' && row.sessionId === route.id))
    : undefined
  const marked = inList.find((row) => row.id === moved) ?? inList[0]
  const cursor = isSession ? (opened?.id ?? route.id) : marked?.id
  const isPreview = isList(route) && !isNarrow
  const shown = opened ?? (isPreview ? rows.find((row) => row.id === cursor) : undefined)
  // Another list starts at its first row.
  useEffect(() => setCursor(undefined), [home.route.view])
  return { list, home, cursor, setCursor, shown, isDetail: !isList(route) }
}

function homeOf(route: Route, look: Look): Place {
  const own = { q: look.q, sort: look.sort }
  if (route.view === 'session' || route.view === 'coding')
    return { route: look.in === undefined ? { view: 'inbox' } : routeOf(look.in), look: own }
  return { route: route.view === 'project' ? { view: 'project', path: route.path } : route, look: own }
}

function listedIn(route: Route): Listed | undefined {
  if (route.view === 'project') return { repo: route.path }
  return isList(route) ? { list: route.view } : undefined
}

function titleOf(route: Route): string {
  if (route.view === 'project') return route.doc ?? shortPath(route.path)
  if (route.view === 'why') return `Why ${route.target.slice(0, 60)}`
  return places.find((one) => one.route.view === route.view)?.label ?? 'Session'
}

interface PanesProps {
  place: Place
  panes: PanesState
  isNarrow: boolean
}

function Panes({ place, panes, isNarrow }: PanesProps) {
  const { list, home, cursor, setCursor, shown, isDetail } = panes
  const isOpen = place.route.view === 'session' || place.route.view === 'coding'
  const route = isList(place.route) ? shown?.route : place.route
  const hasList = list !== undefined && !(isNarrow && isDetail)
  const hasDetail = list === undefined || !isNarrow || isDetail
  const title = titleOf(home.route)
  return (
    <>
      {hasList && (
        <ListPane
          key={JSON.stringify(list)}
          {...{ title, listed: list, home, look: place.look, cursor, setCursor, isOpen, isNarrow }}
        />
      )}
      {hasDetail && (
        <div class="detail">{route ? <View route={route} look={place.look} /> : <NothingOpen />}</div>
      )}
    </>
  )
}

function NothingOpen() {
  return (
    <Empty title="Nothing is open">
      <p>
        <kbd>j</kbd> and <kbd>k</kbd> move through the list, <kbd>n</kbd> starts a task, <kbd>?</kbd> shows
        all keys.
      </p>
    </Empty>
  )
}

function View({ route, look }: { route: Route; look: Look }) {
  switch (route.view) {
    case 'session':
      return route.subagent === undefined ? (
        <SessionPane route={route} look={look} key={route.id} />
      ) : (
        <SubagentView route={route} look={look} key={`${route.id} ${route.subagent}`} />
      )
    case 'coding':
      return <SessionPane route={route} look={look} key={route.id} />
    case 'chat':
      return <Chat sessionKey={route.key} at={route.at} mark={look.mark} />
    case 'new':
      return <NewTask inRepo={route.repo} key={route.repo} />
    case 'why':
      return <WhyView key={route.target} repo={route.repo} target={route.target} />
    case 'project':
      return route.doc === undefined ? (
        <Project path={route.path} key={route.path} />
      ) : (
        <Document repo={route.path} path={route.doc} key={`${route.path} ${route.doc}`} />
      )
    case 'cost':
      return <Cost by={route.by} look={look} />
    case 'note':
      return <NoteView path={route.path} line={Number(route.line)} />
    case 'mail':
      return <MailView look={look} />
    case 'schedules':
      return <Schedules />
    case 'settings':
      return <Settings />
    default:
      return <UnknownAddress />
  }
}

function UnknownAddress() {
  return (
    <Empty title="There is nothing at this address">
      <p>
        <code>{location.pathname}</code> is no view of this page.
      </p>
      <a class="button primary" href="/" onClick={follow({ view: 'inbox' })}>
        Inbox
      </a>
    </Empty>
  )
}
