// The memory flush: before Claude's context is compacted, Claude writes notes of what must not be lost. It runs before a turn
// when the context is nearly full, and within a turn when Claude is about to compact; once for each compaction.
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

/** Lets Claude write notes if its context is nearly full. Resolves to the cost. */
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

/** The same for Claude's own compactions, if it was not done since the last one. */
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

/** A failed flush is logged and not repeated before the next compaction, so that the conversation continues. */
async function flush(
  session: Session,
  sdkSessionId: string,
  options: ConversationOptions,
  parts: FlowParts,
): Promise<FlushCost | undefined> {
  const settings = resolveMemoryFlushSettings(parts.config, session.agentId)!
  const now = parts.clock.now()
  const about = {
    sdkSessionId,
    settings,
    now,
    uuid: randomUUID(),
    copies: parts.noteCopies,
    timeZone: parts.config.timeZone,
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
