// Coding sessions as text for a chat, in the format of the OpenClaw plugin, and figures of all sessions. The figures are computed
// from the store: they survive restarts and count each session once.
import { kindOf } from '../domain/coding-session.ts'
import type { CodingLifecycle, CodingSession, CodingStatus, OutputBlock } from '../domain/coding-session.ts'
import {
  isLimited,
  sessionState,
  sessionStates,
  shownName,
  stateText,
  type SessionState,
} from '../domain/coding-state.ts'
import { formatUsd } from '../domain/text.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import type { SpendStore } from '../store/sqlite/spend-store.ts'
import { pendingMessages } from './session/messages.ts'
import { formatBlocks, formatDuration, oneLine } from './session/names.ts'
import { unfinishedBlock } from './session/output.ts'
import { waitedOf } from './session/session-changes.ts'

const icons: Record<CodingLifecycle, string> = {
  queued: '🕓',
  starting: '🟡',
  active: '🟢',
  'awaiting-input': '🔔',
  'awaiting-approval': '🔐',
  'awaiting-answer': '❓',
  'awaiting-plan': '📋',
  'awaiting-budget': '💰',
  suspended: '💤',
  ended: '',
}
const endIcons = { completed: '✅', failed: '❌', killed: '⛔', starting: '🟡', running: '🟢' }

export function formatListing(session: CodingSession, watched: boolean, now: number): string {
  const limited = isLimited(session)
  const icon = limited ? '⏳' : icons[session.lifecycle] || endIcons[session.status]
  const where = watched ? 'foreground' : 'background'
  const turns = session.request.multiTurn ? 'multi-turn' : 'single'
  const { resume } = session.request
  const lines = [
    `${icon} ${shownName(session)} [${session.id}] (${formatDuration(durationOf(session, now))}) — ${where}, ${turns}`,
    `📁 ${session.request.workdir}${session.machine === undefined ? '' : ` on ${session.machine}`}`,
    `📝 "${oneLine(session.request.prompt, 80)}"`,
    ...(session.waiting ? [`⏳ ${sessionState(session)}: ${oneLine(stateText(session), 120)}`] : []),
    ...(limited ? [`⏳ limited: ${stateText(session)}`] : []),
    ...(session.startedAt ? pendingMessages(session) : []).map(
      (text) => `✉️ not delivered yet: ${oneLine(text, 80)}`,
    ),
    ...(session.sdkSessionId ? [`🔗 ${idName(session)} ID: ${session.sdkSessionId}`] : []),
    ...(resume ? [`↩️  Resumed from: ${resume.sdkSessionId}${resume.fork ? ' (forked)' : ''}`] : []),
  ]
  return lines.join('\n   ')
}

function idName(session: CodingSession): string {
  const kind = kindOf(session)
  return kind === 'claude' ? 'Claude' : kind
}

export function formatOutput(session: CodingSession, blocks: OutputBlock[], now: number): string {
  const took = formatDuration(durationOf(session, now))
  const heading = `Session: ${session.name} [${session.id}] | Status: ${sessionState(session)} | Duration: ${took}`
  const { end, status } = session
  const output = formatBlocks([...blocks, ...unfinishedBlock(session)])
  const asks = sessionState(session) === 'needs you' ? `⏳ waits for you: ${stateText(session)}` : ''
  const ended = end?.message ? `${endIcons[status]} ${end.message}` : ''
  const lines = [output, asks, ended].filter(Boolean).join('\n')
  return [heading, '─'.repeat(60), lines || '(no output yet)'].join('\n')
}

export function durationOf(session: CodingSession, now: number): number {
  return (session.end?.at ?? now) - (session.startedAt ?? session.createdAt)
}

export interface CodingMetrics {
  totalCostUsd: number
  /** By day, YYYY-MM-DD. */
  costPerDay: Record<string, number>
  sessionsByStatus: Record<Exclude<CodingStatus, 'starting'>, number>
  /** As the lists show them. A status is coarser. */
  sessionsByState: Record<SessionState, number>
  totalLaunched: number
  totalDurationMs: number
  sessionsWithDuration: number
  averageDurationMs: number
  mostExpensive?: { id: string; name: string; costUsd: number; prompt: string }
  /** Time that sessions waited for a person. */
  waitedMs: number
}

/** Of all sessions, or of those that one agent may see. */
export function codingMetrics(
  store: CodingStore,
  spend: SpendStore,
  now: number,
  agentId?: string,
): CodingMetrics {
  const sessions = store.list({ visibleTo: agentId })
  const ended = sessions.filter((session) => session.end && session.startedAt !== undefined)
  const totalDurationMs = ended.reduce((sum, session) => sum + (session.end!.at - session.startedAt!), 0)
  const count = (...wanted: CodingStatus[]): number =>
    sessions.filter((session) => wanted.includes(session.status)).length
  return {
    totalCostUsd: sessions.reduce((sum, session) => sum + session.costUsd, 0),
    costPerDay: Object.fromEntries(spend.perDay(agentId).map(({ day, usd }) => [day, usd])),
    sessionsByStatus: {
      running: count('starting', 'running'),
      completed: count('completed'),
      failed: count('failed'),
      killed: count('killed'),
    },
    sessionsByState: countOfStates(sessions),
    totalLaunched: sessions.length,
    totalDurationMs,
    sessionsWithDuration: ended.length,
    averageDurationMs: ended.length === 0 ? 0 : Math.round(totalDurationMs / ended.length),
    mostExpensive: mostExpensiveOf(sessions),
    waitedMs: sessions.reduce((sum, session) => sum + waitedOf(session, now), 0),
  }
}

function countOfStates(sessions: CodingSession[]): Record<SessionState, number> {
  const states = sessions.map(sessionState)
  const counts = sessionStates.map((state) => [state, states.filter((one) => one === state).length])
  return Object.fromEntries(counts) as Record<SessionState, number>
}

function mostExpensiveOf(sessions: CodingSession[]): CodingMetrics['mostExpensive'] {
  const paid = sessions.filter((session) => session.costUsd > 0)
  if (paid.length === 0) return undefined
  const { id, name, costUsd, request } = paid.reduce((most, one) => (one.costUsd > most.costUsd ? one : most))
  return { id, name, costUsd, prompt: request.prompt.slice(0, 80).toWellFormed() }
}

export function formatStats(metrics: CodingMetrics): string {
  const states = Object.entries(metrics.sessionsByState).filter(([, count]) => count > 0)
  const lines = [
    [`Launched ${metrics.totalLaunched}`, ...states.map(([state, count]) => countOf(state, count))].join(
      ', ',
    ),
    `${averageOf(metrics)}Waits for people, added up over all sessions: ${formatDuration(metrics.waitedMs)}`,
    `Cost ${formatUsd(metrics.totalCostUsd)}`,
    ...Object.entries(metrics.costPerDay)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .slice(-7)
      .map(([day, usd]) => `  ${day} ${formatUsd(usd)}`),
    ...(metrics.mostExpensive
      ? [`Most expensive: ${metrics.mostExpensive.name} (${formatUsd(metrics.mostExpensive.costUsd)})`]
      : []),
  ]
  return lines.join('\n')
}

function countOf(state: string, count: number): string {
  return `${count} ${state === 'needs you' && count !== 1 ? 'need you' : state}`
}

function averageOf({ sessionsWithDuration, averageDurationMs }: CodingMetrics): string {
  return sessionsWithDuration > 0 ? `Average duration ${formatDuration(averageDurationMs)}. ` : ''
}
