// The search of the palette: sessions by name, messages, notes and projects.
import type { Call, InputOf } from '../../src/rpc/client.ts'
import type { Hit, NativeSession } from './data.ts'
import { ago, nameOf, readableKey, shortPath } from './format.ts'
import type { Look, Route } from './route.ts'

export interface Found {
  group: string
  title: string
  /** The parts of the title that match. */
  marks?: Array<[start: number, end: number]>
  detail: string
  route: Route
  look?: Look
}

export interface SearchFilter {
  name: string
  params: Partial<InputOf<'sessions.search'>>
}

export const searchFilters: SearchFilter[] = [
  { name: 'All', params: {} },
  { name: 'I said', params: { role: 'user' } },
  { name: 'Claude said', params: { role: 'assistant' } },
  { name: 'Tools', params: { role: 'tool' } },
  { name: 'This week', params: { since: '7d' } },
  { name: 'Notes', params: { source: 'memory' } },
]

interface Question {
  text: string
  filter: SearchFilter
  /** Only in this repository; everywhere when empty. */
  repo: string
  known: NativeSession[]
}

export interface FoundAll {
  found: Found[]
  /** The corrected question: a word that occurs in the texts replaces a word that does not. */
  suggestion?: string
}

export async function findEverything(call: Call, { text, filter, repo, known }: Question): Promise<FoundAll> {
  const wanted = text.trim()
  const within = repo === '' ? {} : { repo }
  const isFiltered = Object.keys(filter.params).length > 0
  const projects = isFiltered || repo !== '' ? [] : projectsOf(known, wanted)
  if (wanted === '')
    return { found: repo === '' ? projects : known.filter((one) => one.repoPath === repo).map(foundSession) }
  // Every letter asks: only the filter for tools may wait for texts that are not indexed.
  const indexed = filter.params.role !== 'tool'
  // A request that fails is left out; the next letter asks again.
  const [named, { hits: said, suggestion }] = await Promise.all([
    isFiltered
      ? []
      : call('cc.list', { search: wanted, limit: 8, ...within }).then(
          ({ sessions }) => sessions,
          () => [],
        ),
    call('sessions.search', { query: wanted, limit: 20, indexed, ...within, ...filter.params }).catch(() => ({
      hits: [],
      suggestion: undefined,
    })),
  ])
  const names = new Map(known.map((session) => [session.sessionId, nameOf(session)]))
  const found = [
    ...named.map(foundSession),
    ...bySession(said).map((hit) => foundHit(hit, names, wanted)),
    ...projects,
  ]
  return { found, suggestion }
}

function projectsOf(known: NativeSession[], wanted: string): Found[] {
  return [...new Set(known.map((session) => session.repoPath))]
    .filter((path) => shortPath(path).toLowerCase().includes(wanted.toLowerCase()))
    .slice(0, 12)
    .map((path) => ({
      group: 'Projects',
      title: shortPath(path),
      detail: path,
      route: { view: 'project', path },
    }))
}

/** The hits of one session are listed together, at the place of the best one. */
function bySession(hits: Hit[]): Hit[] {
  const groups = Map.groupBy(hits, (hit) => hit.sessionId)
  return [...groups.values()].flatMap((group) => group.slice(0, 4))
}

function foundSession(session: NativeSession): Found {
  const detail = `${shortPath(session.repoPath)} · ${session.branch || '–'} · ${ago(Date.parse(session.lastModified))}${session.kept ? ' · kept' : ''}`
  return {
    group: 'Sessions',
    title: nameOf(session),
    detail,
    route: { view: 'session', id: session.sessionId },
  }
}

function foundHit(hit: Hit, names: Map<string, string>, words: string): Found {
  const where = hit.repoPath ? shortPath(hit.repoPath) : hit.source
  const name =
    hit.title ??
    names.get(hit.sessionId) ??
    (hit.sessionKey && readableKey(hit.sessionKey)) ??
    hit.sessionId.slice(0, 8)
  return {
    group: hit.source === 'memory' ? `Noted by ${hit.agentId ?? 'an agent'}` : `Said in ${name}`,
    title: hit.snippet,
    marks: hit.matches,
    detail:
      hit.source === 'memory'
        ? `${shortPath(hit.path)}, line ${hit.line}`
        : [where, hit.at > 0 && ago(hit.at), hit.kept && 'kept'].filter(Boolean).join(' · '),
    route: placeOfHit(hit),
    look: { mark: words },
  }
}

/** The place of a hit: a message by its id or its time, a note by its line. */
function placeOfHit(hit: Hit): Route {
  const at = hit.messageId ?? `@${hit.at}`
  if (hit.source === 'native') return { view: 'session', id: hit.sessionId, subagent: hit.subagent, at }
  if (hit.source === 'rockpool') return { view: 'chat', key: hit.sessionKey, at }
  return { view: 'note', path: hit.path, line: String(hit.line) }
}
