// `coding` in the configuration: background Claude Code sessions.
import { z } from 'zod'

export const codingConfig = z.strictObject({
  /** Sessions at work at once on a machine; further ones wait in the queue. Idle sessions do not count: their processes end when
   *  room is needed, and start again with the next message. */
  maxSessions: z.number().min(1).default(5),
  /** Sessions that may wait in the queue; a launch beyond that is refused. */
  maxQueued: z.number().min(0).default(50),
  /** For a session that names no budget; also the most that an agent may give to one. */
  defaultBudgetUsd: z.number().positive().default(5),
  defaultModel: z.string().optional(),
  defaultWorkdir: z.string().optional(),
  /** Short names for repositories, to launch in them by name. Agents launch only here and in their own workspace. */
  repos: z.record(z.string(), z.string()).default({}),
  idleTimeoutMinutes: z.number().min(1).default(30),
  maxPersistedSessions: z.number().min(1).default(50),
  maxAutoResponds: z.number().min(0).default(10),
  permissionMode: z
    .enum(['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'])
    .default('default'),
  fallbackChannel: z.string().optional(),
  /** Working directories to channels, `channel|target`; the longest matching directory wins. */
  agentChannels: z.record(z.string(), z.string()).default({}),
  perRepo: z
    .strictObject({ running: z.number().min(1).default(1), queued: z.number().min(0).default(1) })
    .prefault({}),
  /** Limits over several sessions; none when absent. */
  budgets: z
    .strictObject({
      usdPerDay: z.number().positive().optional(),
      repoUsdPerDay: z.number().positive().optional(),
      agentUsdPerDay: z.number().positive().optional(),
    })
    .prefault({}),
  /** What a session does that another one began, told to that one while it works. */
  progressRelay: z
    .strictObject({
      enabled: z.boolean().default(true),
      intervalSeconds: z.number().min(1).default(30),
      includeToolUse: z.boolean().default(true),
    })
    .prefault({}),
  /** How long a question waits for a person before the answer is no. */
  approvalTimeoutMinutes: z.number().positive().default(5),
  /** Directories in which sessions may be started; anywhere when empty. */
  workspaceRoots: z.array(z.string()).default([]),
})

export type CodingConfig = z.infer<typeof codingConfig>
