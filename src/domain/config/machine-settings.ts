// `machine` in the configuration: this machine among those that share one PostgreSQL.
import { z } from 'zod'

export const machineConfig = z.strictObject({
  /** How the others call it; the host's name when absent. */
  name: z.string().min(1).max(100).optional(),
  /** What it can do that others cannot, for launches that ask for it: `gpu`, `office`. */
  labels: z.array(z.string().min(1).max(64)).default([]),
  /** How many turns of chats it takes at once; others take the rest. */
  turnsAtOnce: z.int().min(1).max(1_000).default(16),
})
