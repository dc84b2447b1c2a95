// Asks an agent from the terminal: through the gateway when one runs, else in this process. What the agent does is
// shown while it does it.
import { RockpoolError } from '../domain/errors.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { App } from '../operations/app.ts'
import type { Caller } from '../operations/operation.ts'
import type { GatewayAddress } from './ask.ts'
import { findGateway } from './ask.ts'
import type { Host } from './local-command.ts'

export interface Question {
  message: string
  to?: string
  sessionId?: string
  sessionKey?: string
  agent?: string
  channel?: string
  thinking?: string
  model?: string
  deliver?: boolean
  timeout: number
}

export interface Answer {
  sessionKey: string
  text: string
  media: string[]
  [field: string]: unknown
}

export interface Talk {
  ask(question: Question, onEvent: (event: TurnEvent) => void): Promise<Answer>
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
  return {
    async ask(question, onEvent) {
      const { askTurn } = await import('../operations/turns.ts')
      return askTurn(app, operator, { deliver: false, ...question }, onEvent)
    },
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
    async ask(question, onEvent) {
      const {
        timeout,
        message: _message,
        deliver: _deliver,
        thinking: _thinking,
        model: _model,
        ...whose
      } = question
      const { sessionKey } = (await client.call('turns.where', whose)) as { sessionKey: string }
      const unsubscribe = client.subscribe(
        'sessions.messages',
        { key: sessionKey },
        { event: (event) => (event.type === 'turn-event' ? onEvent(event.event) : undefined) },
      )
      try {
        return (await client.call('turns.run', { ...question, timeout })) as Answer
      } finally {
        unsubscribe()
      }
    },
    async stop(sessionKey) {
      await client.call('turns.stop', { sessionKey })
    },
    async close() {
      client.close()
    },
  }
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
