// `rockpool agent -m …` asks once; `rockpool chat` is a conversation in the terminal.
import { createInterface } from 'node:readline/promises'
import { z } from 'zod'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { askFields, whose } from '../operations/turns/turns.ts'
import { PermissionPrompt } from './answer-permission.ts'
import type { Person } from './answer-permission.ts'
import type { Question, Talk } from './ask-agent.ts'
import { messageFrom, openTalk } from './ask-agent.ts'
import { askLine } from './ask-line.ts'
import type { Host, LocalCommand } from './local-command.ts'
import { oneLine, styled, visible } from './print.ts'
import { TurnView } from './show-turn.ts'

const local = z.boolean().default(false).describe('In this process, also when a gateway runs.')
const timeout = z
  .number()
  .positive()
  .max(86_400)
  .default(600)
  .describe('Seconds to wait; then the turn is stopped.')

export const commands: LocalCommand[] = [
  {
    name: 'agent',
    description: 'Ask an agent, and show its answer as it comes.',
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
      const talk = await openTalk(host, { local })
      const ask = host.terminal.canAsk && !json ? askLine : undefined
      const prompt = new PermissionPrompt(talk, { terminal: host.terminal, ask })
      try {
        const view = json ? undefined : new TurnView(host.terminal)
        const answer = await talk.ask({ ...rest, message: text }, (event, sessionKey) => {
          view?.see(event)
          prompt.see(event, sessionKey)
        })
        if (json) return answer
        view?.end(answer.text)
        return undefined
      } finally {
        prompt.stop()
        await talk.close()
      }
    },
  },
  {
    name: 'chat',
    description: 'Talk to an agent in this terminal. Type /help to see what can be typed, /exit to leave.',
    input: z.strictObject({ ...whose, model: askFields.model, thinking: askFields.thinking, local, timeout }),
    command: { shortFlags: { to: 't' }, examples: ['rockpool chat', 'rockpool chat --session-key main'] },
    async run(host, input, json) {
      if (json) {
        throw new RockpoolError('usage', '`rockpool chat` is interactive and has no --json mode.', {
          hint: '`rockpool agent --json -m "…"` answers in JSON; repeat the same --session-key to continue the conversation.',
        })
      }
      const { local, ...rest } = input as unknown as Omit<Question, 'message'> & { local: boolean }
      const talk = await openTalk(host, { local })
      try {
        await converse(host, talk, { ...rest, to: rest.to ?? (hasSession(rest) ? undefined : 'terminal') })
      } finally {
        await talk.close()
      }
      return undefined
    },
  },
]

async function converse(host: Host, talk: Talk, about: Omit<Question, 'message'>): Promise<void> {
  let prompt = (): void => {}
  // Before the first line is read: a line that comes while nobody reads is lost.
  const unwatch = await talk.watch(about, (text) => {
    host.terminal.out(`${host.terminal.canAsk ? '\r' : ''}${visible(text)}\n`)
    prompt()
  })
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    prompt: '> ',
    terminal: host.terminal.canAsk,
  })
  const ask = host.terminal.canAsk ? (question: string) => lines.question(question) : undefined
  const person: Person = { terminal: host.terminal, ask }
  let running: string | undefined
  lines.on('SIGINT', () => {
    // Ctrl-C stops the turn; without one it leaves.
    if (running === undefined) lines.close()
    else void talk.stop(running).catch(() => lines.close())
  })
  if (host.terminal.canAsk) {
    const page = { width: host.terminal.width, color: host.terminal.color, now: 0 }
    const whom = about.agent === undefined ? 'your agent' : oneLine(about.agent)
    const hint = `This is ${whom}. /help shows what can be typed, /exit leaves.`
    host.terminal.err(`${styled(page, 'dim', hint)}\n`)
    lines.prompt()
    prompt = () => lines.prompt(true)
  }
  for await (const line of lines) {
    const message = line.trim()
    if (message === '/exit' || message === '/quit') break
    if (message !== '') running = await answer(person, talk, { ...about, message, terminal: true })
    if (host.terminal.canAsk) lines.prompt()
  }
  unwatch()
  lines.close()
}

/** A failed question is reported; the chat continues. */
async function answer(person: Person, talk: Talk, question: Question): Promise<string | undefined> {
  const view = new TurnView(person.terminal)
  const prompt = new PermissionPrompt(talk, person)
  try {
    const { text, sessionKey } = await talk.ask(question, (event, key) => {
      view.see(event)
      prompt.see(event, key)
    })
    view.end(text)
    return sessionKey
  } catch (error) {
    const { message, hint } = asRockpoolError(error)
    view.end('')
    person.terminal.err(`${message}${hint ? ` ${hint}` : ''}\n`)
    return undefined
  } finally {
    prompt.stop()
  }
}

function hasSession(about: Omit<Question, 'message'>): boolean {
  return about.sessionId !== undefined || about.sessionKey !== undefined || about.to !== undefined
}
