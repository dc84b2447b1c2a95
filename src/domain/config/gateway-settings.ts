// `gateway` and `hooks` in the configuration.
import { z } from 'zod'

export const gatewayConfig = z.strictObject({
  port: z.number().int().min(0).max(65_535).default(18_789),
  bind: z.string().default('127.0.0.1'),
  /** Further names under which the gateway may be addressed, exact, with port. */
  hosts: z.array(z.string()).default([]),
  origins: z.array(z.string()).default([]),
  allowPlaintextLan: z.boolean().default(false),
})

export const hooksConfig = z.strictObject({
  enabled: z.boolean().default(false),
  allowRequestSessionKey: z.boolean().default(false),
})

export type GatewayConfig = z.infer<typeof gatewayConfig>
