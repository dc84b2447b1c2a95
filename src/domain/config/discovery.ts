// `discovery` and `sessionSelection` in the configuration: where Claude's sessions are, and how the next one is chosen.
import { z } from 'zod'

export const discoveryConfig = z.strictObject({
  /** Claude config directories to look into, beside CLAUDE_CONFIG_DIR, ~/.claude and ~/.config/claude. */
  configDirs: z.array(z.string()).default([]),
  /** Leave the home directories out; only `configDirs` and CLAUDE_CONFIG_DIR. */
  onlyConfigured: z.boolean().default(false),
})

export const sessionSelectionConfig = z.strictObject({
  relevanceModel: z.string().default('claude-haiku'),
  relevanceMaxTokens: z.number().min(1).default(500),
  relevanceTimeoutMs: z.number().min(1).default(3_000),
  resumeThreshold: z.number().min(0).max(1).default(0.6),
  enabled: z.boolean().default(true),
})

export type DiscoveryConfig = z.infer<typeof discoveryConfig>
export type SessionSelectionConfig = z.infer<typeof sessionSelectionConfig>
