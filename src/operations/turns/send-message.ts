// Sends a message of a person or a script: through the outbox of the running gateway, else directly to the platform.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { fetchMedia } from '../../channels/fetch-media.ts'
import { parseOriginChannel, type Address } from '../../domain/address.ts'
import type { SendOutcome } from '../../domain/channel.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { RockpoolEvent } from '../../domain/events.ts'
import type { Delivery, Reply } from '../../domain/reply.ts'
import { untrustedWriter } from '../../rights/author.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { openMediaFiles } from '../../store/media/media-files.ts'
import { copyForSending } from '../../store/media/outgoing-files.ts'
import type { App } from '../app.ts'
import { hasScope } from '../perform-operation.ts'
import { refuseChat } from './agent-chats.ts'
import { mirrorIntoChat } from './mirror-into-chat.ts'
import { operation, type Caller } from '../operation.ts'
import { checkReachable, checkSetUp, configuredChannel, notSetUp } from './turn-target.ts'

const sendInput = z.strictObject({
  channel: z.string().min(1).describe('The platform: telegram, discord, whatsapp, web.'),
  target: z.string().min(1).describe('The receiver: a chat, a group, a number.'),
  message: z.string().min(1).describe('The text, in Markdown.'),
  media: z.string().optional().describe('A file or a web address to send with it.'),
  replyTo: z.string().optional().describe('The message to answer.'),
  threadId: z.string().optional().describe('A thread or topic in the chat.'),
  account: z.string().default('default').describe('Which of your accounts there.'),
})

const sendOutput = z.object({
  state: z.enum(['sent', 'queued']),
  channel: z.string(),
  target: z.string(),
  messageIds: z.array(z.string()),
  note: z.string().optional(),
})

/** How long the call waits for the platform; after that the outbox delivers in the background. */
const waitMs = 20_000

export const operations = [
  operation({
    name: 'message.send',
    description: 'Send a message to a chat.',
    input: sendInput,
    output: sendOutput,
    scope: 'write',
    changesState: true,
    command: {
      shortFlags: { target: 't', message: 'm' },
      paths: ['media'],
      examples: [
        'rockpool message send --channel telegram -t 123456789 -m "Done."',
        'rockpool message send --channel telegram --target -100123456 --thread-id 7 -m "See" --media chart.png',
      ],
    },
    async run(app, input, caller) {
      const address = addressOf(input)
      await refuseChat(app, address, caller)
      const media = input.media === undefined ? undefined : [await mediaOf(app, input.media, caller)]
      const reply: Reply = { text: input.message, replyToId: input.replyTo, media }
      // The operator may want to write to a person without access.
      const forAnybody = caller.agentId === undefined
      const about = { forAnybody, writer: untrustedWriter(callerAuthor(caller)) }
      const sent = app.gateway
        ? await sendByOutbox(app, address, reply, about)
        : await sendNow(app, address, reply, about)
      return { channel: address.channel, target: address.to, ...sent }
    },
  }),
]

type Sent = Pick<z.input<typeof sendOutput>, 'state' | 'messageIds' | 'note'>

function addressOf(input: z.output<typeof sendInput>): Address {
  const parsed = parseOriginChannel(`${input.channel}|${input.account}|${input.target}`)
  if (parsed) return { ...parsed, threadId: input.threadId }
  const target = JSON.stringify(input.target.slice(0, 100))
  throw new RockpoolError('input-invalid', `${target} is not a target.`, {
    hint: 'Use the id of a chat, such as 123456789.',
  })
}

/** Only operators with the scope `admin` may send files of this machine. */
async function mediaOf(app: App, source: string, caller: Caller): Promise<string> {
  const media = openMediaFiles(app.paths.media)
  if (/^https?:\/\//i.test(source)) return forAll(app, (await fetchMedia(source, { media })).path)
  if (caller.agentId === undefined && hasScope(caller.scopes, 'admin'))
    return forAll(app, await copyForSending(app.paths.media, source))
  throw new RockpoolError('forbidden', 'Only an operator may send files of this machine.')
}

/** Shares the file where several machines share the work: another one may send it. */
async function forAll(app: App, path: string): Promise<string> {
  if (app.gateway) await app.storage.media.give(path)
  return path
}

type About = Pick<Delivery, 'forAnybody' | 'writer'>

async function sendByOutbox(app: App, address: Address, reply: Reply, about: About): Promise<Sent> {
  const early: RockpoolEvent[] = []
  const { promise, resolve, reject } = Promise.withResolvers<Sent>()
  let deliveryId: string | undefined
  const settle = (event: RockpoolEvent): void => {
    if (!('deliveryId' in event) || event.deliveryId !== deliveryId) return
    if (event.type === 'reply-sent') resolve({ state: 'sent', messageIds: event.messageIds })
    if (event.type === 'reply-failed') reject(notSent(event.reason))
  }
  const off = app.events.on((event) => (deliveryId === undefined ? early.push(event) : settle(event)))
  const note = 'It waits in the outbox and will be sent as soon as possible.'
  const late = app.clock.after(waitMs, () => resolve({ state: 'queued', messageIds: [], note }))
  try {
    await checkReachable(app, address)
    const conversations = await app.conversations()
    const delivery = await conversations.send(address, reply, about)
    deliveryId = delivery?.id ?? ''
    for (const event of early) settle(event)
    return await promise
  } finally {
    late()
    off()
  }
}

async function sendNow(app: App, address: Address, reply: Reply, { writer }: About): Promise<Sent> {
  if (address.channel === 'whatsapp') {
    // A connection to WhatsApp also receives messages, which only the gateway can store.
    throw new RockpoolError('unavailable', 'WhatsApp is connected only while the gateway runs.', {
      hint: 'Start it with `rockpool up`, then try again.',
    })
  }
  const channel = await configuredChannel(app, address)
  if (!channel || address.channel === 'web') throw notSetUp(address)
  checkSetUp(channel)
  try {
    const outcome = await channel.send(address, reply, { idempotencyKey: randomUUID(), resent: false })
    const sent = sentOf(outcome)
    await mirrorIntoChat(app, { address, reply, writer })
    return sent
  } finally {
    await channel.stop()
  }
}

function sentOf(outcome: SendOutcome): Sent {
  if (outcome.kind === 'sent') return { state: 'sent', messageIds: outcome.messageIds }
  if (outcome.kind === 'refused') throw notSent(outcome.reason)
  const unsure = outcome.kind === 'unknown' ? ' It is not known whether it arrived.' : ''
  throw new RockpoolError('unavailable', `It was not sent: ${outcome.reason.replace(/\.$/, '')}.${unsure}`, {
    hint: 'Try again, or start the gateway: it keeps trying.',
  })
}

/** For good: waiting would not help. */
function notSent(reason: string): RockpoolError {
  return new RockpoolError('refused', `It was not sent: ${reason.replace(/\.$/, '')}.`)
}
