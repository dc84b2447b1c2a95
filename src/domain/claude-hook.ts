// A Claude hook: an event that a Claude Code session reports through Rockpool's plugin, and the answer that the session gets. The
// sessions are those that people start in a terminal. Every part of Rockpool that wants to answer is a contributor; see
// claude-hooks/answers.ts for how their answers become one.
import { z } from 'zod'

export const claudeHookNames = [
  /** A session started, was resumed, forked, cleared or compacted (`source`). Context that is added here is read first. */
  'SessionStart',
  'UserPromptSubmit',
  /** A person gave a command of the plugin, such as `/rockpool:quiet` (`prompt`). */
  'UserPromptExpansion',
  /** After all tools of one answer of the model, and before the next request to the model. */
  'PostToolBatch',
  /** The terminal shows a permission dialog. The answer may take long; the first one wins, here or in the terminal. */
  'PermissionRequest',
  /** The session waits for the person at the terminal (`notificationType`). */
  'Notification',
  /** The turn is over. Context that is added here makes the session take another turn. */
  'Stop',
  /** The turn is over because of an error of the API or a usage limit (`error`); `Stop` does not follow. */
  'StopFailure',
  'PreCompact',
  'PostCompact',
  /** The wake file of the session has changed (claude-hooks/wake.ts). Context that is added here wakes an idle session. */
  'FileChanged',
  'SessionEnd',
] as const
export type ClaudeHookName = (typeof claudeHookNames)[number]

/** Absent and empty are the same: some hooks can only send texts. */
const text = z
  .string()
  .optional()
  .transform((value) => value || undefined)

/** As Claude Code sends it. Fields that are not listed are dropped. */
export const claudeHookSchema = z
  .object({
    hook_event_name: z.enum(claudeHookNames),
    session_id: z.string().regex(/^[\w-]{8,64}$/),
    transcript_path: text,
    cwd: text,
    permission_mode: text,
    agent_id: text,
    prompt: text,
    tool_name: text,
    tool_input: z.record(z.string(), z.unknown()).optional(),
    source: text,
    reason: text,
    trigger: text,
    message: text,
    notification_type: text,
    error: text,
    prompt_cache_likely_expired: z.boolean().optional(),
    estimated_cache_write_usd: z.number().optional(),
    /** `cli` in a terminal. Added by the plugin. */
    entrypoint: text,
    /** The process of the session. Added by the shell lines of the plugin. */
    claude_pid: text,
  })
  .transform((raw) => ({
    name: raw.hook_event_name,
    /** Claude's id of the session, in lower case. After `/clear` it is another one. */
    sessionId: raw.session_id.toLowerCase(),
    transcriptPath: raw.transcript_path,
    cwd: raw.cwd,
    permissionMode: raw.permission_mode,
    /** The event comes from this sub-agent of the session. */
    subagentId: raw.agent_id,
    /** Of `UserPromptExpansion`. */
    prompt: raw.prompt,
    /** Of `PermissionRequest`. */
    toolName: raw.tool_name,
    toolInput: raw.tool_input,
    /** Of `SessionStart`: startup, resume, fork, clear or compact. */
    source: raw.source,
    /** Of `SessionEnd`. */
    reason: raw.reason,
    /** Of `PreCompact` and `PostCompact`: auto or manual. */
    trigger: raw.trigger,
    /** Of `Notification`. */
    message: raw.message,
    notificationType: raw.notification_type,
    /** Of `StopFailure`: `rate_limit` and others. */
    error: raw.error,
    /** Of `SessionStart` after a resume or fork, in newer versions of Claude Code. */
    isCacheLikelyExpired: raw.prompt_cache_likely_expired,
    cacheWriteUsd: raw.estimated_cache_write_usd,
    /** A person sits at the terminal of the session. */
    isTerminal: raw.entrypoint === 'cli',
    /** Of `SessionStart`: the process of the session. `/clear` starts a session in the same process. */
    pid: Number(raw.claude_pid) || undefined,
  }))
export type ClaudeHookEvent = z.output<typeof claudeHookSchema>

export interface ClaudeHookAnswer {
  /** A text for the model, as a system reminder. The answers of several contributors are joined. It has no effect on
   *  `Notification`, `PermissionRequest`, `PreCompact`, `PostCompact` and `SessionEnd`. */
  additionalContext?: string
  /** Of `PermissionRequest`. The first contributor with a decision wins. */
  decision?: ClaudeHookDecision
  /** Of `UserPromptExpansion`: the command is done, and the person reads this; the model is not asked. */
  done?: string
  /** Called when the answer was written to the connection of the session; not called if the session has gone, or if the answer
   *  came too late. Mark as delivered here, and not before, what must not be lost. */
  onSent?: () => void
  /** Called when the session had gone before the answer was written: the session certainly did not receive it. */
  onDropped?: () => void
}

type ClaudeHookDecision =
  | { behavior: 'allow'; updatedInput?: Record<string, unknown> }
  | { behavior: 'deny'; message: string; interrupt?: boolean }

/**
 * A part of Rockpool that answers Claude hooks. compose/claude-hooks.ts has the list.
 *
 * The session waits for the answer, so `answer` works in memory or with one indexed read, and starts everything else without
 * awaiting it. An answer that takes longer than `answerMs` (claude-hooks/answers.ts) is dropped; only `PermissionRequest` may
 * wait. A contributor that throws is logged, and the others are not affected.
 */
export interface ClaudeHookContributor {
  /** For the log. */
  name: string
  events: readonly ClaudeHookName[]
  /** `signal` fires when the session no longer waits. */
  answer(event: ClaudeHookEvent, signal: AbortSignal): Promise<ClaudeHookAnswer | undefined>
}
