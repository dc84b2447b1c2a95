// Asks an agent from the terminal, through the gateway if one runs, else in this process.
import { RockpoolError } from '../domain/errors.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { WebOutput } from '../domain/channel.ts'
import type { App } from '../operations/app.ts'
import type { Call, InputOf, OutputOf } from '../rpc/client.ts'
import { approvalsOf, type Approvals } from './answer-permission.ts'
import type { Environment } from '../store/config-file.ts'
import { connectionTo, findGateway, operator, type GatewayAddress } from './call-operation.ts'
import type { Host } from './host.ts'

export type Question = InputOf<'turns.run'> & { timeout: number }

/** The session that gets the question. */
export type SessionChoice = Omit<Question, 'message'>

interface TurnListener {
  /** Called before the turn begins, so that it can be stopped from the start. */
  begun(sessionKey: string): void
  event(event: TurnEvent, sessionKey: string): void
}

export interface AgentClient extends Approvals {
  ask(question: Question, listener: TurnListener): Promise<OutputOf<'turns.run'>>
  /** Passes on what the session receives besides its answers: notices, questions and output of coding sessions. */
  watch(choice: SessionChoice, onText: (text: string) => void): Promise<() => void>
  /** Stops the running turn of a session. */
  stop(sessionKey: string): Promise<void>
  close(): Promise<void>
}

export async function openAgentClient(host: Host, options: { local: boolean }): Promise<AgentClient> {
  const gateway = options.local ? undefined : await findGateway(host.environment)
  return gateway ? gatewayAgent(host.environment, gateway) : localAgent(await host.openApp())
}

function localAgent(app: App): AgentClient {
  const call = (async (name: string, input: Record<string, unknown>) => {
    const { perform } = await import('../operations/all.ts')
    return perform(app, name, input, operator)
    // `perform` validates the output with the schema from which the type `Call` is inferred.
  }) as Call
  return {
    ...approvalsOf(call, 'sessionKey'),
    async ask(question, listener) {
      const { askTurn } = await import('../operations/turns/ask-turn.ts')
      const { sessionKey } = await call('turns.where', addressOf(question))
      listener.begun(sessionKey)
      return askTurn(app, operator, { deliver: false, ...question }, (event) =>
        listener.event(event, sessionKey),
      )
    },
    // Without a gateway nothing is delivered; notices wait in the outbox.
    watch: async () => () => {},
    async stop(sessionKey) {
      await (await app.conversations()).stopTurn(sessionKey)
    },
    close: () => app.close(),
  }
}

async function gatewayAgent(environment: Environment, gateway: GatewayAddress): Promise<AgentClient> {
  const { GatewayClient } = await import('../rpc/client.ts')
  const client = new GatewayClient(connectionTo(environment, gateway))
  return {
    ...approvalsOf((name, input) => client.call(name, input), 'sessionKey'),
    async ask(question, listener) {
      const { sessionKey } = await client.call('turns.where', addressOf(question))
      listener.begun(sessionKey)
      const unsubscribe = client.subscribe(
        'sessions.messages',
        { key: sessionKey },
        {
          event: (event) =>
            event.type === 'turn-event' ? listener.event(event.event, sessionKey) : undefined,
        },
      )
      try {
        return await client.call('turns.run', question)
      } finally {
        unsubscribe()
      }
    },
    async watch(choice, onText) {
      const { sessionKey } = await client.call('turns.where', addressOf(choice))
      return client.subscribe(
        'web',
        { chatId: sessionKey },
        { event: (event) => (event.type === 'web-output' ? passOn(event.output, onText) : undefined) },
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

function passOn(output: WebOutput, onText: (text: string) => void): void {
  if (output.type === 'typing') return
  const { text, files } = output.message
  onText([text, ...files.map(({ name }) => `[file: ${name}]`)].filter(Boolean).join('\n'))
}

/** The fields that name a session. */
function addressOf({ to, sessionId, sessionKey, agent, channel }: SessionChoice): InputOf<'turns.where'> {
  return Object.fromEntries(
    Object.entries({ to, sessionId, sessionKey, agent, channel }).filter(([, value]) => value !== undefined),
  )
}

/** The text of `--message`, or the piped input. */
export async function messageFrom(
  given: string | undefined,
  input: AsyncIterable<unknown>,
  isTerminal: boolean,
): Promise<string> {
  if (given !== undefined) return given
  let text = ''
  if (!isTerminal) for await (const chunk of input) text += String(chunk)
  if (text.trim() !== '') return text
  throw new RockpoolError('usage', 'There is no message.', { hint: 'Give it with -m "…", or pipe it in.' })
}
