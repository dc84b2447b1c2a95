// Permission requests of a chat turn, asked and answered in the chat, by button or in plain words.
import { formatOriginChannel, isTerminal, type Address } from '../domain/address.ts'
import type { AskPermission } from '../domain/agent.ts'
import type { Approval } from '../domain/coding-session.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import { nativeIdOf } from '../domain/native-key.ts'
import type { Reply } from '../domain/reply.ts'
import type { Session } from '../domain/session.ts'
import { approvalReply } from '../coding/approvals/approval-reply.ts'
import { isLikeAmount } from '../coding/approvals/read-answer.ts'
import { isSameOrigin } from '../coding/session/origin.ts'
import type { App } from '../operations/app.ts'
import { answerText } from '../operations/agent-answers.ts'
import { alikeInChat } from '../operations/coding/approval-operations.ts'
import { perform } from '../operations/all.ts'
import type { Conversations } from '../flow/conversations.ts'

/** Asks in the chat that the turn came from. Only turns that may ask the owner use this; see rights/. */
export function askInChat(
  app: App,
  conversations: () => Conversations,
  session: Session,
  address: Address,
): AskPermission {
  return async (request, signal) => {
    const asking = { sessionKey: session.key, agentId: session.agentId, request }
    return app.coding().approvals.ask(asking, signal, (approval) => {
      // A terminal shows the questions of its running turn itself.
      if (isTerminal(address)) return
      const reply = approvalReply('Your agent', approval)
      const options = { key: `approval:${approval.id}`, sessionKey: session.key }
      conversations()
        .send(address, reply, options)
        .catch((error: unknown) =>
          app.log.error(
            { event: 'approval-send-failed', error: String(error) },
            'Could not send an approval request to the chat; it can be answered on the dashboard or with `cc approve`.',
          ),
        )
    })
  }
}

const yes = /^(y|yes|ok|okay|approve|approved|allow|go on|👍)[.!]?$/iu
const no = /^(n|no|deny|denied|reject|rejected|👎)[.!]?$/iu
const always = /^(allow )?always[.!]?$/i
const revise = /^revise\b[:,]?\s+([\s\S]+)$/i

const forAll = /^(.+?),? (?:to |for )?all[.!]?$/isu

/** The command for an answer in plain words: "yes", "no", a number, "revise: …". With several pending requests the words
 *  could answer any of them, so the id is asked for; "yes all" answers those that ask the same. */
export function answerInWords(open: Approval[], text: string): string | undefined {
  const said = text.trim()
  const [, toAll] = forAll.exec(said) ?? []
  return (toAll === undefined ? undefined : answerAll(open, toAll)) ?? answerOne(open, said)
}

/** The command for a reply to the request, or to a notice of the session that asks. A question takes any text as its answer. */
export function answerByReply(open: Approval[], text: string): string | undefined {
  const [one, ...others] = open
  const isOwnWords = one?.kind === 'question' && others.length === 0 && !text.trim().startsWith('/')
  return answerInWords(open, text) ?? (isOwnWords ? `/approve ${one.id} ${text.trim()}` : undefined)
}

function answerOne([one, ...others]: Approval[], said: string): string | undefined {
  if (!one) return undefined
  const words = wordsAsAnswer(one, said)
  if (words === undefined || others.length === 0) return words
  return yes.test(said) || no.test(said) || always.test(said) ? '/approve' : undefined
}

/** The command that answers all requests, if all ask the same; otherwise a command that asks for the id. */
function answerAll(open: Approval[], said: string): string | undefined {
  const last = open.at(-1)
  const words = last && wordsAsAnswer(last, said)?.replace(' ', ' all ')
  const isOne = open.every(({ inputHash }) => inputHash === last?.inputHash)
  return words === undefined || isOne ? words : '/approve all'
}

function wordsAsAnswer({ id, kind }: Approval, said: string): string | undefined {
  if (kind === 'question' && /^\d{1,2}(?:[\s,+&]+\d{1,2})*$/.test(said)) return `/approve ${id} ${said}`
  if (kind === 'budget' && isLikeAmount(said)) return `/approve ${id} ${said}`
  if (kind === 'question') return undefined
  if (yes.test(said)) return `/approve ${id}`
  if (no.test(said)) return `/deny ${id}`
  if (kind === 'tool' && always.test(said)) return `/approve ${id} always`
  const change = kind === 'plan' ? revise.exec(said)?.[1] : undefined
  return change && `/deny ${id} ${change}`
}

/** The pending requests of this chat's own turns, of the coding sessions that were launched in it, and of native sessions, which
 *  ask in every chat of the owner. */
export function openInChat(app: App, address: Address, sessionKey: string): Approval[] {
  const origin = formatOriginChannel(address)
  return app
    .coding()
    .approvals.pending()
    .filter(({ codingId, sessionKey: asking }) => {
      if (codingId === undefined) return asking === sessionKey || nativeIdOf(asking) !== undefined
      return isSameOrigin(app.storage.coding.get(codingId)?.request.originChannel ?? '', origin)
    })
}

/** Handles our buttons, whose data is `approve:<id>:<answer>`. Only the owner may press them, and only in a private chat:
 *  Rockpool asks nothing in groups, so a button there was forwarded. */
export async function pressedButton(app: App, message: Message, owner: boolean): Promise<Reply | undefined> {
  const [, id, all, answer] = /^approve:([^:]+):(all-)?(.*)$/.exec(message.button?.data ?? '') ?? []
  if (id === undefined || answer === undefined) return undefined
  const refusal = !owner
    ? 'Only the owner may answer this.'
    : message.chatType === 'direct'
      ? undefined
      : 'This is answered in private only.'
  if (refusal !== undefined) {
    const { address, sender } = message
    app.log.warn(
      { event: 'button-refused', approval: id, channel: address.channel, sender: sender.id },
      `Refused a button press: ${refusal}`,
    )
    return { text: refusal }
  }
  const by = {
    via: 'chat',
    scopes: ['approve'],
    name: `${message.address.channel}:${message.sender.id}`,
    address: message.address,
  } as const
  try {
    const said = { id, ...answerOf(answer), alike: all === undefined ? [] : alikeInChat(app, by, id) }
    const output = await perform(app, 'approvals.answer', said, by)
    if (all !== undefined) return { text: answerText('approvals.answer', output) ?? 'Done.' }
    return { text: answer === 'deny' ? 'Denied.' : 'Done.' }
  } catch (error) {
    return { text: asRockpoolError(error).message, isError: true }
  }
}

function answerOf(answer: string): Record<string, unknown> {
  if (answer === 'deny') return { decision: 'deny' }
  if (answer === 'always') return { always: true }
  return answer === 'allow' ? {} : { text: answer }
}
