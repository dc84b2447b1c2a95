// Who gives a message to a coding session, starts it or continues it. Messages can wait, for a session, a schedule or another machine,
// so a giver is stored and sent with them. operations/coding/steering.ts decides what a giver may do.
import { z } from 'zod'

export const giverSchema = z.object({
  /** The agent whose limits hold; absent for the operator. */
  agentId: z.string().optional(),
  /** May allow what a session does without asking: the owner, and tokens with the scope `approve` that are bound to no agent. */
  mayApprove: z.boolean(),
  /** The coding session that writes to another one with its own tools. */
  codingId: z.string().optional(),
})
export type Giver = z.infer<typeof giverSchema>

/** The owner; also Rockpool itself, when it continues work that a giver with the right to do so began. */
export const ownerGives: Giver = { mayApprove: true }
