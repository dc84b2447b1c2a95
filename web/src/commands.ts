// What one can do from the palette: act on what is looked at, go somewhere, change how the page looks.
import { useMemo } from 'preact/hooks'
import { logOut } from './gateway.ts'
import { useAction } from './live.ts'
import type { Action } from './live.ts'
import { setScheme } from './scheme.ts'
import { go, useRoute } from './route.ts'
import type { Route } from './route.ts'

export interface Command {
  group: string
  title: string
  detail: string
  /** True when it is done; else the palette stays and says why not. */
  run: () => Promise<boolean>
}

export const places: Array<{ route: Route; label: string; detail: string; key: string }> = [
  { route: { view: 'home' }, label: 'Home', detail: 'who must act', key: '1' },
  { route: { view: 'choose' }, label: 'New task', detail: 'choose a session and launch', key: '2' },
  { route: { view: 'chat' }, label: 'Chat', detail: 'talk to an agent', key: '3' },
  { route: { view: 'cost' }, label: 'Cost', detail: 'by day, repository, model', key: '4' },
  { route: { view: 'settings' }, label: 'Settings', detail: 'channels, people, agents', key: '5' },
]

export function useCommands(): { commands: Command[]; problem: string | undefined } {
  const route = useRoute()
  const { run, error } = useAction()
  const commands = useMemo(() => [...aboutThis(route, run), ...goTo(), ...forThePage()], [route])
  return { commands, problem: error }
}

type Run = Action['run']

/** What can be done with the thing that the view shows. */
function aboutThis(route: Route, run: Run): Command[] {
  const group = 'Do with this'
  const does = (title: string, detail: string, work: () => Promise<unknown>): Command => ({
    group,
    title,
    detail,
    run: async () => (await work()) !== undefined,
  })
  if (route.view === 'session') {
    const { id } = route
    return [
      does('Archive', 'out of the lists; it can be restored', () => run('cc.archive', { id })),
      does('Restore', 'back into the lists', () => run('cc.archive', { id, restore: true })),
      does('Copy the resume command', `claude --resume ${id}`, async () => {
        await navigator.clipboard.writeText(`claude --resume ${id}`)
        return true
      }),
    ]
  }
  if (route.view === 'coding') {
    const session = route.id
    return [
      does('Interrupt', 'stop what it does now; it stays', () => run('coding.interrupt', { session })),
      does('End', 'it can be resumed later', () => run('coding.kill', { session })),
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
        'begin this conversation anew; what was said is kept',
        withKey((key) => run('sessions.reset', { key })),
      ),
      does(
        'Archive',
        'out of the list; it can be restored',
        withKey((key) => run('sessions.archive', { keys: [key] })),
      ),
    ]
  }
  return route.view === 'project' ? [leads(group, 'New task here', { view: 'choose', repo: route.path })] : []
}

function goTo(): Command[] {
  return [
    ...places.map(({ label, detail, route }) => leads('Go to', label, route, detail)),
    leads('Go to', 'Doctor', { view: 'settings' }, 'examine this machine, and mend'),
  ]
}

function leads(group: string, title: string, route: Route, detail = ''): Command {
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

function forThePage(): Command[] {
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
    does('As the system', 'theme', () => setScheme(undefined)),
    does('Log out', 'of this page', logOut),
  ]
}
