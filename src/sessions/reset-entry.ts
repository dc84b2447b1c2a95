// The row of a session after a reset: the person's settings stay, everything that belonged to the old conversation
// goes. Unknown fields stay: they belong to other programs, and are more often settings than state.
import type { SessionEntry } from '../domain/session.ts'

/** Ways back into a conversation of Claude's or of another program's. After a reset none may be left. */
const bindings = [
  'sdkSessionId',
  'cliSessionIds',
  'claudeCliSessionId',
  'cliSessionBindings',
  'acp',
  'forkOfSdkSessionId',
]

const ofTheConversation = [
  ...bindings,
  'sessionFile',
  'abortedLastRun',
  'abortCutoffMessageSid',
  'abortCutoffTimestamp',
  'inputTokens',
  'outputTokens',
  'cacheRead',
  'cacheWrite',
  'estimatedCostUsd',
  'authProfileOverrideCompactionCount',
  'memoryFlushAt',
  // Must be absent, not 0: a 0 that equals compactionCount would block the first flush for ever.
  'memoryFlushCompactionCount',
  'memoryFlushContextHash',
  'memoryFlushFailureCount',
  'memoryFlushLastFailedAt',
  'memoryFlushLastError',
  'fallbackNoticeSelectedModel',
  'fallbackNoticeActiveModel',
  'fallbackNoticeReason',
  'compactionCheckpoints',
  'contextBudgetStatus',
  'systemPromptReport',
  'skillsSnapshot',
  'forkedFromParent',
  'status',
  'startedAt',
  'endedAt',
  'runtimeMs',
  'restartRecoveryRuns',
  'pendingFinalDelivery',
  'liveModelSwitchPending',
  'quotaSuspension',
  'archivedAt',
]

export type ResetReason = 'new' | 'reset' | 'daily' | 'idle'

export function resetEntry(
  old: SessionEntry,
  next: { sessionId: string; now: number; reason: ResetReason },
): SessionEntry {
  const gone = new Set(ofTheConversation)
  const kept = Object.fromEntries(Object.entries(old).filter(([field]) => !gone.has(field)))
  return {
    ...kept,
    sessionId: next.sessionId,
    updatedAt: Math.max(old.updatedAt, next.now),
    sessionStartedAt: next.now,
    lastInteractionAt: next.now,
    systemSent: false,
    compactionCount: 0,
    totalTokens: 0,
    totalTokensFresh: true,
    previousSessionId: old.sessionId,
    resetReason: next.reason,
  }
}
