// A whole Rockpool in this process with its channels open, on a private home: the real way of a message from a
// platform's server on loopback to the real Claude binary and back.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { openApp } from '../../src/app.ts'
import type { Clock } from '../../src/domain/clock.ts'
import type { Conversations } from '../../src/flow/conversations.ts'
import type { App } from '../../src/operations/app.ts'
import type { Caller } from '../../src/operations/operation.ts'
import { perform } from '../../src/operations/all.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { startMessagesApi } from './messages-api.ts'
import type { MessagesApi } from './messages-api.ts'
import type { WhatsappServer } from './whatsapp-server.ts'

export interface ChannelHouse {
  api: MessagesApi
  home: ClaudeHome
  app: App
  conversations: Conversations
  /** As the operator at the command line. */
  ask(name: string, input?: Record<string, unknown>): Promise<Record<string, unknown>>
  /** Stops and starts the program; everything on disk stays. */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface ChannelHouseOptions {
  channels?: Record<string, unknown>
  config?: Record<string, unknown>
  coding?: Record<string, unknown>
  /** What the agent may use without asking. */
  allowedTools?: string[]
  /** Without Claude the offline agent answers, and fast. */
  offline?: boolean
  variables?: Record<string, string>
  clock?: Clock
}

const patience = { timeout: 30_000, interval: 20 }

/** Until the channel of this platform receives. */
export async function connected({ conversations }: ChannelHouse, name: string): Promise<void> {
  const channel = conversations.channels.find((one) => one.name === name)
  await vi.waitFor(() => expect(channel?.status().state).toBe('connected'), patience)
}

/** Waits until the delivery is marked as sent, because no person reads and answers faster. */
export async function allSent({ app }: ChannelHouse): Promise<void> {
  await vi.waitFor(async () => expect(await app.storage.work.outbox.open()).toEqual([]), patience)
}

/** Scans the code that WhatsApp's channel shows, as a phone does. */
export async function linkWhatsapp(house: ChannelHouse, server: WhatsappServer): Promise<void> {
  const channel = house.conversations.channels.find((one) => one.name === 'whatsapp')!
  await vi.waitFor(() => expect(channel.status().needs?.kind).toBe('qr'), patience)
  server.scan(channel.status().needs!.detail)
  await connected(house, 'whatsapp')
}

const operator: Caller = { via: 'cli', scopes: ['admin'], name: 'test' }

export async function openChannelHouse(options: ChannelHouseOptions = {}): Promise<ChannelHouse> {
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, name: 'channels' })
  const config = {
    agents: {
      defaults: { model: testModel, workspace: home.project, allowedTools: options.allowedTools },
    },
    claude: { credential: options.offline ? 'none' : 'auto', maxRetries: 1, spare: false },
    channels: options.channels ?? {},
    coding: { defaultWorkdir: home.project, ...options.coding },
    ...options.config,
  }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  const start = async (): Promise<{ app: App; conversations: Conversations }> => {
    const environment = readEnvironment({ ...home.variables, ...options.variables })
    const app = await openApp(environment, { version: '0.0.0-test', isGateway: true, clock: options.clock })
    app.gateway = { url: 'http://127.0.0.1:0', loginCode: () => ({ code: '', expiresInMs: 0 }) }
    const conversations = await app.conversations()
    await conversations.start()
    return { app, conversations }
  }
  const stop = async (): Promise<void> => {
    await house.conversations.stop(5_000)
    await house.app.close()
  }
  const house: ChannelHouse = {
    api,
    home,
    ...(await start()),
    ask: (name, input = {}) => perform(house.app, name, input, operator) as Promise<Record<string, unknown>>,
    async restart() {
      await stop()
      Object.assign(house, await start())
    },
    async close() {
      await stop()
      await api.close()
      home.remove()
    },
  }
  return house
}
