// Records a turn's usage in its session's entry. Two figures must not be mixed: how full the context is after the last
// call (totalTokens of a window of contextTokens), and what was billed over the life of the session.
import type { SessionEntry } from '../domain/session.ts'
import type { Usage } from '../domain/turn.ts'

/** `total` is the occupancy of the context: the prompt of the last call, without its answer. */
export interface NormalizedUsage extends Partial<Usage> {
  total?: number
}

interface UsageUpdate {
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
    contextTokens: update.contextTokensUsed ?? entry.contextTokens,
    model: update.modelUsed ?? entry.model,
    modelProvider: update.providerUsed ?? entry.modelProvider,
    systemPromptReport: update.systemPromptReport ?? entry.systemPromptReport,
    ...(cliSessionId === undefined ? {} : withClaudeId(entry, cliSessionId)),
  }
}

/** Claude's id in our field and in OpenClaw's. */
export function withClaudeId(entry: SessionEntry, sdkSessionId: string): Partial<SessionEntry> {
  return { sdkSessionId, cliSessionIds: { ...entry.cliSessionIds, 'claude-cli': sdkSessionId } }
}

/** The entry without any link to a conversation of Claude's. */
export function withoutClaudeId(entry: SessionEntry): SessionEntry {
  const { sdkSessionId: _id, claudeCliSessionId: _legacy, cliSessionIds, cliSessionBindings, ...rest } = entry
  const { 'claude-cli': _cli, ...otherIds } = cliSessionIds ?? {}
  const { 'claude-cli': _binding, ...otherBindings } = cliSessionBindings ?? {}
  return {
    ...rest,
    cliSessionIds: Object.keys(otherIds).length > 0 ? otherIds : undefined,
    cliSessionBindings: Object.keys(otherBindings).length > 0 ? otherBindings : undefined,
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
