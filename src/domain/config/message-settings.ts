// `messages` in the configuration: group history, mentions, and the queue of a busy session.
import { z } from 'zod'

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
  maxTextChars: z.number().default(100_000),
})

export type MessagesConfig = z.infer<typeof messagesConfig>
