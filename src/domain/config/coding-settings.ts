// `coding`, `discovery`, `sessionSelection` and `mcpBridge` in the configuration: background Claude Code sessions, where
// Claude's sessions are, how the session for the next task is chosen, and what a session may ask through the bridge.
import { z } from 'zod'
import { bridgeToolNames } from '../bridge.ts'
import { trimLevels } from '../trim.ts'

/** How Rockpool runs the program of another coding agent. */
const programConfig = z.strictObject({
  /** The file of the program; the command on the PATH when absent. */
  path: z.string().optional(),
  /** The model of a session that names none; the program's own choice when absent. */
  model: z.string().optional(),
  /** Names of environment variables that it gets beside its usual ones, for example the key of a provider. */
  passEnvironment: z.array(z.string()).default([]),
})

export const codingConfig = z.strictObject({
  /** Busy sessions on one machine; further ones wait in the queue. Idle sessions do not count: their processes end when
   *  room is needed, and start again with the next message. */
  maxSessions: z.number().min(1).default(5),
  /** Sessions that may wait in the queue; a launch beyond that is refused. */
  maxQueued: z.number().min(0).default(50),
  /** The budget of a session that names none; also the most that an agent may grant. */
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
    .strictObject({ running: z.number().min(1).default(1), queued: z.number().min(0).default(20) })
    .prefault({}),
  /** Limits over several sessions; none when absent. */
  budgets: z
    .strictObject({
      usdPerDay: z.number().positive().optional(),
      repoUsdPerDay: z.number().positive().optional(),
      agentUsdPerDay: z.number().positive().optional(),
    })
    .prefault({}),
  /** A session that was started by another session reports its progress to the other session. */
  progressRelay: z
    .strictObject({
      enabled: z.boolean().default(true),
      intervalSeconds: z.number().min(1).default(30),
      includeToolUse: z.boolean().default(true),
    })
    .prefault({}),
  /** How long a request waits for a person before the answer is no; 0: without limit. */
  approvalTimeoutMinutes: z.number().min(0).default(0),
  /** Continue in a trimmed copy by itself when the cache is cold and the copy saves at least a quarter. */
  trimWhenCold: z.enum(['off', ...trimLevels]).default('off'),
  /** Sessions that Claude's usage limit stopped continue by themselves after the reset. Absent: they do not, and Rockpool asks
   *  the owner once. */
  continueAfterLimit: z.boolean().optional(),
  /** The share of a usage window that is reserved for the owner: when only this share is left, new sessions wait for the reset,
   *  or the launch asks. */
  reserve: z
    .strictObject({
      percent: z.number().min(0).max(90).default(0),
      launches: z.enum(['wait', 'ask']).default('wait'),
    })
    .prefault({}),
  /** Programs of other coding agents: `{ "codex": { "path": "/opt/codex/bin/codex" } }`. */
  programs: z.partialRecord(z.enum(['codex', 'gemini', 'opencode', 'pi']), programConfig).default({}),
  /** Directories in which sessions may be started; anywhere when empty. */
  workspaceRoots: z.array(z.string()).default([]),
})

export type CodingConfig = z.infer<typeof codingConfig>
export type ProgramConfig = z.infer<typeof programConfig>

export const discoveryConfig = z.strictObject({
  /** Claude config directories to look into, beside CLAUDE_CONFIG_DIR, ~/.claude and ~/.config/claude. */
  configDirs: z.array(z.string()).default([]),
  /** Folders of other coding agents to look into, beside the usual ones and those that their variables name. */
  agentHomes: z.partialRecord(z.enum(['codex', 'gemini', 'opencode', 'pi']), z.array(z.string())).default({}),
  /** Look only into `configDirs`, `agentHomes` and CLAUDE_CONFIG_DIR, not into ~/.claude, ~/.config/claude and other usual
   *  places. */
  onlyConfigured: z.boolean().default(false),
})

/** Without defaults, so that an agent's own settings replace only what they name. */
export const sessionSelectionOverrides = z
  .strictObject({
    relevanceModel: z.string(),
    relevanceMaxTokens: z.number().min(1),
    relevanceTimeoutMs: z.number().min(1),
    resumeThreshold: z.number().min(0).max(1),
    enabled: z.boolean(),
  })
  .partial()

export const sessionSelectionConfig = sessionSelectionOverrides.extend({
  relevanceModel: z.string().default('claude-haiku'),
  relevanceMaxTokens: z.number().min(1).default(500),
  relevanceTimeoutMs: z.number().min(1).default(3_000),
  /** A session is resumed when its score is above this. */
  resumeThreshold: z.number().min(0).max(1).default(0.6),
  /** `false`: compare words instead of asking a model. */
  enabled: z.boolean().default(true),
})

export const mcpBridgeConfig = z.strictObject({
  enabled: z.boolean().default(true),
  /** Each tool can be switched off: `{ "openclaw_announce": false }`. */
  tools: z.partialRecord(z.enum(bridgeToolNames), z.boolean()).default({}),
})

export type DiscoveryConfig = z.infer<typeof discoveryConfig>
export type SessionSelectionConfig = z.infer<typeof sessionSelectionConfig>
export type McpBridgeConfig = z.infer<typeof mcpBridgeConfig>
