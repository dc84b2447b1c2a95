// The commands of the palette: act on what the view shows, go to another view, change the theme.
import { useMemo } from 'preact/hooks'
import { logOut } from './gateway.ts'
import type { Gateway } from './gateway.ts'
import { useAction, useGateway } from './live.ts'
import type { Action } from './live.ts'
import { setScheme } from './scheme.ts'
import { useSessions } from './needs-you.ts'
import { useEnding } from './parts/end-session.tsx'
import { places } from './parts/views-pane.tsx'
import { go, usePlace } from './route.ts'
import { endNotifications } from './this-browser.ts'
import type { Route } from './route.ts'
import type { Row } from './rows.ts'

export interface Command {
  group: string
  title: string
  detail: string
  /** True if it succeeded; otherwise the palette stays open and shows the error. */
  run: () => Promise<boolean>
}

export function useCommands(): { commands: Command[]; problem: string | undefined } {
  const { route } = usePlace()
  const { rows } = useSessions()
  const { call } = useGateway()
  const { run, error } = useAction()
  const ending = useEnding()
  const row = route.view === 'coding' ? rows.find(({ id }) => id === route.id) : undefined
  const commands = useMemo(
    () => [...commandsFor(route, run), ...endOf(row, ending.end), ...goTo(), ...pageCommands(call)],
    [route, row],
  )
  return { commands, problem: error ?? ending.error }
}

type Run = Action['run']

const group = 'Do with this'

function endOf(row: Row | undefined, end: (row: Row) => Promise<boolean>): Command[] {
  if (!row) return []
  return [
    { group, title: 'End', detail: 'undo brings it back to wait for your next message', run: () => end(row) },
  ]
}

/** Commands for the thing that the view shows. */
function commandsFor(route: Route, run: Run): Command[] {
  const does = (title: string, detail: string, work: () => Promise<unknown>): Command => ({
    group,
    title,
    detail,
    run: async () => (await work()) !== undefined,
  })
  if (route.view === 'session') {
    const { id } = route
    return [
      does('Archive', 'no longer listed; it can be restored', () => run('cc.archive', { id })),
      does('Restore', 'listed again', () => run('cc.archive', { id, restore: true })),
      does('Copy the resume command', `claude --resume ${id}`, async () => {
        await navigator.clipboard.writeText(`claude --resume ${id}`)
        return true
      }),
    ]
  }
  if (route.view === 'coding') {
    const session = route.id
    return [
      does('Interrupt', 'stop the current turn; the session stays', () =>
        run('coding.interrupt', { session }),
      ),
    ]
  }
  if (route.view === 'chat') {
    const keyOf = async (): Promise<string | undefined> =>
      route.key ?? (await run('turns.where', { channel: 'web', to: 'dashboard' }))?.sessionKey
    const withKey = (work: (key: string) => Promise<unknown>) => async (): Promise<unknown> => {
      const key = await keyOf()
      return key === undefined ? undefined : work(key)
    }
    return [
      does(
        'Reset',
        'start this conversation again; the old transcript is archived',
        withKey((key) => run('sessions.reset', { key })),
      ),
      does(
        'Archive',
        'no longer listed; it can be restored',
        withKey((key) => run('sessions.archive', { keys: [key] })),
      ),
    ]
  }
  return route.view === 'project' ? [linkTo(group, 'New task here', { view: 'new', repo: route.path })] : []
}

function goTo(): Command[] {
  return [
    ...places.map(({ label, detail, route }) => linkTo('Go to', label, route, detail)),
    linkTo('Go to', 'Doctor', { view: 'settings' }, 'diagnose problems and fix them'),
  ]
}

function linkTo(group: string, title: string, route: Route, detail = ''): Command {
  return {
    group,
    title,
    detail,
    run: async () => {
      go(route)
      return true
    },
  }
}

function pageCommands(call: Gateway['call']): Command[] {
  const does = (title: string, detail: string, work: () => unknown): Command => ({
    group: 'This page',
    title,
    detail,
    run: async () => {
      await work()
      return true
    },
  })
  return [
    does('Dark', 'theme', () => setScheme('dark')),
    does('Light', 'theme', () => setScheme('light')),
    does('Match system', 'theme', () => setScheme(undefined)),
    does('Log out', 'of this page; this browser gets no more notifications', async () => {
      await endNotifications(call)
      await logOut()
    }),
  ]
}
