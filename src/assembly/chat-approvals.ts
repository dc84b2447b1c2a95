// Permission requests of a chat turn, asked in the chat and answered there, by button or by word.
import type { Address } from '../domain/address.ts'
import type { AskPermission } from '../domain/agent.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import type { Session } from '../domain/session.ts'
import { approvalReply } from '../coding/approval-reply.ts'
import type { App } from '../operations/app.ts'
import { perform } from '../operations/perform.ts'
import type { Conversations } from '../flow/conversations.ts'

/** Asks where the turn came from. In a group nobody may answer, so nobody is asked: others read along there. */
export function askInChat(
  app: App,
  conversations: () => Conversations,
  session: Session,
  address: Address,
): AskPermission {
  return async (request, signal) => {
    if (session.entry.chatType !== undefined && session.entry.chatType !== 'direct') {
      return {
        behavior: 'deny',
        message: `${request.toolName} needs a permission, and nobody can be asked in a group.`,
      }
    }
    const asking = { sessionKey: session.key, agentId: session.agentId, request }
    return app.coding().approvals.ask(asking, signal, (approval) => {
      const reply = approvalReply('I', approval)
      const options = { key: `approval:${approval.id}`, sessionKey: session.key }
      conversations()
        .send(address, reply, options)
        .catch((error: unknown) => app.log.error({ error: String(error) }, 'A question could not be sent.'))
    })
  }
}

/** `approve:<id>:<answer>`: what our buttons carry. Only the owner may press them. */
export async function pressedButton(app: App, message: Message, owner: boolean): Promise<Reply | undefined> {
  const [, id, answer] = /^approve:([^:]+):(.*)$/.exec(message.button?.data ?? '') ?? []
  if (id === undefined || answer === undefined) return undefined
  if (!owner) return { text: 'Only the owner may answer this.' }
  const by = {
    via: 'chat',
    scopes: ['approve'],
    name: `${message.address.channel}:${message.sender.id}`,
  } as const
  try {
    await perform(app, 'approvals.answer', { id, ...answerOf(answer) }, by)
    return { text: answer === 'deny' ? 'Denied.' : 'Done.' }
  } catch (error) {
    return { text: asRockpoolError(error).message }
  }
}

function answerOf(answer: string): Record<string, unknown> {
  if (answer === 'deny') return { decision: 'deny' }
  if (answer === 'always') return { always: true }
  return answer === 'allow' ? {} : { text: answer }
}
