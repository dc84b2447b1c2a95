// What was done to sessions, in a sentence each; and what is put away, and what turns cost.
import type { ArchiveRow } from '../operations/sessions/session-archives.ts'
import { ago, bytes, count, duration, oneLine, prose, styled, table, tokens, usd } from './print.ts'
import type { Page } from './print.ts'

interface Changed {
  key: string
  entry: { sessionId: string; label?: string }
  archived?: string
}

export function printLabelled({ key, entry }: Changed): string {
  return entry.label === undefined
    ? `${oneLine(key)} has no label now.`
    : `${oneLine(key)} is now called ${oneLine(entry.label)}.`
}

export function printReset({ key, archived }: Changed, page: Page): string {
  const back = archived === undefined ? '' : ` \`rockpool sessions restore ${oneLine(key)}\` brings it back.`
  return prose(`Reset ${oneLine(key)}.${back}`, page)
}

export function printRestored({ key, archived }: Changed): string {
  const other = archived === undefined ? '' : ` What had its place is now ${oneLine(archived)}.`
  return `${oneLine(key)} is back.${other}`
}

export function printForked({ key, entry, parentKey }: Changed & { parentKey: string }, page: Page): string {
  const name = entry.label === undefined ? '' : `, called ${oneLine(entry.label)}`
  return prose(`Forked ${oneLine(parentKey)} as ${oneLine(key)}${name}.`, page)
}

interface Patched {
  key: string
  withoutEffect?: string[]
}

export function printPatched({ key, withoutEffect = [] }: Patched, page: Page): string {
  const idle =
    withoutEffect.length > 0
      ? `\n${styled(page, 'yellow', `Kept for OpenClaw, without effect here: ${withoutEffect.join(', ')}.`)}`
      : ''
  return `${oneLine(key)} is changed.${idle}`
}

interface Compacted {
  key: string
  compacted: boolean
  reason?: string
  kept: number
}

export function printCompacted({ key, compacted, reason, kept }: Compacted): string {
  const what = compacted
    ? `${oneLine(key)} is shorter now${kept > 0 ? `: ${kept} entries are left` : ''}.`
    : `${oneLine(key)} is unchanged.`
  return [what, ...(reason ? [oneLine(reason)] : [])].join(' ')
}

export function printDeleted({ key, archived }: { key: string; archived: string[] }): string {
  const back = archived.map((name) => ` \`rockpool sessions restore ${oneLine(name)}\` brings it back.`)
  return `${oneLine(key)} is deleted.${back.join('')}`
}

interface Archived {
  results: Array<{ key: string; ok: boolean; status: string; error?: string }>
}

export function printArchived({ results }: Archived, page: Page): string {
  const lines = results.map(({ key, ok, status, error }) => {
    if (!ok) return styled(page, 'red', `${oneLine(key)} was not archived: ${oneLine(error ?? status)}`)
    return `${oneLine(key)} ${status === 'archived' ? 'is' : 'would be'} archived.`
  })
  return lines.join('\n')
}

export function printArchives(
  { total, archives }: { total: number; archives: ArchiveRow[] },
  page: Page,
): string {
  if (archives.length === 0) return 'Nothing was put away by a reset or a deletion.'
  const more = archives.length < total ? `${archives.length} of ${total}. ` : ''
  const closing = `${more}\`rockpool sessions restore <id>\` brings one back.`
  const columns = [
    { title: 'SESSION', value: (row: ArchiveRow) => row.label ?? row.key ?? '(not said)', min: 16 },
    { title: 'ID', value: (row: ArchiveRow) => row.sessionId.slice(0, 8), min: 8 },
    { title: 'WHY', value: (row: ArchiveRow) => row.reason, min: 7 },
    { title: 'WHEN', value: (row: ArchiveRow) => ago(row.at, page.now), min: 8 },
    { title: 'SIZE', value: (row: ArchiveRow) => bytes(row.bytes), spare: true },
  ]
  return `${table(archives, columns, page)}\n${styled(page, 'dim', closing)}`
}

interface Cleanup {
  dryRun: boolean
  agents: Array<{
    agentId: string
    sessions: unknown[]
    orphans: unknown[]
    archives: unknown[]
    bytes: number
    bytesAfter: number
    failed: string[]
  }>
}

export function printCleanup({ dryRun, agents }: Cleanup, page: Page): string {
  const lines = agents.flatMap((agent) => {
    const { sessions, orphans, archives, failed } = agent
    const name = oneLine(agent.agentId)
    if (sessions.length + orphans.length + archives.length === 0) return [`${name}: nothing to put away.`]
    const what = `${sessions.length} sessions and ${orphans.length} loose transcripts to the archives, ${archives.length} archives removed`
    const size = `${bytes(agent.bytes)}, then ${bytes(agent.bytesAfter)}`
    const wrong = failed.map((text) => styled(page, 'red', `  ${oneLine(text)}`))
    return [`${name}: ${dryRun ? 'would put ' : 'put '}${what} (${size}).`, ...wrong]
  })
  const isIdle = lines.every((line) => line.endsWith('nothing to put away.'))
  const closing = dryRun && !isIdle ? [styled(page, 'dim', 'Nothing is changed yet; --enforce does it.')] : []
  return [...lines, ...closing].join('\n')
}

interface Counts {
  found: number
  added: number
  changed: number
  kept: number
}

interface Imported {
  from: string
  dryRun: boolean
  agents?: Array<{ agentId: string; sessions: Counts; transcripts: Counts; problems: string[] }>
  session?: { key: string; entries: number; damage: string[] }
}

export function printImported({ from, dryRun, agents = [], session }: Imported, page: Page): string {
  const warn = (text: string): string => styled(page, 'yellow', `  ! ${oneLine(text)}`)
  if (session) {
    const done = `${oneLine(session.key)} is here, with ${session.entries} entries.`
    return [done, ...session.damage.map(warn)].join('\n')
  }
  if (agents.length === 0) return `There is nothing to take over in ${oneLine(from)}.`
  const counted = ({ found, added, changed, kept }: Counts, what: string): string =>
    `${count(found, what)} found: ${added} new, ${changed} changed, ${kept} kept as they are here`
  const lines = agents.flatMap(({ agentId, sessions, transcripts, problems }) => [
    `${oneLine(agentId)}: ${counted(sessions, 'session')}; ${counted(transcripts, 'transcript')}.`,
    ...problems.map(warn),
  ])
  return [...lines, ...(dryRun ? ['Nothing is changed yet; without --dry-run it is done.'] : [])].join('\n')
}

interface TurnRow {
  lane: string
  end: string
  model?: string
  startedAt: number
  endedAt: number
  usage: { input: number; output: number }
  costUsd: number
}

export function printTurns({ turns }: { turns: TurnRow[] }, page: Page): string {
  if (turns.length === 0) return 'No turn is over yet.'
  const columns = [
    { title: 'SESSION', value: (row: TurnRow) => row.lane, min: 16 },
    { title: 'BEGAN', value: (row: TurnRow) => ago(row.startedAt, page.now), min: 8 },
    { title: 'TOOK', value: (row: TurnRow) => duration(row.endedAt - row.startedAt), min: 6 },
    { title: 'END', value: (row: TurnRow) => row.end, min: 9 },
    { title: 'IN', value: (row: TurnRow) => tokens(row.usage.input), min: 5, spare: true },
    { title: 'OUT', value: (row: TurnRow) => tokens(row.usage.output), min: 5, spare: true },
    { title: 'COST', value: (row: TurnRow) => usd(row.costUsd), min: 5, spare: true },
    {
      title: 'MODEL',
      value: (row: TurnRow) => (row.model ?? '-').replace(/^claude-/, ''),
      min: 6,
      spare: true,
    },
  ]
  return table(turns, columns, page)
}
