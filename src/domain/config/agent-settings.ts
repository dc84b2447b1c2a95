// `agents` and `claude` in the configuration: who answers, with which model and tools, and how Claude is run.
import { z } from 'zod'
import { agentIdRule } from '../session-key.ts'
import { sessionSelectionOverrides } from './coding-settings.ts'

const heartbeat = z.strictObject({
  /** For example `30m`; off when absent. */
  every: z.string().optional(),
  /** Where the text of a heartbeat is sent: `channel|target`. Nowhere when absent. */
  target: z.string().optional(),
})

/** Relative, without `..`. */
const insideRule = /^(?!\/|~)(?!(?:.*\/)?\.\.(?:\/|$)).+$/

const memoryFlush = z.strictObject({
  enabled: z.boolean().default(true),
  softThresholdTokens: z.number().default(4_000),
  reserveTokensFloor: z.number().default(20_000),
  prompt: z.string().optional(),
  systemPrompt: z.string().optional(),
})

const shared = z.strictObject({
  /** Files and folders in the agent's workspace that guests and groups may read: `["handbook.md", "public/"]`. */
  files: z.array(z.string().regex(insideRule, 'a path inside the workspace is expected')).default([]),
  /** Tools of Claude Code that guests and groups may use without asking: `["WebSearch"]`. */
  tools: z.array(z.string()).default([]),
})

/** The id names a folder and is part of every session key, so a bad one is refused here. */
const agentId = z
  .string()
  .regex(agentIdRule, 'a-z, 0-9, - and _, at most 64, beginning with a letter or digit, are expected')

const agentSettings = z.strictObject({
  model: z.string().optional(),
  workspace: z.string().optional(),
  systemPrompt: z.string().optional(),
  /** Tools that the agent may use without asking when it talks with the owner. When absent, it reads the whole machine. */
  allowedTools: z.array(z.string()).optional(),
  /** Files and tools that guests and groups may use. Everything else of the agent is closed to them. */
  shared: shared.optional(),
  settingSources: z.array(z.enum(['user', 'project', 'local'])).optional(),
  skills: z.array(z.string()).optional(),
  heartbeat: heartbeat.optional(),
  memoryFlush: memoryFlush.optional(),
  /** Overrides of `sessionSelection` for this agent. */
  sessionSelection: sessionSelectionOverrides.optional(),
})

export const agentsConfig = z.strictObject({
  defaults: agentSettings
    .extend({
      /** Model names people may use, and short names for them: `{ "haiku": "claude-haiku-5-5" }`. */
      models: z.record(z.string(), z.string()).default({}),
      /** How many sub-agents a session may have at once, and how deep sub-agents may start others. */
      subagents: z
        .strictObject({
          maxSpawnDepth: z.number().int().min(0).default(2),
          maxChildren: z.number().int().min(1).default(5),
        })
        .prefault({}),
    })
    .prefault({}),
  list: z
    .array(
      agentSettings.extend({ id: agentId, name: z.string().optional(), default: z.boolean().optional() }),
    )
    .default([]),
})

export const claudeConfig = z.strictObject({
  /** The user's own `claude`; the one that comes with Rockpool when absent. */
  binary: z.string().optional(),
  /** The source of the credential. `auto` takes the first that is found; with `none` the offline agent answers chats. */
  credential: z
    .enum([
      'auto',
      'bedrock',
      'vertex',
      'auth-token',
      'api-key',
      'api-key-helper',
      'oauth-token',
      'login',
      'none',
    ])
    .default('auto'),
  /** Names of further environment variables that Claude and its tools may see. */
  passEnvironment: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)).default([]),
  /** Keep one idle process ready for the next new conversation. */
  spare: z.boolean().default(true),
  maxLive: z.number().min(1).default(8),
  maxStarts: z.number().min(1).default(2),
  idleMinutes: z.number().min(1).default(30),
  /** A turn ends when Claude sends nothing for this long and no tool runs. */
  silenceSeconds: z.number().min(1).default(300),
  toolSilenceSeconds: z.number().min(1).default(900),
  /** How long Claude may write one block of an answer; then the turn ends. What was written is kept. */
  maxAnswerMinutes: z.number().positive().default(30),
  maxRetries: z.number().min(0).default(4),
})

export type AgentsConfig = z.infer<typeof agentsConfig>
export type ClaudeConfig = z.infer<typeof claudeConfig>
