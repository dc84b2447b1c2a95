// Asks an agent from the terminal: through the gateway when one runs, else in this process. What the agent does is
// shown while it does it.
import { RockpoolError } from '../domain/errors.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { WebOutput } from '../domain/channel.ts'
import type { App } from '../operations/app.ts'
import type { Caller } from '../operations/operation.ts'
import type { Call, InputOf, MethodName, OutputOf } from '../rpc/client.ts'
import type { GatewayAddress } from './call-operation.ts'
import { findGateway } from './call-operation.ts'
import type { QuestionDesk } from './answer-permission.ts'
import type { Host } from './local-command.ts'

export interface Question {
  message: string
  to?: string
  sessionId?: string
  sessionKey?: string
  agent?: string
  channel?: string
  thinking?: InputOf<'turns.run'>['thinking']
  model?: string
  deliver?: boolean
  terminal?: boolean
  timeout: number
}

export interface Answer {
  sessionKey: string
  text: string
  media: string[]
  [field: string]: unknown
}

export interface Talk extends QuestionDesk {
  ask(question: Question, onEvent: (event: TurnEvent, sessionKey: string) => void): Promise<Answer>
  /** Shows what this session is told beside its answers: notices, questions and output of coding sessions. */
  watch(whose: Omit<Question, 'message'>, onTold: (text: string) => void): Promise<() => void>
  /** Stops what runs in a session. */
  stop(sessionKey: string): Promise<void>
  close(): Promise<void>
}

export async function openTalk(host: Host, options: { local: boolean }): Promise<Talk> {
  const gateway = options.local ? undefined : await findGateway(host.environment)
  return gateway ? talkToGateway(gateway) : talkHere(await host.openApp())
}

const operator: Caller = { via: 'cli', scopes: ['admin'], name: 'cli' }

function talkHere(app: App): Talk {
  const call: Call = async <Name extends MethodName>(name: Name, input: InputOf<Name>) => {
    const { perform } = await import('../operations/perform.ts')
    // Checked against the schema that the type was made from.
    return (await perform(app, name, input, operator)) as OutputOf<Name>
  }
  return {
    ...deskBehind(call),
    async ask(question, onEvent) {
      const { askTurn } = await import('../operations/turns/turns.ts')
      const { sessionKey } = await call('turns.where', whoseOf(question))
      return askTurn(app, operator, { deliver: false, ...question }, (event) => onEvent(event, sessionKey))
    },
    // Without a gateway nothing is delivered; what it is told waits in the outbox.
    watch: async () => () => {},
    async stop(sessionKey) {
      await (await app.conversations()).stopTurn(sessionKey)
    },
    close: () => app.close(),
  }
}

async function talkToGateway({ url, token }: GatewayAddress): Promise<Talk> {
  const { GatewayClient } = await import('../rpc/client.ts')
  const client = new GatewayClient({
    url: `${url.replace(/^http/, 'ws')}/ws`,
    ...(token === undefined ? {} : { token }),
  })
  return {
    ...deskBehind((name, input) => client.call(name, input)),
    async ask(question, onEvent) {
      const { timeout } = question
      const { sessionKey } = await client.call('turns.where', whoseOf(question))
      const unsubscribe = client.subscribe(
        'sessions.messages',
        { key: sessionKey },
        { event: (event) => (event.type === 'turn-event' ? onEvent(event.event, sessionKey) : undefined) },
      )
      try {
        return await client.call('turns.run', { ...question, timeout })
      } finally {
        unsubscribe()
      }
    },
    async watch(whose, onTold) {
      const { sessionKey } = await client.call('turns.where', whoseOf(whose))
      return client.subscribe(
        'web',
        { chatId: sessionKey },
        { event: (event) => (event.type === 'web-output' ? tellOf(event.output, onTold) : undefined) },
      )
    },
    async stop(sessionKey) {
      await client.call('turns.stop', { sessionKey })
    },
    async close() {
      client.close()
    },
  }
}

function deskBehind(call: Call): QuestionDesk {
  return {
    async open(key) {
      const { approvals } = await call('approvals.list', {})
      return approvals.filter(({ sessionKey }) => sessionKey === key)
    },
    async answer({ id, inputHash }, decision) {
      await call('approvals.answer', { id, inputHash, ...decision })
    },
  }
}

function tellOf(output: WebOutput, onTold: (text: string) => void): void {
  if (output.type === 'typing') return
  const { text, files } = output.message
  onTold([text, ...files.map(({ name }) => `[file: ${name}]`)].filter(Boolean).join('\n'))
}

/** Only what says whose session it is. */
function whoseOf({
  to,
  sessionId,
  sessionKey,
  agent,
  channel,
}: Omit<Question, 'message'>): InputOf<'turns.where'> {
  const whose = { to, sessionId, sessionKey, agent, channel }
  return Object.fromEntries(Object.entries(whose).filter(([, value]) => value !== undefined))
}

/** The text from `--message`, or from what is piped in. */
export async function messageFrom(
  given: string | undefined,
  input: AsyncIterable<unknown>,
  isTerminal: boolean,
): Promise<string> {
  if (given !== undefined) return given
  if (isTerminal) throw noMessage()
  let text = ''
  for await (const chunk of input) text += String(chunk)
  if (text.trim() === '') throw noMessage()
  return text
}

function noMessage(): RockpoolError {
  return new RockpoolError('usage', 'There is nothing to say.', {
    hint: 'Give it with -m "…", or pipe it in.',
  })
}
