// `mail` in the configuration: who may wake a session with a message, and how much mail there may be.
import { z } from 'zod'
import { wakePolicies } from '../mail.ts'

export const mailConfig = z.strictObject({
  /** Who may wake an idle session, unless `rockpool mail allow` decided it for that session. */
  wake: z.enum(wakePolicies).default('owner'),
  /** How often mail may wake one session in an hour, and all sessions together in a day. */
  wakesPerHour: z.int().min(0).default(6),
  wakesPerDay: z.int().min(0).default(60),
  /** A message may be the answer to a message, which may be an answer too, and so on. A message deeper than this in such a chain
   *  wakes no session. */
  maxDepth: z.int().min(0).default(3),
  /** Messages of one sender in a minute; further ones are refused. The owner has no limit. */
  perMinute: z.int().min(1).default(20),
  /** Messages that may wait for one recipient; further ones are refused. */
  maxWaiting: z.int().min(1).default(200),
  /** A message that was not delivered within this time expires. */
  keepDays: z.number().positive().default(7),
})

export type MailConfig = z.infer<typeof mailConfig>
