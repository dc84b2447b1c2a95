// How what was found looks in a terminal: by session, with the lines around what matched.
import type { SearchOutput } from '../operations/search.ts'
import { ago, bytes, fit, oneLine, styled, table, usd, visible } from './print.ts'
import type { Page } from './print.ts'

type Hit = SearchOutput['hits'][number]

export function printSearch({ hits, total, tookMs, notes }: SearchOutput, page: Page): string {
  const said = notes.map((note) => styled(page, 'dim', note))
  if (hits.length === 0) return ['Nothing found.', ...said].join('\n')
  const sessions = Map.groupBy(hits, (hit) => `${hit.source} ${hit.sessionId}`)
  const count = `${hits.length}${total > hits.length ? ` of ${total}` : ''} places in ${sessions.size} sessions, ${tookMs} ms`
  const blocks = [...sessions.values()].map((group) => printSession(group, page))
  return [...blocks, [styled(page, 'dim', count), ...said].join('\n')].join('\n\n')
}

function printSession(hits: Hit[], page: Page): string {
  const first = hits[0]!
  const newest = Math.max(...hits.map(({ at }) => at))
  const facts = [
    first.source === 'memory' ? 'note' : first.sessionId.slice(0, 8),
    first.agentId,
    first.repoPath || undefined,
    first.branch,
    first.channel,
    newest > 0 ? ago(newest, page.now) : undefined,
    first.costUsd === undefined ? undefined : usd(first.costUsd),
  ]
  const title = oneLine(first.title ?? first.sessionKey ?? (first.source === 'memory' ? first.sessionId : ''))
  const about = facts.filter((fact) => fact !== undefined).join(' · ')
  const heading = [...(title ? [styled(page, 'bold', title)] : []), styled(page, 'dim', visible(about))]
  return [
    fit(heading.join('  '), page.width + 40),
    ...hits.map((hit) => printHit(hit, page)),
    ...openLine(first, page),
  ].join('\n')
}

function printHit(hit: Hit, page: Page): string {
  const who = `${hit.role}, line ${hit.line}${hit.by.length === 1 && hit.by[0] === 'meaning' ? ', by meaning' : ''}`
  const lines = marked(hit, page).split('\n')
  return [`  ${styled(page, 'cyan', who)}`, ...lines.map((line) => `    ${line}`)].join('\n')
}

/** What can be done with it from here. */
function openLine({ source, sessionId, sessionKey, path }: Hit, page: Page): string[] {
  if (source === 'memory') return [styled(page, 'dim', `  ${visible(path)}`)]
  const commands =
    source === 'native'
      ? [`info ${sessionId.slice(0, 8)}`, `resume ${sessionId}`, `fork ${sessionId}`].map(
          (rest) => `cc ${rest}`,
        )
      : [`history ${sessionKey ?? sessionId}`]
  const written = commands.map((command) => `rockpool ${command}`)
  const line = written.join(' · ')
  const lines = line.length + 2 <= page.width ? [line] : written
  return lines.map((each) => styled(page, 'dim', `  ${each}`))
}

function marked({ snippet, matches }: Hit, page: Page): string {
  let text = ''
  let done = 0
  for (const [start, end] of matches) {
    if (start < done) continue
    text += visible(snippet.slice(done, start)) + styled(page, 'yellow', visible(snippet.slice(start, end)))
    done = end
  }
  return text + visible(snippet.slice(done))
}

interface NoteRow {
  agentId: string
  name: string
  bytes: number
  changedAt: number
}

export function printNotes({ notes }: { notes: NoteRow[] }, page: Page): string {
  if (notes.length === 0) return 'No notes yet. `rockpool memory add "…"` writes one.'
  const columns = [
    { title: 'AGENT', value: (row: NoteRow) => row.agentId },
    { title: 'NOTE', value: (row: NoteRow) => row.name, min: 12 },
    { title: 'SIZE', value: (row: NoteRow) => bytes(row.bytes), align: 'right' as const },
    { title: 'CHANGED', value: (row: NoteRow) => ago(row.changedAt, page.now), align: 'right' as const },
  ]
  return table(notes, columns, page)
}

export function printNote({ text }: { text: string }): string {
  return visible(text.trimEnd())
}
