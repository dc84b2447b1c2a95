// The memory flush: before its context is compacted, Claude takes a turn to write notes. When a flush is due, its prompt, and the
// turn itself: in a fork that leaves nothing behind but the files it writes.
import { join } from 'node:path'
import type { AgentRuntime, ConversationOptions } from '../domain/agent.ts'
import type { Config } from '../domain/config.ts'
import { dayIn } from '../domain/local-time.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { TurnResult } from '../domain/turn.ts'
import { protectNotes } from '../store/notes/protected-notes.ts'

export const DEFAULT_MEMORY_FLUSH_SOFT_TOKENS = 4_000
export const DEFAULT_MEMORY_FLUSH_RESERVE_TOKENS_FLOOR = 20_000

export const DEFAULT_MEMORY_FLUSH_PROMPT =
  'Pre-compaction memory flush. Store durable memories now (use memory/YYYY-MM-DD.md; create memory/ if needed). IMPORTANT: If the file already exists, APPEND new content only and do not overwrite existing entries. If nothing to store, reply with NO_REPLY.'

export const DEFAULT_MEMORY_FLUSH_SYSTEM_PROMPT =
  'Pre-compaction memory flush turn. The session is near auto-compaction; capture durable memories to disk. You may reply, but usually NO_REPLY is correct.'

type MemoryFlushSettings = Required<NonNullable<Config['agents']['defaults']['memoryFlush']>>

/** The agent's own settings, else those of all agents, else the defaults; null when the flush is off. */
export function resolveMemoryFlushSettings(
  config: Pick<Config, 'agents'>,
  agentId: string,
): MemoryFlushSettings | null {
  const own = config.agents.list.find((agent) => agent.id === agentId)?.memoryFlush
  const settings = own ?? config.agents.defaults.memoryFlush
  if (settings?.enabled === false) return null
  return {
    enabled: true,
    softThresholdTokens: settings?.softThresholdTokens ?? DEFAULT_MEMORY_FLUSH_SOFT_TOKENS,
    reserveTokensFloor: settings?.reserveTokensFloor ?? DEFAULT_MEMORY_FLUSH_RESERVE_TOKENS_FLOOR,
    prompt: settings?.prompt?.trim() || DEFAULT_MEMORY_FLUSH_PROMPT,
    systemPrompt: settings?.systemPrompt?.trim() || DEFAULT_MEMORY_FLUSH_SYSTEM_PROMPT,
  }
}

interface MemoryFlushQuestion {
  entry?: Pick<
    SessionEntry,
    'totalTokens' | 'totalTokensFresh' | 'compactionCount' | 'memoryFlushCompactionCount'
  >
  contextWindowTokens: number
  reserveTokensFloor: number
  softThresholdTokens: number
}

/** The context is nearly full, and there was no flush since the last compaction. */
export function shouldRunMemoryFlush(question: MemoryFlushQuestion): boolean {
  const { entry, contextWindowTokens, reserveTokensFloor, softThresholdTokens } = question
  const threshold = contextWindowTokens - reserveTokensFloor - softThresholdTokens
  // A number from before the last compaction does not describe the current context.
  const isKnown = entry?.totalTokens !== undefined && entry.totalTokensFresh !== false
  if (!isKnown || threshold <= 0 || entry.totalTokens! < threshold) return false
  return !hasFlushed(entry)
}

/** A session that never flushed has no count, so it differs from one that flushed in cycle 0. */
export function hasFlushed(
  entry: Pick<SessionEntry, 'compactionCount' | 'memoryFlushCompactionCount'> | undefined,
): boolean {
  const flushedAt = entry?.memoryFlushCompactionCount
  return flushedAt !== undefined && flushedAt === (entry?.compactionCount ?? 0)
}

/** The fields of a session after a flush: one flush for each compaction cycle. */
export function flushDone(
  entry: Pick<SessionEntry, 'compactionCount'>,
  now: number,
): Pick<SessionEntry, 'memoryFlushAt' | 'memoryFlushCompactionCount'> {
  return { memoryFlushAt: now, memoryFlushCompactionCount: entry.compactionCount ?? 0 }
}

/** The prompt with the date in the person's time zone. */
export function memoryFlushPrompt(settings: MemoryFlushSettings, now: number, timeZone?: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone })
  const prompt = settings.prompt.replaceAll('YYYY-MM-DD', dayIn(timeZone)(now))
  return [settings.systemPrompt, prompt, `Current time: ${format.format(now)}`].join('\n\n')
}

/** Takes the flush turn in a fork of the conversation: Claude sees the whole conversation, the conversation itself is not
 *  changed, and the flush can run while the compaction waits. It may write under `memory/` only. */
export async function runMemoryFlush(
  runtime: AgentRuntime,
  options: ConversationOptions,
  flush: {
    sdkSessionId: string
    settings: MemoryFlushSettings
    now: number
    timeZone?: string
    uuid: string
    /** The folder for copies of the notes during the flush. */
    copies: string
  },
): Promise<TurnResult> {
  const folder = join(options.agent.workspace, 'memory')
  const memory = `/${folder}/**`
  const putBack = await protectNotes(folder, flush.copies)
  const fork = await runtime.open({
    ...options,
    key: `${options.key}#memory-flush`,
    resume: { sdkSessionId: flush.sdkSessionId, fork: true },
    newSdkSessionId: undefined,
    title: undefined,
    ephemeral: true,
    // It must not wait for room: the conversation waits for it.
    pinned: true,
    permissionMode: 'default',
    allowedTools: [`Read(${memory})`, `Edit(${memory})`],
    askPermission: async (request) => ({
      behavior: 'deny',
      message: `A memory flush may only write under memory/; ${request.toolName} is not allowed.`,
    }),
    beforeCompaction: undefined,
    onUnprompted: undefined,
  })
  try {
    const text = memoryFlushPrompt(flush.settings, flush.now, flush.timeZone)
    return await fork.turn({ text, uuid: flush.uuid }, () => {})
  } finally {
    await fork.close()
    // Claude was told to append only. Restores the earlier notes if it changed them.
    await putBack()
  }
}
