// The memory flush: before Claude's context is compacted it writes down what should outlast it. By how full the context
// is, before a turn; and when Claude is about to compact by itself, in the middle of one. Once for each cycle.
import { randomUUID } from 'node:crypto'
import {
  flushDone,
  hasFlushed,
  resolveMemoryFlushSettings,
  runMemoryFlush,
  shouldRunMemoryFlush,
} from '../agent/memory-flush.ts'
import type { ConversationOptions } from '../domain/agent.ts'
import type { Session } from '../domain/session.ts'
import type { Usage } from '../domain/turn.ts'
import type { FlowParts } from './flow-parts.ts'

export interface FlushCost {
  usage: Usage
  costUsd: number
}

/** Lets Claude write down what matters, if its context is nearly full. Resolves to what that cost. */
export async function runMemoryFlushIfNeeded(
  session: Session,
  sdkSessionId: string,
  options: ConversationOptions,
  parts: FlowParts,
): Promise<FlushCost | undefined> {
  const settings = resolveMemoryFlushSettings(parts.config, session.agentId)
  if (!settings || parts.runtime.kind !== 'claude') return undefined
  const contextWindowTokens = session.entry.contextTokens ?? 200_000
  if (!shouldRunMemoryFlush({ entry: session.entry, contextWindowTokens, ...settings })) return undefined
  return flush(session, sdkSessionId, options, parts)
}

/** For Claude's own compactions: the same, if it was not done in this cycle. */
export function flushBeforeCompaction(
  session: Session,
  options: ConversationOptions,
  parts: FlowParts,
  onCost: (cost: FlushCost) => void,
): ConversationOptions['beforeCompaction'] {
  return async ({ sdkSessionId }) => {
    const entry = await parts.sessions(session.agentId).get(session.key)
    if (!resolveMemoryFlushSettings(parts.config, session.agentId) || hasFlushed(entry)) return
    const cost = await flush(session, sdkSessionId, options, parts)
    if (cost) onCost(cost)
  }
}

/** A flush that fails is reported and not repeated in this cycle: the conversation must go on. */
async function flush(
  session: Session,
  sdkSessionId: string,
  options: ConversationOptions,
  parts: FlowParts,
): Promise<FlushCost | undefined> {
  const settings = resolveMemoryFlushSettings(parts.config, session.agentId)!
  const now = parts.clock.now()
  const { timeZone } = parts.config
  const about = {
    sdkSessionId,
    settings,
    now,
    uuid: randomUUID(),
    copies: parts.noteCopies,
    ...(timeZone === undefined ? {} : { timeZone }),
  }
  const { end, usage, costUsd } = await runMemoryFlush(parts.runtime, options, about)
  if (end.kind === 'failed')
    parts.log.warn(
      { event: 'memory-flush-failed', key: session.key, why: end.why },
      'The memory flush failed; the compaction continues without it.',
    )
  const stored = await parts
    .sessions(session.agentId)
    .update(session.key, (entry) => entry && { ...entry, ...flushDone(entry, now) })
  if (stored) session.entry = stored
  return { usage, costUsd }
}
