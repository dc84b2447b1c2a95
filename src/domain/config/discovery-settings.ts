// `discovery`, `sessionSelection` and `mcpBridge` in the configuration: where Claude's sessions are, how the next one is
// chosen, and what a session may ask of the world around it.
import { z } from 'zod'
import { bridgeToolNames } from '../bridge.ts'

export const discoveryConfig = z.strictObject({
  /** Claude config directories to look into, beside CLAUDE_CONFIG_DIR, ~/.claude and ~/.config/claude. */
  configDirs: z.array(z.string()).default([]),
  /** Leave the home directories out; only `configDirs` and CLAUDE_CONFIG_DIR. */
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
  /** `false`: words are compared, no model is asked. */
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
