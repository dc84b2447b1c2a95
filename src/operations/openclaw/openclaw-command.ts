// The commands that a person gives in a chat of OpenClaw; a button under a question gives one, too. OpenClaw checks who the
// person is; the plugin then calls with a token that may approve. The model's tools have another token.
import { z } from 'zod'
import { parseOriginChannel } from '../../domain/address.ts'
import { messageAndHint, RockpoolError } from '../../domain/errors.ts'
import { answerText } from '../agent-answers.ts'
import type { App } from '../app.ts'
import { codingCommandInfos, readCodingCommand } from '../coding/command-words.ts'
import { alikeInChat, operations as approvals } from '../coding/approval-operations.ts'
import { operations as actions } from '../coding/coding-operations.ts'
import { operations as views } from '../coding/coding-watch.ts'
import { refuseWider } from '../coding/launch-rights.ts'
import { operation, type Caller } from '../operation.ts'
import { performOperation } from '../perform-operation.ts'

const coding = [...actions, ...views, ...approvals]

const command = operation({
  name: 'openclaw.command',
  description: 'Run a coding command that a person gave in a chat of OpenClaw, such as claude_sessions.',
  input: z.strictObject({
    name: z.string().max(64).describe('The command, without the slash.'),
    args: z.string().max(100_000).default('').describe('The text after it.'),
    originChannel: z.string().optional().describe('The chat of OpenClaw, as in `coding.launch`.'),
  }),
  output: z.object({ text: z.string(), isError: z.boolean().describe('The text says what went wrong.') }),
  scope: 'approve',
  forHosts: 'agent',
  changesState: true,
  redactOutput: true,
  command: { hidden: true },
  async run(app, { name, args, originChannel }, caller) {
    await refuseWider(app, { originChannel }, caller)
    // The chat becomes that of the caller, so that sessions, streams and answers belong to it.
    const address = originChannel === undefined ? undefined : parseOriginChannel(originChannel)
    try {
      return { text: await runCommand(app, name, args.trim(), { ...caller, address }), isError: false }
    } catch (error) {
      // A mistake of the person is an answer for the chat.
      return { text: messageAndHint(error), isError: true }
    }
  },
})

async function runCommand(app: App, name: string, args: string, caller: Caller): Promise<string> {
  // OpenClaw has commands /approve and /deny of its own.
  const own = name.replace(/^claude_(?=(approve|deny)$)/, '')
  const meant = readCodingCommand(own, args, (id) => alikeInChat(app, caller, id))
  const operation = coding.find((each) => each.name === meant?.name)
  if (meant && operation)
    return answerText(operation.name, await performOperation(app, operation, meant.input, caller)) ?? 'Done.'
  const known = codingCommandInfos().map((info) => info.name)
  throw new RockpoolError('not-found', `There is no command ${JSON.stringify(name)}.`, {
    hint: `Commands: ${known.join(', ')}.`,
  })
}

export const operations = [command]
