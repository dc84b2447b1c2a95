// What a turn used, written into its session. Two notions that must not be mixed: how full the context is after the last
// call (totalTokens of a window of contextTokens), and what was billed over the life of the session.
import type { SessionEntry } from '../domain/session.ts'
import type { Usage } from '../domain/turn.ts'

/** `total` is the occupancy of the context: the prompt of the last call, without what was answered. */
export interface NormalizedUsage extends Partial<Usage> {
  total?: number
}

export interface UsageUpdate {
  /** Billed in this turn, each call once. */
  usage?: NormalizedUsage
  modelUsed?: string
  providerUsed?: string
  /** The size of the model's window. */
  contextTokensUsed?: number
  systemPromptReport?: unknown
  /** Claude's own id of the conversation. */
  cliSessionId?: string
  costUsd?: number
}

/** The entry after a turn. Without a known occupancy the old figure stays and is marked as stale. */
export function withUsage(entry: SessionEntry, update: UsageUpdate): SessionEntry {
  const { usage, cliSessionId } = update
  const occupancy = usage?.total ?? occupancyOf(usage)
  return {
    ...entry,
    inputTokens: (entry.inputTokens ?? 0) + (usage?.input ?? 0),
    outputTokens: (entry.outputTokens ?? 0) + (usage?.output ?? 0),
    cacheRead: (entry.cacheRead ?? 0) + (usage?.cacheRead ?? 0),
    cacheWrite: (entry.cacheWrite ?? 0) + (usage?.cacheWrite ?? 0),
    estimatedCostUsd: (entry.estimatedCostUsd ?? 0) + (update.costUsd ?? 0),
    ...(occupancy === undefined
      ? { totalTokensFresh: false }
      : { totalTokens: occupancy, totalTokensFresh: true }),
    ...(update.contextTokensUsed === undefined ? {} : { contextTokens: update.contextTokensUsed }),
    ...(update.modelUsed === undefined ? {} : { model: update.modelUsed }),
    ...(update.providerUsed === undefined ? {} : { modelProvider: update.providerUsed }),
    ...(update.systemPromptReport === undefined ? {} : { systemPromptReport: update.systemPromptReport }),
    ...(cliSessionId === undefined ? {} : withClaudeId(entry, cliSessionId)),
  }
}

/** Both names under which Claude's id is known: ours and OpenClaw's. */
export function withClaudeId(entry: SessionEntry, sdkSessionId: string): Partial<SessionEntry> {
  return { sdkSessionId, cliSessionIds: { ...entry.cliSessionIds, 'claude-cli': sdkSessionId } }
}

/** The entry without any way back to a conversation of Claude's. */
export function withoutClaudeId(entry: SessionEntry): SessionEntry {
  const { sdkSessionId: _id, claudeCliSessionId: _legacy, cliSessionIds, cliSessionBindings, ...rest } = entry
  const { 'claude-cli': _cli, ...otherIds } = cliSessionIds ?? {}
  const { 'claude-cli': _binding, ...otherBindings } = cliSessionBindings ?? {}
  return {
    ...rest,
    ...(Object.keys(otherIds).length > 0 ? { cliSessionIds: otherIds } : {}),
    ...(Object.keys(otherBindings).length > 0 ? { cliSessionBindings: otherBindings } : {}),
  }
}

/** After a compaction the old occupancy is wrong; it is unknown until the next usage report. */
export function withCompactions(entry: SessionEntry, times: number, tokensAfter?: number): SessionEntry {
  if (times === 0) return entry
  return {
    ...entry,
    compactionCount: (entry.compactionCount ?? 0) + times,
    ...(tokensAfter === undefined
      ? { totalTokensFresh: false }
      : { totalTokens: tokensAfter, totalTokensFresh: true }),
  }
}

function occupancyOf(usage: NormalizedUsage | undefined): number | undefined {
  if (!usage || usage.input === undefined) return undefined
  return usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0)
}
