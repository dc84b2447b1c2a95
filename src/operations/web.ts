// The web channel for programs and pages: write into a chat as a person would. What comes back is the subscription `web`.
import { z } from 'zod'
import { WebChannel } from '../channels/web.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { App } from './app.ts'
import { operation } from './operation.ts'

const chatId = z
  .string()
  .regex(/^[\w.-]{1,64}$/)
  .default('dashboard')
  .describe('Which chat of the page.')

export const operations = [
  operation({
    name: 'web.write',
    says: 'Write into a chat of the web page, or press one of its buttons.',
    input: z.strictObject({
      chatId,
      text: z.string().max(100_000).default('').describe('What is said.'),
      messageId: z.string().min(1).max(100).optional().describe('The same id is the same message.'),
      replyTo: z.string().max(100).optional().describe('The message that it answers.'),
      button: z
        .strictObject({ data: z.string().max(64), messageId: z.string().max(100) })
        .optional()
        .describe('The button that was pressed.'),
    }),
    output: z.object({ messageId: z.string() }),
    // Whoever writes here is the owner, so no lesser scope will do.
    scope: 'admin',
    acts: true,
    needsGateway: true,
    command: { hidden: true },
    async run(app, input, caller) {
      if (input.text.trim() === '' && !input.button) {
        throw new RockpoolError('input-invalid', 'There is nothing to say.')
      }
      const id = caller.name ?? 'operator'
      const message = await (await webChannel(app)).receive({ ...input, sender: { id, name: id } })
      return { messageId: message.id }
    },
  }),
]

async function webChannel(app: App): Promise<WebChannel> {
  const channels = app.gateway ? (await app.conversations()).channels : []
  const web = channels.find((channel) => channel instanceof WebChannel)
  if (web) return web
  throw new RockpoolError('unavailable', 'The web chat does not run here.', {
    hint: 'Start the gateway, and leave channels.web.enabled as it is.',
  })
}
