// `session` and `messages` in the configuration: keys, resets, send policy, maintenance; group history, mentions, and the
// queue of a busy session.
import { z } from 'zod'

const resetPolicy = z.strictObject({
  mode: z.enum(['none', 'daily', 'idle']),
  atHour: z.number().optional(),
  idleMinutes: z.number().optional(),
})

const sendRule = z.strictObject({
  action: z.enum(['allow', 'deny']).default('allow'),
  match: z
    .strictObject({
      channel: z.string().optional(),
      chatType: z.enum(['direct', 'dm', 'group', 'channel']).optional(),
      keyPrefix: z.string().optional(),
      rawKeyPrefix: z.string().optional(),
    })
    .default({}),
})

export const sessionConfig = z.strictObject({
  scope: z.enum(['per-sender', 'global']).default('per-sender'),
  dmScope: z
    .enum(['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer'])
    .default('per-channel-peer'),
  mainKey: z.string().default('main'),
  /** One name for several accounts of one person: `{ "alice": ["telegram:123", "discord:456"] }`. */
  identityLinks: z.record(z.string(), z.array(z.string())).default({}),
  /** Where sessions.json is; may contain `{agentId}`. */
  store: z.string().optional(),
  reset: resetPolicy.optional(),
  idleMinutes: z.number().optional(),
  resetByType: z
    .strictObject({
      direct: resetPolicy.optional(),
      dm: resetPolicy.optional(),
      group: resetPolicy.optional(),
      thread: resetPolicy.optional(),
    })
    .default({}),
  resetByChannel: z.record(z.string(), resetPolicy).default({}),
  resetTriggers: z.array(z.string()).default(['/new', '/reset']),
  parentForkMaxTokens: z.number().default(100_000),
  sendPolicy: z
    .strictObject({ default: z.enum(['allow', 'deny']).optional(), rules: z.array(sendRule).default([]) })
    .default({ rules: [] }),
  maintenance: z
    .strictObject({
      pruneAfterDays: z.number().min(1).default(30),
      maxEntries: z.number().min(1).default(10_000),
      maxDiskBytes: z.number().min(1).optional(),
    })
    .prefault({}),
})

export type SessionConfig = z.infer<typeof sessionConfig>
export type ResetPolicyConfig = z.infer<typeof resetPolicy>

const queueSettings = z.strictObject({
  mode: z
    .enum(['steer', 'followup', 'collect', 'interrupt', 'steer-backlog', 'steer+backlog', 'queue'])
    .optional(),
  debounceMs: z.number().min(0).optional(),
  cap: z.number().min(1).optional(),
  drop: z.enum(['old', 'new', 'summarize']).optional(),
})

export const messagesConfig = z.strictObject({
  groupChat: z
    .strictObject({
      historyLimit: z.number().min(0).default(50),
      mentionPatterns: z.array(z.string()).default([]),
      activation: z.enum(['mention', 'always']).default('mention'),
    })
    .prefault({}),
  queue: queueSettings.extend({ byChannel: z.record(z.string(), queueSettings).default({}) }).prefault({}),
})

export type MessagesConfig = z.infer<typeof messagesConfig>
