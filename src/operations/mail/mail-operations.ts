// mail.*: messages between sessions, chats and people, with receipts. A session sees its own mail only.
import { z } from 'zod'
import { sleep } from '../../domain/async.ts'
import { isRunning, type CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Giver } from '../../domain/giver.ts'
import { mailSchema, mailStates, parseMailAddress, wakePolicies, type Mail } from '../../domain/mail.ts'
import { printableText } from '../../domain/text.ts'
import { quoteMail } from '../../mail/quote.ts'
import { isOperators, whyNotWrite, type MailSender } from '../../rights/mail-rights.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { nonBlankText } from '../input-fields.ts'
import { giverOf } from '../perform-operation.ts'
import { codingWith, recipientOf, senderOf, type Party } from './mail-parties.ts'

const recipient = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .describe(
    'A session (name, id or the beginning of it), an address (session:…, chat:…, person:…), or owner.',
  )
const messageRef = z.string().trim().min(4).max(100).describe('The id of the message, or the end of it.')
const mostChars = 8_000
const pollMs = 200

const send = operation({
  name: 'mail.send',
  description:
    'Send a message to a session, a chat or a person; it is stored, and the receipt tells how far it is.',
  input: z.strictObject({
    to: recipient,
    text: nonBlankText().max(mostChars).describe('The message.'),
    replyTo: messageRef.optional().describe('The message that it answers.'),
    resume: z
      .boolean()
      .default(false)
      .describe(
        'If the session has ended: continue it in the background to deliver the message. This costs money.',
      ),
    key: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .optional()
      .describe('A key of your choice: sent again with the same key, it is still one message.'),
    wait: z.enum(['delivered', 'read']).optional().describe('Wait for this receipt.'),
    timeout: z.number().positive().max(600).default(60).describe('How many seconds to wait at most.'),
  }),
  output: mailSchema,
  scope: 'write',
  changesState: true,
  forAgents: true,
  heavyParts: ['coding', 'discovery'],
  command: {
    positional: ['to', 'text'],
    joinsRest: true,
    valueAlone: { wait: 'delivered' },
    examples: [
      'rockpool mail send fix-login-bug "the API has a new field: phone"',
      'rockpool mail send 3f2a0b1c "are you done?" --wait read',
      'rockpool mail send fix-login-bug "please go on" --resume',
    ],
  },
  async run(app, input, caller) {
    const accepted = await sendMail(app, input, caller)
    return input.wait === undefined ? accepted : waitFor(app, accepted, input.wait, input.timeout * 1_000)
  },
})

interface MailInput {
  to: string
  text: string
  replyTo?: string
  resume?: boolean
  key?: string
}

/** Also for the tools of the bridge, which have no receipts to wait for. */
export async function sendMail(app: App, input: MailInput, caller: Caller): Promise<Mail> {
  const [sender, to] = await Promise.all([senderOf(app, caller), recipientOf(app, input.to, caller)])
  const answered = input.replyTo === undefined ? undefined : await found(app, input.replyTo, sender, caller)
  const kind = parseMailAddress(to.address)!.kind
  const hasAsked = answered?.sender === to.address && answered.recipient === sender.address
  const refusal = whyNotWrite(sender, { kind, agentId: to.agentId, hasAsked })
  if (refusal !== undefined)
    throw new RockpoolError('forbidden', refusal, { hint: 'Ask the owner to send it.' })
  const giver = giverOfMail(app, caller)
  // Checked again at the delivery, which may be later and to another session of the lineage.
  const coding = kind === 'session' ? codingAt(app, to) : undefined
  if (coding && (isRunning(coding) || input.resume)) await app.coding().givenBy(giver).check(coding)
  return app.mail().office.send(
    {
      sender: sender.address,
      senderName: sender.name,
      recipient: to.address,
      recipientName: to.name,
      session: to.session,
      body: printableText(input.text),
      replyTo: answered?.id,
      resume: input.resume ?? false,
      giver,
    },
    { session: sender.session, key: input.key },
  )
}

/** A session has its own rights, also with the token of the owner, which every program of the owner can read. A token that may not
 *  approve gains none by naming a session. */
function giverOfMail(app: App, caller: Caller): Giver {
  const giver = giverOf(caller)
  if (caller.claudeSession === undefined || !giver.mayApprove) return giver
  return { ...giver, mayApprove: false, codingId: codingWith(app, caller.claudeSession)?.id }
}

function codingAt(app: App, { session, address }: Party): CodingSession | undefined {
  const parsed = parseMailAddress(address)
  return codingWith(app, session ?? (parsed?.kind === 'session' ? parsed.root : ''))
}

async function waitFor(app: App, mail: Mail, wanted: 'delivered' | 'read', ms: number): Promise<Mail> {
  const until = app.clock.monotonic() + ms
  for (;;) {
    const [now = mail] = await app.storage.mail.find(mail.id)
    if (now.state === 'read' || now.state === wanted || now.state === 'expired') return now
    if (app.clock.monotonic() > until)
      throw new RockpoolError(
        'timed-out',
        `The message is ${now.state}, and not ${wanted} yet.${because(now)}`,
        {
          hint: `It is stored and stays on its way: \`rockpool mail read ${mail.id}\` shows the receipt.`,
        },
      )
    await sleep(app.clock, pollMs)
  }
}

function because({ note }: Mail): string {
  return note === undefined ? '' : ` ${note}`
}

const list = operation({
  name: 'mail.list',
  description: 'List messages with their receipts, the latest first.',
  input: z.strictObject({
    session: recipient.optional().describe('Only mail to or from this session, chat or person.'),
    state: z.enum(mailStates).optional().describe('Only messages in this state.'),
    limit: z.int().min(1).max(1_000).default(50).describe('How many at most.'),
  }),
  output: z.object({ mail: z.array(mailSchema) }),
  scope: 'read',
  forAgents: true,
  heavyParts: ['coding', 'discovery'],
  redactOutput: true,
  command: {
    positional: ['session'],
    examples: [
      'rockpool mail',
      'rockpool mail list fix-login-bug',
      'rockpool mail list --state accepted --json',
    ],
  },
  async run(app, { session, state, limit }, caller) {
    const sender = await senderOf(app, caller)
    const wanted = session === undefined ? undefined : await recipientOf(app, session, caller)
    const party = isOperators(sender) ? wanted : sender
    const states = state && [state]
    const mail = await app.storage.mail.list({ with: party && [party.address], states, limit })
    return { mail: mail.filter((one) => isWith(one, wanted)) }
  },
})

function isWith({ sender, recipient: to }: Mail, party: Party | undefined): boolean {
  return party === undefined || sender === party.address || to === party.address
}

const read = operation({
  name: 'mail.read',
  description: 'Show a message with its text and its receipt; a message to you is read then.',
  input: z.strictObject({ message: messageRef }),
  output: mailSchema,
  scope: 'read',
  forAgents: true,
  heavyParts: ['coding', 'discovery'],
  redactOutput: true,
  command: {
    positional: ['message'],
    examples: ['rockpool mail read 7f3a', 'rockpool mail read 7f3a --json'],
  },
  async run(app, { message }, caller) {
    const reader = await senderOf(app, caller)
    const mail = await found(app, message, reader, caller)
    if (mail.recipient !== reader.address || !isOperators(reader)) return mail
    await app.mail().office.receive([mail])
    await app.storage.mail.read([mail.id], app.clock.now())
    return found(app, mail.id, reader, caller)
  },
})

/** A session finds only what it sent or received. */
async function found(app: App, ref: string, reader: Party & MailSender, caller: Caller): Promise<Mail> {
  const all = await app.storage.mail.find(ref)
  const { address } = reader
  const visible = all.filter(
    (mail) => isOperators(reader) || mail.sender === address || mail.recipient === address,
  )
  if (visible.length === 1) return visible[0]!
  const mailbox = caller.agentId === undefined ? '`rockpool mail list`' : 'mail_list'
  if (visible.length === 0)
    throw new RockpoolError('not-found', `There is no message ${JSON.stringify(ref)}.`, {
      hint: `${mailbox} shows the ids.`,
    })
  throw new RockpoolError('ambiguous', `Several messages end with ${JSON.stringify(ref)}.`, {
    hint: `Give more of the id; ${mailbox} shows it.`,
  })
}

const inbox = operation({
  name: 'mail.inbox',
  description: 'Receive the messages that wait for you: for this session, or for the owner at a terminal.',
  input: z.strictObject({}),
  output: z.object({
    text: z.string().describe('The messages, quoted with their senders.'),
    mail: z.array(mailSchema),
  }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  heavyParts: ['coding', 'discovery'],
  command: { examples: ['rockpool mail inbox'] },
  run: (app, _input, caller) => receiveMail(app, caller),
})

export async function receiveMail(app: App, caller: Caller): Promise<{ text: string; mail: Mail[] }> {
  const reader = await senderOf(app, caller)
  const mail =
    reader.session === undefined ? await byAddress(app, reader) : await bySession(app, reader.session)
  return { text: mail.length === 0 ? 'There is no new mail.' : quoteMail(mail), mail }
}

/** The answer is on its way when the operation has ended: the message counts as delivered a moment later. If this process dies
 *  before, the message waits again. */
const answerMs = 500

async function bySession(app: App, session: string): Promise<Mail[]> {
  const handout = await app.mail().office.collect(session)
  if (app.gateway && handout) app.clock.after(answerMs, () => void handout.arrived())
  else await handout?.arrived()
  return handout?.mails ?? []
}

/** The mail of the owner, of a program or of the chat of an agent that asks for it, or of a coding session that Claude has not named yet. */
async function byAddress(app: App, { address }: Party): Promise<Mail[]> {
  const waiting = await app.storage.mail.list({ to: [address], states: ['accepted'], limit: 50 })
  const parsed = parseMailAddress(address)
  const mine: Mail[] = []
  for (const mail of waiting)
    if (parsed?.kind !== 'session' || (await app.mail().office.mayReceive(parsed.root, mail))) mine.push(mail)
  return app.mail().office.receive(mine)
}

const allow = operation({
  name: 'mail.allow',
  description: 'Decide who may wake a session with a message; the configuration decides for all others.',
  input: z.strictObject({
    session: recipient,
    wake: z.enum(wakePolicies).describe('`never`, the `owner`, or `anyone` who may write to it.'),
  }),
  output: z.object({ address: z.string(), name: z.string(), wake: z.enum(wakePolicies) }),
  scope: 'write',
  changesState: true,
  operatorOnly: true,
  heavyParts: ['coding', 'discovery'],
  command: {
    positional: ['session', 'wake'],
    examples: ['rockpool mail allow fix-login-bug anyone', 'rockpool mail allow fix-login-bug never'],
  },
  async run(app, { session, wake }, caller) {
    if (caller.claudeSession !== undefined || !giverOf(caller).mayApprove)
      throw new RockpoolError('forbidden', 'Only the owner can decide who may wake sessions.', {
        hint: 'The owner runs this command in a terminal of their own, not in a session.',
      })
    const { address, name } = await recipientOf(app, session, caller)
    const parsed = parseMailAddress(address)
    if (parsed?.kind !== 'session')
      throw new RockpoolError('input-invalid', `${address} is not a session.`, {
        hint: 'Only sessions are woken.',
      })
    await app.storage.mail.setWakePolicy(parsed.root, wake)
    void app.mail().carrier.look()
    return { address, name, wake }
  },
})

export const operations = [send, list, read, inbox, allow]
