// Sessions: lists, one session, what they used, and what is archived, cleaned up or imported.
import { isNamedByKey } from '../domain/session.ts'
import { readableKey } from '../domain/session-key-forms.ts'
import type { OutputOf } from '../rpc/client.ts'
import { ago, bytes, count, duration, oneLine, pairs, prose, safe, styled } from './print.ts'
import { table, tokens, truncate, usd, visible, wrapped } from './print.ts'
import type { Page, Printers } from './print.ts'

type SessionRow = OutputOf<'sessions.list'>['sessions'][number]

export const printers: Printers = {
  'sessions.archive': ({ results }, page) =>
    results
      .map(({ key, ok, status, error }) => {
        if (!ok) return styled(page, 'red', safe`${key} was not archived: ${error ?? status}`)
        return safe`${key} ${status === 'archived' ? 'is' : 'would be'} archived.`
      })
      .join('\n'),
  'sessions.archives': printArchives,
  'sessions.cleanup': printCleanup,
  'sessions.import': printImported,
  'sessions.list': ({ sessions, total }, page) =>
    sessions.length === 0 ? noSessions(page) : sessionTable(sessions, total, page),
  'sessions.preview': printPreviews,
  'sessions.show': printSession,
  'sessions.status': (row, page) => pairs(page, facts(row, page)),
  'sessions.usage': printUsage,
  'turns.list': printTurns,
}

export function sessionTable(sessions: SessionRow[], total: number, page: Page): string {
  const agents = new Set(sessions.map((row) => row.agentId))
  const shown = table(page, sessions, {
    SESSION: { value: nameOf, min: 20 },
    AGENT: agents.size > 1 && ((row) => row.agentId),
    ID: { value: (row) => row.sessionId.slice(0, 8), min: 8, style: 'dim', optional: true },
    ACTIVE: { value: (row) => ago(row.updatedAt, page.now), align: 'right', min: 10 },
    CONTEXT: { value: contextOf, align: 'right', min: 7, optional: true },
    COST: { value: (row) => usd(row.estimatedCostUsd), align: 'right', min: 5, optional: true },
    MODEL: { value: modelOf, min: 6, optional: true },
  })
  const more = `${sessions.length} of ${total}; --limit all shows them all.`
  return sessions.length < total ? `${shown}\n${styled(page, 'dim', more)}` : shown
}

function noSessions({ input = {} }: Page): string {
  if (input['archived'] === true)
    return 'No archived sessions. `rockpool sessions archives` lists what a reset or a deletion archived.'
  const { limit: _limit, ...filters } = input
  return Object.keys(filters).length > 0 ? 'No session matches.' : 'No sessions. `rockpool chat` starts one.'
}

function nameOf(row: SessionRow): string {
  const name = row.label ?? (isNamedByKey(row) ? undefined : row.displayName) ?? row.subject
  const key = readableKey(row.key)
  return name ? `${name} (${key})` : key
}

function contextOf(row: SessionRow): string {
  if (row.totalTokens === undefined) return '-'
  const share = row.contextTokens ? ` ${Math.round((row.totalTokens / row.contextTokens) * 100)}%` : ''
  return `${tokens(row.totalTokens)}${share}`
}

function modelOf({ model = '-' }: { model?: string }): string {
  return model.replace(/^claude-/, '')
}

function facts(row: SessionRow, page: Page): Record<string, string | undefined> {
  return {
    Key: readableKey(row.key),
    Label: row.label,
    Id: row.sessionId,
    Agent: row.agentId,
    Active: ago(row.updatedAt, page.now),
    Model: row.model,
    Context: contextOf(row),
    Cost: row.estimatedCostUsd === undefined ? undefined : usd(row.estimatedCostUsd),
    Claude: row.sdkSessionId,
    Archived: row.archivedAt === undefined ? undefined : ago(row.archivedAt, page.now),
  }
}

function printSession(output: OutputOf<'sessions.show'>, page: Page): string {
  const { session, transcript, items, withoutEffect } = output
  const about = pairs(page, {
    ...facts(session, page),
    Transcript: transcript.exists ? undefined : 'none yet',
    'No effect': withoutEffect.join(', ') || undefined,
    Damage: transcript.damage.join('\n') || undefined,
  })
  const texts = items.map(({ role, text }) =>
    wrapped(`${styled(page, 'bold', role)}  ${visible(text)}`, page),
  )
  return [about, ...(texts.length > 0 ? ['', ...texts] : [])].join('\n')
}

function printPreviews({ previews }: OutputOf<'sessions.preview'>, page: Page): string {
  return previews
    .map(({ key, status, items }) => {
      const lines = items.map(({ role, text }) => {
        const room = Math.max(20, page.width - role.length - 3)
        return `  ${styled(page, 'dim', oneLine(role))} ${truncate(oneLine(text), room)}`
      })
      const none = status === 'missing' ? '  There is no such session.' : '  Nothing was said yet.'
      return [styled(page, 'bold', oneLine(readableKey(key))), ...(lines.length > 0 ? lines : [none])].join(
        '\n',
      )
    })
    .join('\n\n')
}

function printUsage({ totals, count: all, sessions }: OutputOf<'sessions.usage'>, page: Page): string {
  if (all === 0) return 'No session was active then.'
  const sum = `${usd(totals.costUsd)} in ${count(all, 'session')}: ${tokens(totals.inputTokens)} in, ${tokens(totals.outputTokens)} out, ${tokens(totals.cacheRead)} read from the cache, ${tokens(totals.cacheWrite)} written to it`
  const shown = table(page, sessions, {
    SESSION: { value: (row) => readableKey(row.key), min: 20 },
    COST: { value: (row) => usd(row.costUsd), align: 'right', min: 6 },
    IN: { value: (row) => tokens(row.inputTokens), align: 'right' },
    OUT: { value: (row) => tokens(row.outputTokens), align: 'right' },
    'CACHE READ': { value: (row) => tokens(row.cacheRead), align: 'right', optional: true, min: 10 },
    ACTIVE: { value: (row) => ago(row.updatedAt, page.now), optional: true, min: 10 },
  })
  return `${prose(sum, page)}\n\n${shown}`
}

function printArchives({ total, archives }: OutputOf<'sessions.archives'>, page: Page): string {
  if (archives.length === 0) return 'Nothing was archived by a reset or a deletion.'
  const shown = table(page, archives, {
    SESSION: { value: (row) => row.label ?? readableKey(row.key ?? '(unknown)'), min: 16 },
    ID: { value: (row) => row.sessionId.slice(0, 8), min: 8 },
    WHY: { value: (row) => row.reason, min: 7 },
    WHEN: { value: (row) => ago(row.at, page.now), min: 8 },
    SIZE: { value: (row) => bytes(row.bytes), optional: true },
  })
  const more = archives.length < total ? `${archives.length} of ${total}. ` : ''
  const hint = `${more}\`rockpool sessions restore <id>\` brings one back.`
  return `${shown}\n${styled(page, 'dim', hint)}`
}

/** The operation's schema leaves these fields open. */
interface CleanedAgent {
  agentId: string
  sessions: unknown[]
  orphans: unknown[]
  archives: unknown[]
  bytes: number
  bytesAfter: number
  failed: string[]
}

function printCleanup({ dryRun, agents }: OutputOf<'sessions.cleanup'>, page: Page): string {
  const plans = agents as CleanedAgent[]
  const isIdle = (plan: CleanedAgent): boolean =>
    plan.sessions.length + plan.orphans.length + plan.archives.length === 0
  const lines = plans.flatMap((plan) => {
    const { sessions, orphans, archives, failed } = plan
    const name = oneLine(plan.agentId)
    if (isIdle(plan)) return [`${name}: nothing to clean up.`]
    const what = `${sessions.length} sessions and ${orphans.length} orphaned transcripts archived, ${archives.length} archives removed`
    const size = `${bytes(plan.bytes)}, then ${bytes(plan.bytesAfter)}`
    const failures = failed.map((text) => styled(page, 'red', `  ${oneLine(text)}`))
    return [`${name}: ${dryRun ? 'plan: ' : ''}${what} (${size}).`, ...failures]
  })
  const isPlan = dryRun && !plans.every(isIdle)
  const hint = styled(page, 'dim', 'Nothing is changed yet; --enforce does it.')
  return [...lines, ...(isPlan ? [hint] : [])].join('\n')
}

function printImported(output: OutputOf<'sessions.import'>, page: Page): string {
  const { from, dryRun, agents = [], session } = output
  const warning = (text: string): string => styled(page, 'yellow', `  ! ${oneLine(text)}`)
  if (session) {
    const done = safe`Imported ${session.key} with ${session.entries} entries.`
    return [done, ...session.damage.map(warning)].join('\n')
  }
  if (agents.length === 0) return safe`There is nothing to import in ${from}.`
  type Counts = (typeof agents)[number]['sessions']
  const counted = ({ found, added, changed, kept }: Counts, what: string): string =>
    `${count(found, what)} found: ${added} new, ${changed} changed, ${kept} kept as they are here`
  const lines = agents.flatMap(({ agentId, sessions, transcripts, problems }) => [
    `${oneLine(agentId)}: ${counted(sessions, 'session')}; ${counted(transcripts, 'transcript')}.`,
    ...problems.map(warning),
  ])
  return [...lines, ...(dryRun ? ['Nothing is changed yet; run it without --dry-run.'] : [])].join('\n')
}

/** The operation's schema leaves the rows open. */
interface TurnRow {
  lane: string
  end: string
  model?: string
  startedAt: number
  endedAt: number
  usage: { input: number; output: number }
  costUsd: number
}

function printTurns(output: OutputOf<'turns.list'>, page: Page): string {
  const turns = output.turns as unknown as TurnRow[]
  if (turns.length === 0) return 'No turn has ended yet.'
  return table(page, turns, {
    SESSION: { value: (row) => readableKey(row.lane), min: 16 },
    BEGAN: { value: (row) => ago(row.startedAt, page.now), min: 8 },
    TOOK: { value: (row) => duration(row.endedAt - row.startedAt), min: 6 },
    END: { value: (row) => row.end, min: 9 },
    IN: { value: (row) => tokens(row.usage.input), min: 5, optional: true },
    OUT: { value: (row) => tokens(row.usage.output), min: 5, optional: true },
    COST: { value: (row) => usd(row.costUsd), min: 5, optional: true },
    MODEL: { value: modelOf, min: 6, optional: true },
  })
}
