// Find anything: sessions by name, what was said in them, and places to go. Opens on Ctrl-K.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { NativeSession } from '../data.ts'
import { ago, shortPath, visible } from '../format.ts'
import { useGateway, useLive } from '../live.ts'
import { go } from '../route.ts'
import type { Route } from '../route.ts'

interface Item {
  group: string
  title: string
  /** The parts of the title that were looked for. */
  marks?: Array<[start: number, end: number]>
  detail: string
  route: Route
}

interface Hit {
  sessionId: string
  source: 'rockpool' | 'native' | 'memory'
  sessionKey?: string
  title?: string
  repoPath?: string
  snippet: string
  matches: Array<[start: number, end: number]>
  at: number
}

interface Filter {
  name: string
  params: Record<string, string>
}

const filters: Filter[] = [
  { name: 'All', params: {} },
  { name: 'I said', params: { role: 'user' } },
  { name: 'Claude said', params: { role: 'assistant' } },
  { name: 'Tools', params: { role: 'tool' } },
  { name: 'This week', params: { since: '7d' } },
  { name: 'Notes', params: { source: 'memory' } },
]

const commands: Item[] = [
  { group: 'Go to', title: 'Home', detail: 'who must act', route: { view: 'home' } },
  { group: 'Go to', title: 'New task', detail: 'choose a session and launch', route: { view: 'choose' } },
  { group: 'Go to', title: 'Chat', detail: 'talk to an agent', route: { view: 'chat' } },
  { group: 'Go to', title: 'Cost', detail: 'by day, repository, model', route: { view: 'cost' } },
  {
    group: 'Go to',
    title: 'Settings',
    detail: 'channels, pairing, configuration',
    route: { view: 'settings' },
  },
]

export function Palette({ onClose }: { onClose: () => void }) {
  const gateway = useGateway()
  const [text, setText] = useState('')
  const [items, setItems] = useState<Item[]>(commands)
  const [chosen, setChosen] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const known = useLive<{ sessions: NativeSession[] }>('cc.list', { limit: 1000 }).data?.sessions
  const [filter, setFilter] = useState<Filter>(filters[0]!)
  useLayoutEffect(() => input.current?.focus(), [])
  useEffect(() => {
    const timer = setTimeout(() => {
      void findAll(gateway.call, text, filter, known ?? []).then((found) => {
        setItems(found)
        setChosen(0)
      })
    }, 120)
    return () => clearTimeout(timer)
  }, [text, filter, known])
  const open = (item: Item | undefined): void => {
    if (!item) return
    onClose()
    go(item.route)
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onClose()
    else if (event.key === 'ArrowDown') setChosen((at) => Math.min(at + 1, items.length - 1))
    else if (event.key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0))
    else if (event.key === 'Enter') open(items[chosen])
    else return
    event.preventDefault()
  }
  return (
    <div class="veil" onClick={(event) => event.target === event.currentTarget && onClose()}>
      <div class="palette" role="dialog" aria-modal="true" aria-label="Find">
        <input
          ref={input}
          type="search"
          role="combobox"
          list={undefined}
          aria-expanded="true"
          aria-controls="found"
          aria-activedescendant={items[chosen] ? `found-${chosen}` : undefined}
          placeholder="Find sessions, words that were said, or a place to go"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKey}
        />
        <div class="pills" role="group" aria-label="Filters">
          {filters.map((one) => (
            <button
              key={one.name}
              type="button"
              aria-pressed={one === filter}
              onClick={() => {
                setFilter(one)
                input.current?.focus()
              }}
            >
              {one.name}
            </button>
          ))}
        </div>
        <ul id="found" role="listbox" aria-label="Found">
          {items.map((item, i) => (
            <li
              key={`${item.group}${item.title}${i}`}
              id={`found-${i}`}
              role="option"
              aria-selected={i === chosen}
              onClick={() => open(item)}
              onMouseMove={() => setChosen(i)}
            >
              {items[i - 1]?.group !== item.group && <span class="group">{visible(item.group)}</span>}
              <span class="title">
                <Marked text={item.title} marks={item.marks ?? []} />
              </span>
              <span class="faint detail">{visible(item.detail)}</span>
            </li>
          ))}
          {items.length === 0 && <li class="faint">Nothing found. Other words?</li>}
        </ul>
      </div>
    </div>
  )
}

function Marked({ text, marks }: { text: string; marks: Array<[number, number]> }) {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const [start, end] of marks) {
    parts.push(visible(text.slice(from, start)), <mark key={start}>{visible(text.slice(start, end))}</mark>)
    from = end
  }
  return (
    <>
      {parts}
      {visible(text.slice(from))}
    </>
  )
}

type Call = <Output>(method: string, params: Record<string, unknown>) => Promise<Output>

async function findAll(call: Call, text: string, filter: Filter, known: NativeSession[]): Promise<Item[]> {
  const wanted = text.trim()
  const places = [...commands, ...projectsOf(known)].filter(({ title }) =>
    title.toLowerCase().includes(wanted.toLowerCase()),
  )
  if (wanted === '') return places
  const [{ sessions }, { hits }] = await Promise.all([
    call<{ sessions: NativeSession[] }>('cc.list', { search: wanted, limit: 8 }).catch(() => ({
      sessions: [],
    })),
    call<{ hits: Hit[] }>('sessions.search', { query: wanted, limit: 20, ...filter.params }).catch(() => ({
      hits: [],
    })),
  ])
  const names = new Map(known.map((session) => [session.sessionId, nameOf(session)]))
  const named = filter === filters[0] ? sessions.map(itemOfSession) : []
  return [...named, ...bySession(hits).map((hit) => itemOfHit(hit, names)), ...places]
}

function projectsOf(known: NativeSession[]): Item[] {
  return [...new Set(known.map((session) => session.repoPath))].slice(0, 20).map((path) => ({
    group: 'Projects',
    title: shortPath(path),
    detail: path,
    route: { view: 'project', path },
  }))
}

function nameOf(session: NativeSession): string {
  return session.title ?? session.label ?? (session.firstMessage || session.sessionId.slice(0, 8))
}

/** Places of one session stand together, where its best one stood. */
function bySession(hits: Hit[]): Hit[] {
  const groups = Map.groupBy(hits, (hit) => hit.sessionId)
  return [...groups.values()].flatMap((group) => group.slice(0, 4))
}

function itemOfSession(session: NativeSession): Item {
  const detail = `${shortPath(session.repoPath)} · ${session.branch || '–'} · ${ago(Date.parse(session.lastModified))}`
  return {
    group: 'Sessions',
    title: nameOf(session),
    detail,
    route: { view: 'session', id: session.sessionId },
  }
}

function itemOfHit(hit: Hit, names: Map<string, string>): Item {
  const where = hit.repoPath ? shortPath(hit.repoPath) : hit.source
  const route: Route =
    hit.source === 'native'
      ? { view: 'session', id: hit.sessionId, at: `@${hit.at}` }
      : { view: 'chat', key: hit.sessionKey }
  const name = hit.title ?? names.get(hit.sessionId) ?? hit.sessionKey ?? hit.sessionId.slice(0, 8)
  const group = `Said in ${name}`
  return { group, title: hit.snippet, marks: hit.matches, detail: `${where} · ${ago(hit.at)}`, route }
}
