// `/claude` and the other coding commands of a chat. Each one performs an operation for the owner.
import { isRunning } from '../domain/coding-session.ts'
import type { ChatCommand } from '../flow/flow-parts.ts'
import type { Reply } from '../domain/reply.ts'
import type { App } from '../operations/app.ts'
import { messageAndHint } from '../domain/errors.ts'
import { answerText } from '../operations/agent-answers.ts'
import { alikeInChat } from '../operations/coding/approval-operations.ts'
import { codingCommandInfos, readCodingCommand } from '../operations/coding/command-words.ts'
import type { Caller } from '../operations/operation.ts'
import { perform } from '../operations/all.ts'
import type { Input } from '../store/work-store.ts'

export function codingCommands(app: App): ChatCommand[] {
  return codingCommandInfos().map(({ name, description, usage }) => ({
    name,
    description,
    usage,
    ownerOnly: true,
    run: (rest, input) => runChatCommand(app, name, rest.trim(), input),
  }))
}

/** The command that sends a text to a conversation: to the coding session that continues it now, or by resuming it. */
export function commandToSay(app: App, codingId: string, text: string): string {
  const { coding: store } = app.storage
  const asked = store.get(codingId)
  const [latest = asked] = asked?.sdkSessionId === undefined ? [] : store.resolve(asked.sdkSessionId)
  const isOver = latest?.sdkSessionId !== undefined && !isRunning(latest)
  return `/${isOver ? 'claude_resume' : 'claude_respond'} ${latest?.id ?? codingId} ${text}`
}

async function runChatCommand(app: App, name: string, rest: string, input: Input): Promise<Reply> {
  try {
    const caller = callerOf(input)
    const operation = readCodingCommand(name, rest, (id) => alikeInChat(app, caller, id))!
    const output = await perform(app, operation.name, operation.input, caller)
    return { text: answerText(operation.name, output) ?? 'Done.' }
  } catch (error) {
    return { text: messageAndHint(error), isError: true }
  }
}

/** Only the owner can run these commands, so the caller has the rights of an operator. */
function callerOf(input: Input): Caller {
  const { address, sender } = input.message
  return {
    via: 'chat',
    scopes: ['read', 'write', 'approve'],
    address,
    name: `${address.channel}:${sender.id}`,
  }
}
