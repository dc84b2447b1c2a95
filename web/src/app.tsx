// The frame of every view: navigation, the state of the connection to the gateway, and the palette.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { places } from './commands.ts'
import { openGateway } from './gateway.ts'
import type { ConnectionState } from './gateway.ts'
import { isWriting } from './keyboard.ts'
import { GatewayContext } from './live.ts'
import { Login, codeInAddress } from './login.tsx'
import { AwayBanner, AwayAtStart } from './parts/away.tsx'
import { Keys } from './parts/keys.tsx'
import { Toasts } from './parts/notices.tsx'
import { Palette } from './parts/palette.tsx'
import { useNeedsYou } from './needs-you.ts'
import { follow, go, pathOf, useRoute } from './route.ts'
import type { Route } from './route.ts'
import { Choose } from './views/choose.tsx'
import { Chat } from './views/chat.tsx'
import { CodingView } from './views/coding.tsx'
import { Cost } from './views/cost.tsx'
import { Document } from './views/document.tsx'
import { Home } from './views/home.tsx'
import { NoteView } from './views/note.tsx'
import { Project } from './views/project.tsx'
import { SessionView } from './views/session.tsx'
import { Settings } from './views/settings.tsx'
import { SubagentView } from './views/subagent.tsx'

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
  const route = useRoute()
  const [wasConnected, setWasConnected] = useState(false)
  useEffect(() => {
    if (connection === 'connected') setWasConnected(true)
  }, [connection])
  const [paletteOpen, setPaletteOpen] = useState(false)
  const [keysOpen, setKeysOpen] = useState(false)
  const waiting = useNeedsYou()
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setPaletteOpen((open) => !open)
      } else if (event.altKey && places.some((place) => place.key === event.key)) {
        event.preventDefault()
        go(places.find((place) => place.key === event.key)!.route)
      } else if ((event.key === '/' || event.key === '?') && !isWriting(event.target)) {
        event.preventDefault()
        if (event.key === '/') setPaletteOpen(true)
        else setKeysOpen((open) => !open)
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header>
        <a class="brand" href="/" onClick={follow({ view: 'home' })}>
          <img src="/icon.svg" alt="" width="24" height="24" /> Rockpool
        </a>
        <nav aria-label="Views">
          {places.map((place) => (
            <a
              key={place.label}
              href={pathOf(place.route)}
              aria-current={place.route.view === route.view ? 'page' : undefined}
              onClick={follow(place.route)}
              title={`Alt+${place.key}`}
            >
              {place.label}
              {place.route.view === 'home' && waiting > 0 && <span class="badge">{waiting}</span>}
            </a>
          ))}
        </nav>
        <button type="button" class="find" onClick={() => setPaletteOpen(true)}>
          Find <kbd>Ctrl K</kbd>
        </button>
      </header>
      {connection === 'away' && wasConnected && <AwayBanner />}
      <main id="main" tabIndex={-1}>
        {connection === 'away' && !wasConnected ? <AwayAtStart /> : <View route={route} />}
      </main>
      <Toasts quiet={route.view === 'chat'} />
      {keysOpen && <Keys onClose={() => setKeysOpen(false)} />}
      {paletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
    </div>
  )
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case 'session':
      return route.subagent === undefined ? (
        <SessionView id={route.id} at={route.at} key={route.id} />
      ) : (
        <SubagentView route={route} key={`${route.id} ${route.subagent}`} />
      )
    case 'coding':
      return <CodingView id={route.id} key={route.id} />
    case 'chat':
      return <Chat sessionKey={route.key} at={route.at} />
    case 'choose':
      return <Choose inRepo={route.repo} key={route.repo} />
    case 'project':
      return route.doc === undefined ? (
        <Project path={route.path} key={route.path} />
      ) : (
        <Document repo={route.path} path={route.doc} key={`${route.path} ${route.doc}`} />
      )
    case 'cost':
      return <Cost by={route.by} />
    case 'note':
      return <NoteView path={route.path} line={Number(route.line)} />
    case 'settings':
      return <Settings />
    default:
      return <Home />
  }
}
