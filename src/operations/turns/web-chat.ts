// The web channel for programs and pages: write a message with files, and read notices. Replies come by the subscription
// `web`.
import { join } from 'node:path'
import { z } from 'zod'
import { WebChannel } from '../../channels/web.ts'
import { formatOriginChannel } from '../../domain/address.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Media } from '../../domain/message.ts'
import type { Delivery } from '../../domain/reply.ts'
import { openMediaFiles } from '../../store/media/media-files.ts'
import {
  addToUpload,
  dropUpload,
  removeOldUploads,
  readPiece,
  readUpload,
} from '../../store/media/uploads.ts'
import type { OutboxRow } from '../../store/work-store.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'

const chatId = z
  .string()
  .regex(/^[\w.-]{1,64}$/)
  .default('dashboard')
  .describe('Which chat of the page.')

const uploadId = z.string().regex(/^[\w-]{8,64}$/)

const write = operation({
  name: 'web.write',
  description: 'Write a message with files into a web chat, or press a button.',
  input: z.strictObject({
    chatId,
    text: z.string().max(100_000).default('').describe('The text.'),
    messageId: z.string().min(1).max(100).optional().describe('Its id; a repeated id is the same message.'),
    replyTo: z.string().max(100).optional().describe('The message to answer.'),
    replyText: z.string().max(2_000).optional().describe('The text of that message, for the agent.'),
    files: z
      .array(z.strictObject({ id: uploadId, name: z.string().max(300), type: z.string().max(200) }))
      .max(10)
      .default([])
      .describe('Files that `web.attach` uploaded.'),
    button: z
      .strictObject({ data: z.string().max(64), messageId: z.string().max(100) })
      .optional()
      .describe('The button that was pressed.'),
  }),
  output: z.object({ messageId: z.string() }),
  // The author of these messages counts as the owner, so the operation needs all scopes.
  scope: 'admin',
  changesState: true,
  needsGateway: true,
  command: { hidden: true },
  async run(app, { files, ...input }, caller) {
    if (input.text.trim() === '' && !input.button && files.length === 0)
      throw new RockpoolError('input-invalid', 'The message is empty.')
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
  description: 'Upload a piece of a file for a message.',
  input: z.strictObject({
    id: uploadId.describe('Made by the page; the same for all pieces of a file.'),
    at: z.int().min(0).describe('Where in the file this piece begins.'),
    data: z.base64().max(700_000).describe('The piece, in base64.'),
  }),
  output: z.object({ bytes: z.number() }),
  scope: 'admin',
  changesState: true,
  needsGateway: true,
  command: { hidden: true },
  async run(app, { id, at, data }) {
    if (at === 0) await removeOldUploads(uploadsOf(app), app.clock.now())
    return { bytes: await addToUpload(uploadsOf(app), id, at, Buffer.from(data, 'base64')) }
  },
})

const file = z.object({
  delivery: z.string().describe('With `index`, the input of `web.file`.'),
  index: z.number(),
  name: z.string(),
  type: z.string(),
  bytes: z.number(),
})

const notices = operation({
  name: 'web.notices',
  description:
    'List messages of a web chat that are not in its transcript: answers to commands, questions, notices, files.',
  input: z.strictObject({
    chatId,
    sessionKey: z.string().max(1_024).optional().describe('The session of that chat.'),
    limit: z.int().min(1).max(500).default(50).describe('How many.'),
  }),
  output: z.object({
    notices: z.array(
      z.object({
        id: z.string().describe('The message, for its buttons and to answer it.'),
        at: z.number(),
        text: z.string(),
        buttons: z.array(z.array(z.object({ label: z.string(), data: z.string() }))),
        files: z.array(file),
        codingId: z.string().optional(),
      }),
    ),
    answers: z.array(
      z.object({
        entryId: z.string().describe('Where it stands in the transcript.'),
        id: z.string().describe('The message, to answer it.'),
        files: z.array(file),
      }),
    ),
  }),
  scope: 'read',
  redactOutput: true,
  operatorOnly: true,
  command: { hidden: true },
  async run(app, { chatId: to, sessionKey, limit }) {
    const address = { channel: 'web', accountId: 'default', to }
    const lanes = [`notices:${formatOriginChannel(address)}`, sessionKey].filter((lane) => lane !== undefined)
    const { outbox } = app.storage.work
    const listed = await Promise.all(lanes.map((lane) => outbox.list({ lane, limit })))
    const rows = listed
      .flat()
      .filter(({ delivery }) => delivery.address.channel === 'web' && delivery.address.to === to)
      .sort((a, b) => a.seq - b.seq)
    const sent = await Promise.all(rows.map((row) => messageOf(app, row)))
    return { notices: sent.filter(({ entryId }) => entryId === undefined), answers: answersIn(sent) }
  },
})

const fetchFile = operation({
  name: 'web.file',
  description: 'Download a piece of a file that was sent to a web chat.',
  input: z.strictObject({
    delivery: z.string().max(100).describe('As `web.notices` names it.'),
    index: z.int().min(0).max(100),
    at: z.int().min(0).describe('Where in the file the piece begins.'),
  }),
  output: z.object({
    data: z.string().describe('In base64.'),
    bytes: z.number().describe('Of the whole file.'),
  }),
  scope: 'read',
  operatorOnly: true,
  command: { hidden: true },
  async run(app, { delivery, index, at }) {
    const row = await app.storage.work.outbox.get(delivery)
    const path = row?.delivery.address.channel === 'web' ? row.delivery.reply.media?.[index] : undefined
    if (path === undefined) throw new RockpoolError('not-found', 'That file was not sent to the page.')
    // Another machine may have composed the reply.
    const here = await app.storage.media.bring(path)
    const { path: real, bytes } = await openMediaFiles(app.paths.media).outgoing(here)
    return { data: Buffer.from(await readPiece(real, at)).toString('base64'), bytes }
  },
})

export const operations = [write, attach, notices, fetchFile]

async function messageOf(app: App, { messageIds, delivery }: OutboxRow) {
  const { id, createdAt, reply, sessionKey, sessionPoint, idempotencyKey } = delivery
  return {
    id: messageIds[0] ?? id,
    at: createdAt,
    text: reply.text ?? '',
    buttons: reply.buttons ?? [],
    files: await filesOf(app, delivery),
    codingId: sessionKey?.startsWith('coding:') ? sessionKey.slice('coding:'.length) : undefined,
    entryId: idempotencyKey.startsWith('reply:') ? sessionPoint?.entryId : undefined,
  }
}

/** A long answer is several messages; a reply to it refers to the first. */
function answersIn(sent: Array<Awaited<ReturnType<typeof messageOf>>>) {
  const byEntry = Map.groupBy(sent, ({ entryId }) => entryId)
  return [...byEntry].flatMap(([entryId, [first, ...more]]) =>
    entryId === undefined || !first
      ? []
      : [{ entryId, id: first.id, files: [first, ...more].flatMap(({ files }) => files) }],
  )
}

async function filesOf(app: App, { id, reply }: Delivery): Promise<Array<z.output<typeof file>>> {
  const media = openMediaFiles(app.paths.media)
  const found = await Promise.all(
    (reply.media ?? []).map(async (path, index) => {
      // Files that are gone are not listed.
      const sent = await media.outgoing(await app.storage.media.bring(path)).catch(() => undefined)
      return sent && { delivery: id, index, name: sent.name, type: sent.mimeType, bytes: sent.bytes }
    }),
  )
  return found.filter((one) => one !== undefined)
}

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
