// The service of the plugin: finds or starts Rockpool's gateway, tells it about OpenClaw's agents, and takes its deliveries and
// questions. It never delays the start of OpenClaw: everything happens after `start` has returned.
import { join } from 'node:path'
import { asRockpoolError, messageAndHint } from '../../../src/domain/errors.ts'
import { GatewayClient } from '../../../src/rpc/client.ts'
import { openDirectly } from '../../../src/rpc/direct-socket.ts'
import { agentsOf } from './agents.ts'
import { Deliveries } from './deliveries.ts'
import type { Delivery } from './deliveries.ts'
import { startGateway } from './gateway-process.ts'
import type { StartedGateway } from './gateway-process.ts'
import { Journal } from './journal.ts'
import type { OpenClawApi, ServiceContext } from './openclaw-api.ts'
import { answerQuestion } from './questions.ts'
import type { Question } from './questions.ts'
import { callRockpool, rockpoolUrl, shared, tokenFor } from './rockpool.ts'
import { table } from './table.ts'

type PluginEvent =
  | { type: 'openclaw-delivery'; delivery: Delivery }
  | { type: 'openclaw-question'; question: Question }

const firstDelayMs = 500
const longestDelayMs = 30_000
/** A gateway that a person restarts is back by then. */
const restartMs = 10_000

export class Service {
  readonly #api: OpenClawApi
  readonly #context: ServiceContext
  readonly #deliveries: Deliveries
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #started: StartedGateway | undefined
  #lastConnectedAt = -Infinity

  constructor(api: OpenClawApi, context: ServiceContext) {
    this.#api = api
    this.#context = context
    const journal = new Journal(join(context.stateDir, 'rockpool-delivered.jsonl'))
    this.#deliveries = new Deliveries({ api, journal, warn: (text) => context.logger.warn(text) })
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Ends exactly what the service has started. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#deliveries.idle()
    await this.#started?.stop()
  }

  async #run(): Promise<void> {
    let delayMs = firstDelayMs
    while (!this.#isStopping) {
      const isReached = await this.#findGateway().catch((error: unknown) => this.#report(error))
      const wasConnected =
        isReached === true && (await this.#converse().catch((error: unknown) => this.#report(error))) === true
      delayMs = wasConnected ? firstDelayMs : Math.min(delayMs * 2, longestDelayMs)
      await this.#pause(delayMs)
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  async #findGateway(): Promise<true> {
    try {
      await this.#greet()
      return true
    } catch (error) {
      const { command, start = command !== undefined } = this.#api.pluginConfig ?? {}
      const isBackSoon = performance.now() - this.#lastConnectedAt < restartMs
      const mayStart = start && command !== undefined && asRockpoolError(error).code === 'unavailable'
      if (!mayStart || isBackSoon || this.#started) throw error
      await this.#start(command)
      await this.#greet()
      return true
    }
  }

  async #greet(): Promise<void> {
    await callRockpool(this.#api, { method: 'health', as: 'person', signal: AbortSignal.timeout(10_000) })
  }

  async #start(command: string[]): Promise<void> {
    const started = await startGateway(command)
    this.#started = started
    this.#context.logger.info(`started Rockpool's gateway at ${started.url}`)
    void started.ended.then(() => {
      if (this.#started === started) this.#started = undefined
    })
  }

  /** One connection, until it is lost. False if there was none. */
  #converse(): Promise<boolean> {
    let wasConnected = false
    return new Promise((resolve) => {
      const end = (): void => {
        this.#stopping.signal.removeEventListener('abort', end)
        client.close()
        shared.isConnected = false
        if (wasConnected) this.#lastConnectedAt = performance.now()
        resolve(wasConnected)
      }
      const client = new GatewayClient({
        url: `${rockpoolUrl(this.#api).replace(/^http/, 'ws')}/ws`,
        open: openDirectly,
        token: tokenFor(this.#api, 'person'),
        onState: (state) => {
          if (state === 'away') end()
          if (state === 'connected') {
            wasConnected = true
            this.#introduce(client).catch((error: unknown) => {
              this.#report(error)
              end()
            })
          }
        },
        onRefused: () =>
          this.#report(new Error('Rockpool refused the token; run `rockpool openclaw install` again.')),
      })
      this.#stopping.signal.addEventListener('abort', end)
      client.subscribe(
        'openclaw',
        {},
        { event: (event) => this.#take(client, event as unknown as PluginEvent) },
      )
    })
  }

  async #introduce(client: GatewayClient): Promise<void> {
    const { version } = this.#api.runtime
    const hello = { version, pluginVersion: table.version, agents: agentsOf(this.#api) }
    const { ignored } = (await client.callByName('openclaw.hello', hello)) as { ignored?: string[] }
    shared.isConnected = true
    shared.problem = undefined
    this.#context.logger.info(`connected to Rockpool at ${rockpoolUrl(this.#api)}`)
    if (ignored && ignored.length > 0)
      this.#context.logger.warn(`Rockpool ignores these settings of claudeCode: ${ignored.join(', ')}`)
  }

  #take(client: GatewayClient, event: PluginEvent): void {
    const work =
      event.type === 'openclaw-delivery'
        ? this.#deliveries
            .deliver(event.delivery)
            .then((outcome) => client.callByName('openclaw.delivered', { ...outcome }))
        : answerQuestion(this.#api, event.question).then((answer) =>
            client.callByName('openclaw.answer', answer),
          )
    // After a lost connection Rockpool offers an open delivery again, and the journal knows whether it was sent.
    work.catch((error: unknown) => this.#report(error))
  }

  #report(error: unknown): void {
    const text = messageAndHint(error)
    // The same problem is reported once, not with every attempt.
    if (text !== shared.problem) this.#context.logger.warn(`rockpool: ${text}`)
    shared.problem = text
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isStopping) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        this.#stopping.signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#stopping.signal.addEventListener('abort', done)
    })
  }
}
