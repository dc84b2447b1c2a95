// `rockpool agent -m …` asks once; `rockpool chat` is a conversation in the terminal.
import { createInterface } from 'node:readline/promises'
import { z } from 'zod'
import { messageAndHint, RockpoolError } from '../domain/errors.ts'
import { askFields, whose } from '../operations/turns/turns.ts'
import { askLine } from './answer-permission.ts'
import { messageFrom, openAgentClient } from './ask-agent.ts'
import type { AgentClient, Question, SessionChoice } from './ask-agent.ts'
import { pageOf, type Host, type LocalCommand, type Terminal } from './host.ts'
import { oneLine, prose, styled, visible } from './print.ts'
import { ShownTurn } from './shown-turn.ts'

const local = z.boolean().default(false).describe('Run in this process even if a gateway runs.')
const timeout = z
  .number()
  .positive()
  .max(86_400)
  .default(600)
  .describe('Seconds to wait; then the turn is stopped.')

export const commands: LocalCommand[] = [
  {
    name: 'agent',
    description: 'Ask an agent and show its answer while it is written.',
    input: z.strictObject({ ...askFields, message: askFields.message.optional(), local, timeout }),
    command: {
      positional: ['message'],
      joinsRest: true,
      shortFlags: { message: 'm', to: 't' },
      examples: [
        'rockpool agent -m "What is on my list today?"',
        'git diff | rockpool agent --thinking high',
        'rockpool agent --session-key main -m "And now?" --json',
        'rockpool agent --channel telegram --to 123456789 -m "Good morning" --deliver',
      ],
    },
    async run(host, input, json) {
      const { local, message, ...rest } = input as unknown as Question & { local: boolean }
      const text = await messageFrom(message, process.stdin, process.stdin.isTTY)
      const client = await openAgentClient(host, { local })
      const ask = host.terminal.canAsk && !json ? askLine : undefined
      const turn = new ShownTurn(client, host, { ask, silent: json })
      const onInterrupt = (): void => turn.stop()
      process.on('SIGINT', onInterrupt)
      try {
        const answer = await turn.ask({ ...rest, message: text })
        return json ? answer : undefined
      } finally {
        process.off('SIGINT', onInterrupt)
        await client.close()
      }
    },
  },
  {
    name: 'chat',
    description: 'Talk to an agent in this terminal. /help lists the commands, /exit leaves.',
    input: z.strictObject({ ...whose, model: askFields.model, thinking: askFields.thinking, local, timeout }),
    command: { shortFlags: { to: 't' }, examples: ['rockpool chat', 'rockpool chat --session-key main'] },
    async run(host, input, json) {
      if (json) {
        throw new RockpoolError('usage', '`rockpool chat` is interactive and has no --json mode.', {
          hint: '`rockpool agent --json -m "…"` answers in JSON; repeat the same --session-key to continue the conversation.',
        })
      }
      const { local, ...choice } = input as unknown as SessionChoice & { local: boolean }
      const client = await openAgentClient(host, { local })
      const { sessionId, sessionKey } = choice
      const isNamed = sessionId !== undefined || sessionKey !== undefined
      try {
        await converse(host, client, { ...choice, to: choice.to ?? (isNamed ? undefined : 'terminal') })
      } finally {
        await client.close()
      }
      return undefined
    },
  },
]

async function converse(host: Host, client: AgentClient, choice: SessionChoice): Promise<void> {
  const { terminal } = host
  let showPrompt = (): void => {}
  // Watch before the first line is read: messages that arrive earlier would not be shown.
  const unwatch = await client.watch(choice, (text) => {
    terminal.out(`${terminal.canAsk ? '\r' : ''}${visible(text)}\n`)
    showPrompt()
  })
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: '> ',
    terminal: terminal.canAsk,
  })
  const ask = terminal.canAsk ? (question: string) => lines.question(question) : undefined
  let running: ShownTurn | undefined
  lines.on('SIGINT', () => {
    // Ctrl-C stops the turn; without a turn it leaves the chat.
    if (running) running.stop()
    else lines.close()
  })
  if (terminal.canAsk) {
    const name = choice.agent === undefined ? 'your agent' : oneLine(choice.agent)
    const hint = `You talk to ${name}. /help lists the commands, /exit leaves, Ctrl-C stops an answer.`
    terminal.err(`${styled(terminal, 'dim', prose(hint, pageOf(host)))}\n`)
    lines.prompt()
    showPrompt = () => lines.prompt(true)
  }
  for await (const line of lines) {
    const message = line.trim()
    if (message === '/exit' || message === '/quit') break
    if (message !== '') {
      running = new ShownTurn(client, host, { ask })
      await reportFailure(terminal, running.ask({ ...choice, message, terminal: true }))
      running = undefined
    }
    if (terminal.canAsk) lines.prompt()
  }
  unwatch()
  lines.close()
}

/** Reports a failed question, so that the chat continues. */
async function reportFailure(terminal: Terminal, answer: Promise<unknown>): Promise<void> {
  try {
    await answer
  } catch (error) {
    terminal.err(`${messageAndHint(error)}\n`)
  }
}
