// `bindings` in the configuration: which agent answers which chats, in OpenClaw's form.
import { z } from 'zod'

const id = z.union([z.string(), z.number()]).transform(String)

const match = z.strictObject({
  channel: z.enum(['telegram', 'discord', 'whatsapp', 'web', 'console']),
  /** Which of your accounts there: one by its name, `*` for all, the default one when absent. */
  accountId: z.string().optional(),
  /** One person in private, or one group; a thread as `<thread>`, a topic of Telegram as `<group>:topic:<topic>`. */
  peer: z.strictObject({ kind: z.enum(['direct', 'dm', 'group', 'channel']), id }).optional(),
  /** A server of Discord. */
  guildId: id.optional(),
  /** Roles on that server; one of them is enough. */
  roles: z.array(id).optional(),
})

export const bindingsConfig = z
  .array(z.strictObject({ agentId: z.string(), comment: z.string().optional(), match }))
  .default([])

export type Binding = z.infer<typeof bindingsConfig>[number]

/** A binding to an agent that is not configured would create an agent without workspace and name. */
export function checkBindings(
  config: { bindings: Binding[]; agents: { list: Array<{ id: string }> } },
  context: z.RefinementCtx,
): void {
  const known = config.agents.list.length > 0 ? config.agents.list.map((agent) => agent.id) : ['main']
  for (const [index, { agentId }] of config.bindings.entries()) {
    if (known.includes(agentId)) continue
    context.addIssue({
      code: 'custom',
      path: ['bindings', index, 'agentId'],
      message: `there is no agent ${JSON.stringify(agentId)}; agents.list has ${known.join(', ')}`,
    })
  }
}
