// The web channel for programs and pages: write into a chat as a person would, with files, and read the notices that
// came there. What comes back is the subscription `web`.
import { join } from 'node:path'
import { z } from 'zod'
import { WebChannel } from '../channels/web.ts'
import { formatOriginChannel } from '../domain/address.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Media } from '../domain/message.ts'
import { openMediaFiles } from '../store/media-files.ts'
import { addToUpload, dropUpload, forgetUploads, readUpload } from '../store/uploads.ts'
import type { App } from './app.ts'
import { operation } from './operation.ts'

const chatId = z
  .string()
  .regex(/^[\w.-]{1,64}$/)
  .default('dashboard')
  .describe('Which chat of the page.')

const uploadId = z.string().regex(/^[\w-]{8,64}$/)

const write = operation({
  name: 'web.write',
  says: 'Write into a chat of the web page, with files, or press one of its buttons.',
  input: z.strictObject({
    chatId,
    text: z.string().max(100_000).default('').describe('What is said.'),
    messageId: z.string().min(1).max(100).optional().describe('The same id is the same message.'),
    replyTo: z.string().max(100).optional().describe('The message that it answers.'),
    files: z
      .array(z.strictObject({ id: uploadId, name: z.string().max(300), type: z.string().max(200) }))
      .max(10)
      .default([])
      .describe('Files that `web.attach` has brought here.'),
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
  async run(app, { files, ...input }, caller) {
    if (input.text.trim() === '' && !input.button && files.length === 0) {
      throw new RockpoolError('input-invalid', 'There is nothing to say.')
    }
    const channel = await webChannel(app)
    const id = caller.name ?? 'operator'
    const media: Media[] = []
    for (const file of files) media.push(await keepUpload(app, file))
    const message = await channel.receive({ ...input, media, sender: { id, name: id } })
    for (const file of files) await dropUpload(uploadsOf(app), file.id)
    return { messageId: message.id }
  },
})

const attach = operation({
  name: 'web.attach',
  says: 'Bring a file here in pieces, for a message that is about to be written.',
  input: z.strictObject({
    id: uploadId.describe('Made by the page; the same for all pieces of a file.'),
    at: z.int().min(0).describe('Where in the file this piece begins.'),
    data: z.base64().max(700_000).describe('The piece, in base64.'),
  }),
  output: z.object({ bytes: z.number() }),
  scope: 'admin',
  acts: true,
  needsGateway: true,
  command: { hidden: true },
  async run(app, { id, at, data }) {
    if (at === 0) await forgetUploads(uploadsOf(app), app.clock.now())
    return { bytes: await addToUpload(uploadsOf(app), id, at, Buffer.from(data, 'base64')) }
  },
})

const notices = operation({
  name: 'web.notices',
  says: 'List what a chat of the web page was told without asking: coding sessions that began, wait or ended.',
  input: z.strictObject({ chatId, limit: z.int().min(1).max(500).default(50).describe('How many.') }),
  output: z.object({
    notices: z.array(
      z.object({
        id: z.string().describe('The message, for its buttons.'),
        at: z.number(),
        text: z.string(),
        buttons: z.array(z.array(z.object({ label: z.string(), data: z.string() }))),
        codingId: z.string().optional(),
      }),
    ),
  }),
  scope: 'read',
  command: { hidden: true },
  async run(app, input) {
    const address = { channel: 'web', accountId: 'default', to: input.chatId }
    const lane = `notices:${formatOriginChannel(address)}`
    const rows = await app.work().outbox.list({ lane, limit: input.limit })
    const told = rows.map(({ messageIds, delivery: { id, createdAt, reply, sessionKey } }) => ({
      id: messageIds[0] ?? id,
      at: createdAt,
      text: reply.text ?? '',
      buttons: reply.buttons ?? [],
      codingId: sessionKey?.startsWith('coding:') ? sessionKey.slice('coding:'.length) : undefined,
    }))
    return { notices: told.reverse() }
  },
})

export const operations = [write, attach, notices]

function uploadsOf(app: App): string {
  return join(app.paths.media, 'uploads')
}

async function keepUpload(app: App, file: { id: string; name: string; type: string }): Promise<Media> {
  const bytes = await readUpload(uploadsOf(app), file.id)
  return openMediaFiles(app.paths.media).keep(bytes, { name: file.name, mimeType: file.type })
}

async function webChannel(app: App): Promise<WebChannel> {
  const channels = app.gateway ? (await app.conversations()).channels : []
  const web = channels.find((channel) => channel instanceof WebChannel)
  if (web) return web
  throw new RockpoolError('unavailable', 'The web chat does not run here.', {
    hint: 'Start the gateway, and leave channels.web.enabled as it is.',
  })
}
