// Coding sessions as text for a chat, in the format of the OpenClaw plugin.
import type { CodingLifecycle, CodingSession, OutputBlock } from '../domain/coding-session.ts'
import { formatUsd } from '../domain/text.ts'
import type { CodingMetrics } from './metrics.ts'
import { pendingMessages } from './session/messages.ts'
import { formatBlocks, formatDuration, oneLine } from './session/names.ts'
import { unfinishedBlock } from './session/output.ts'

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
  const icon = icons[session.lifecycle] || endIcons[session.status]
  const where = watched ? 'foreground' : 'background'
  const turns = session.request.multiTurn ? 'multi-turn' : 'single'
  const { resume } = session.request
  const lines = [
    `${icon} ${session.name} [${session.id}] (${formatDuration(durationOf(session, now))}) — ${where}, ${turns}`,
    `📁 ${session.request.workdir}${session.machine === undefined ? '' : ` on ${session.machine}`}`,
    `📝 "${oneLine(session.request.prompt, 80)}"`,
    ...(session.waiting ? [`⏳ waits for ${session.waiting.for}: ${session.waiting.about}`] : []),
    ...(session.startedAt ? pendingMessages(session) : []).map(
      (text) => `✉️ not delivered yet: ${oneLine(text, 80)}`,
    ),
    ...(session.sdkSessionId ? [`🔗 Claude ID: ${session.sdkSessionId}`] : []),
    ...(resume ? [`↩️  Resumed from: ${resume.sdkSessionId}${resume.fork ? ' (forked)' : ''}`] : []),
  ]
  return lines.join('\n   ')
}

export function formatOutput(session: CodingSession, blocks: OutputBlock[], now: number): string {
  const took = formatDuration(durationOf(session, now))
  const heading = `Session: ${session.name} [${session.id}] | Status: ${session.status} | Duration: ${took}`
  const { end, status } = session
  const output = formatBlocks([...blocks, ...unfinishedBlock(session)])
  const ended = end?.message ? `${endIcons[status]} ${end.message}` : ''
  return [heading, '─'.repeat(60), [output, ended].filter(Boolean).join('\n') || '(no output yet)'].join('\n')
}

export function formatStats(metrics: CodingMetrics): string {
  const { running, completed, failed, killed } = metrics.sessionsByStatus
  const lines = [
    `Launched ${metrics.totalLaunched}, running ${running}, completed ${completed}, failed ${failed}, killed ${killed}`,
    `Average duration ${formatDuration(metrics.averageDurationMs)}, waited for people ${formatDuration(metrics.waitedMs)}`,
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

export function durationOf(session: CodingSession, now: number): number {
  return (session.end?.at ?? now) - (session.startedAt ?? session.createdAt)
}
