import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Message as TelegramMessage } from 'grammy/types'
import { channelContract } from '../../test/support/channel-contract.ts'
import type { Feature, Platform, Rig, Written } from '../../test/support/channel-contract.ts'
import { testHost } from '../../test/support/channel-host.ts'
import type { TestHost } from '../../test/support/channel-host.ts'
import { personMessage, TelegramApi } from '../../test/support/telegram-api.ts'
import type { Message } from '../domain/message.ts'
import { TelegramChannel } from './telegram.ts'

const people = { alice: { id: 501, name: 'Alice' }, bob: { id: 502, name: 'Alice' } }
const group = { id: -1001234, title: 'The group', forum: true }

class TelegramPlatform implements Platform {
  readonly people = { alice: '501', bob: '502' }
  #api: TelegramApi
  #held = new Map<string, TelegramMessage>()

  constructor(api: TelegramApi) {
    this.#api = api
  }

  address(place: string, person: 'alice' | 'bob' = 'alice') {
    const to = place === 'direct' ? this.people[person] : String(group.id)
    return {
      channel: 'telegram',
      accountId: 'default',
      to,
      ...(place === 'thread' ? { threadId: '77' } : {}),
    }
  }

  async write(what: Written): Promise<string> {
    const message = this.#messageOf(what)
    if (what.later) this.#held.set(String(message.message_id), message)
    else this.#api.emit({ message })
    return String(message.message_id)
  }

  deliver(messageIds: string[]): void {
    for (const id of messageIds) this.#api.emit({ message: this.#held.get(id) })
  }

  async edit(messageId: string, what: Written): Promise<void> {
    const edited = { ...this.#messageOf(what), message_id: Number(messageId), edit_date: 1 }
    this.#api.emit({ edited_message: edited })
  }

  async react(messageId: string, by: 'alice' | 'bob', emoji: string): Promise<void> {
    const chat = { id: people[by].id, type: 'private' as const, first_name: people[by].name }
    const user = { id: people[by].id, is_bot: false, first_name: people[by].name }
    const reaction = { chat, user, message_id: Number(messageId), date: 1, old_reaction: [] }
    this.#api.emit({ message_reaction: { ...reaction, new_reaction: [{ type: 'emoji', emoji }] } })
  }

  async press(shownId: string, data: string, by: 'alice' | 'bob'): Promise<void> {
    const chat = { id: people[by].id, type: 'private' as const, first_name: people[by].name }
    const from = { id: people[by].id, is_bot: false, first_name: people[by].name }
    const message = { message_id: Number(shownId), date: 1, chat }
    this.#api.emit({ callback_query: { id: 'q-1', from, message, data, chat_instance: 'c' } })
  }

  pressesAcknowledged = (): number => this.#api.acknowledged.length
  typings = (): number => this.#api.callsOf('sendChatAction').length

  shown() {
    return this.#api.shown.map((one) => ({
      id: String(one.id),
      to: String(one.chat),
      text: one.text,
      formats: one.formats,
      buttons: one.buttons.flat().map((button) => ({ label: button.text, data: button.data })),
      ...(one.thread === undefined ? {} : { threadId: String(one.thread) }),
      ...(one.replyTo === undefined ? {} : { replyTo: String(one.replyTo) }),
      ...(one.file ? { file: one.file } : {}),
    }))
  }

  failSends(fault: string, times = 1): void {
    const faults = {
      'rate-limit': { kind: 'too-many', retryAfter: 1 },
      refuse: { kind: 'error', code: 403, description: 'Forbidden: bot was blocked by the user' },
      'server-error': { kind: 'error', code: 500 },
      'cut-before': { kind: 'cut-before' },
      'cut-after': { kind: 'cut-after' },
    } as const
    this.#api.fault('sendMessage', faults[fault as keyof typeof faults], times)
  }

  cut = (): void => this.#api.cutAll()
  goDown = (): Promise<void> => this.#api.close()
  comeBack = (): Promise<void> => this.#api.open()

  #messageOf(what: Written): TelegramMessage {
    const chat = what.place === 'direct' ? { id: people[what.from].id } : group
    const text = what.mention ? `@${this.#api.bot.username} ${what.text}` : what.text
    const replied = this.#api.shown.find((one) => String(one.id) === what.replyTo)
    const file = what.file && this.#api.addFile('photos/file_1.png', what.file.bytes)
    const photo = [{ file_id: file, file_size: what.file?.bytes.length, width: 1, height: 1 }]
    return personMessage(this.#api, people[what.from], chat, file ? '' : text, {
      ...(file ? { caption: text, photo } : {}),
      ...(what.place === 'thread' ? { message_thread_id: 77, is_topic_message: true } : {}),
      ...(what.forwarded ? { forward_origin: { type: 'hidden_user', date: 1, sender_user_name: 'x' } } : {}),
      ...(replied
        ? { reply_to_message: { message_id: replied.id, from: this.#api.bot, text: replied.text } }
        : {}),
    })
  }
}

const features = new Set<Feature>([
  'several-people',
  'replies',
  'groups',
  'threads',
  'edited',
  'reactions',
  'buttons',
  'media-in',
  'media-out',
  'forwarded',
  'network',
  'redelivery',
])

channelContract('Telegram', features, async (): Promise<Rig> => {
  const api = await TelegramApi.listen()
  const host = testHost()
  return {
    host,
    platform: new TelegramPlatform(api),
    open: () => openChannel(api, host),
    close: async () => {
      await api.close()
      host.close()
    },
  }
})

function openChannel(api: TelegramApi, host: TestHost): TelegramChannel {
  return new TelegramChannel(
    { accountId: 'default', token: api.token, apiRoot: api.root, pollSeconds: 5 },
    host,
  )
}

describe('Telegram', () => {
  let api: TelegramApi
  let host: TestHost
  const channels: TelegramChannel[] = []
  const received: Message[] = []
  const accept = async (message: Message): Promise<void> => void received.push(message)

  beforeEach(async () => {
    api = await TelegramApi.listen()
    host = testHost()
    received.length = 0
  })
  afterEach(async () => {
    for (const channel of channels.splice(0)) await channel.stop()
    await api.close()
    host.close()
  })
  const open = (options = {}): TelegramChannel => {
    const channel = new TelegramChannel(
      { accountId: 'default', token: api.token, apiRoot: api.root, pollSeconds: 5, ...options },
      host,
    )
    channels.push(channel)
    return channel
  }
  const say = (text: string): void => {
    api.emit({ message: personMessage(api, people.alice, { id: 501 }, text) })
  }

  test('an update is confirmed only after it is stored', async () => {
    let store: () => void = () => {}
    const stored = new Promise<void>((resolve) => (store = resolve))
    await open().start(() => stored)
    say('keep me')
    await vi.waitFor(() => expect(api.callsOf('getUpdates').length).toBeGreaterThan(0))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(api.pending).toHaveLength(1)
    store()
    await vi.waitFor(() => expect(api.pending).toHaveLength(0))
  })

  test('one process polls for a bot; a second one fails with the reason', async () => {
    await open().start(accept)
    const second = open()
    await expect(second.start(accept)).rejects.toThrow(/in use by another process/)
    expect(second.status()).toMatchObject({ state: 'failed', lastError: expect.stringMatching(/in use/) })
  })

  test('another program that polls for the same bot is named as the trouble', async () => {
    api.fault('getUpdates', { kind: 'error', code: 409, description: 'Conflict: terminated by other' })
    const channel = open()
    const errors: string[] = []
    channel.onStatus((status) => status.lastError && errors.push(status.lastError))
    await channel.start(accept)
    await vi.waitFor(() => expect(errors.join()).toMatch(/Another program/))
  })

  test('a wrong token fails with what to do, and the token is in no word of it', async () => {
    const channel = open({ token: '999:wrong-token' })
    await channel.start(accept)
    await vi.waitFor(() => expect(channel.status().state).toBe('failed'))
    expect(channel.status().needs?.detail).toMatch(/BotFather/)
    expect(JSON.stringify(channel.status())).not.toContain('wrong-token')
  })

  test('a command for another bot is no command of ours', async () => {
    await open().start(accept)
    const at = { id: -5, title: 'g' }
    api.emit({ message: personMessage(api, people.alice, at, '/new@other_bot now') })
    api.emit({ message: personMessage(api, people.alice, at, '/new@rock_pool_bot now') })
    await vi.waitFor(() => expect(received).toHaveLength(2))
    expect(received[0]).toMatchObject({ event: 'message', mentioned: false, text: '@other_bot new now' })
    expect(received[1]).toMatchObject({ event: 'command', mentioned: true, text: '/new now' })
  })

  test('the sender of a message written as a channel is that channel, never a person', async () => {
    await open().start(accept)
    const sender_chat = { id: -100777, type: 'channel', title: 'Alice' }
    api.emit({
      message: personMessage(api, people.alice, { id: -5 }, 'hi', { sender_chat }),
    })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(received[0]!.sender).toEqual({ id: '-100777', name: 'Alice' })
  })

  test('a file that is too large is named in the message instead of being lost in silence', async () => {
    await open().start(accept)
    const file_id = api.addFile('documents/big.bin', Buffer.alloc(20_000_001))
    const document = { file_id, file_unique_id: 'u', file_name: 'big.bin' }
    api.emit({
      message: personMessage(api, people.alice, { id: 501 }, '', {
        caption: 'see',
        document,
      }),
    })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(received[0]).toMatchObject({ text: 'see', media: [] })
    expect(received[0]!.untrusted?.[0]).toMatch(/missing: .*file is too big/)
  })

  test('words that Telegram cannot format arrive as they are', async () => {
    const channel = open()
    await channel.start(accept)
    api.fault('sendMessage', { kind: 'error', code: 400, description: "Bad Request: can't parse entities" })
    const to = { channel: 'telegram', accountId: 'default', to: '501' }
    await channel.send(to, { text: '**odd**' }, { idempotencyKey: 'k', resent: false })
    expect(api.shown.map((one) => one.text)).toEqual(['**odd**'])
  })

  test('a reply of several messages continues after the last part that was sent', async () => {
    const channel = open()
    await channel.start(accept)
    const to = { channel: 'telegram', accountId: 'default', to: '501' }
    const text = `${'a '.repeat(2_000)}\n\n${'b '.repeat(2_000)}\n\n${'c '.repeat(2_000)}`
    api.fault('sendMessage', { kind: 'html', code: 502 }, 1, 1)
    const sentIds: string[] = []
    const onPart = async (messageId: string): Promise<void> => void sentIds.push(messageId)
    const outcome = await channel.send(to, { text }, { idempotencyKey: 'k', resent: false, onPart })
    expect(outcome).toMatchObject({ kind: 'unknown', reason: expect.stringMatching(/parts were sent/) })
    expect(sentIds).toEqual([String(api.shown[0]!.id)])
    await channel.send(to, { text }, { idempotencyKey: 'k', resent: true, sentIds })
    expect(api.shown.map((one) => one.text.startsWith('(resent'))).toEqual([false, true, false])
    const starts = api.shown.map((one) => one.text.replace(/^\(resent.*\)\n/, '')[0])
    expect(starts).toEqual(['a', 'b', 'c'])
  })

  describe('by webhook', () => {
    const secret = 'a-secret-of-some-length'
    const webhook = { url: 'https://example.org/hook', secret, host: '127.0.0.1', port: 0 }

    test('a blank secret is refused at the start', async () => {
      const channel = open({ webhook: { ...webhook, secret: '                  ' } })
      await expect(channel.start(accept)).rejects.toThrow(/no secret/)
    })

    test('only Telegram gets in, and 200 means stored', async () => {
      const port = await freePort()
      const channel = open({ webhook: { ...webhook, port } })
      let broken = true
      await channel.start(async (message) => {
        if (broken) throw new Error('disk full')
        received.push(message)
      })
      await vi.waitFor(() => expect(channel.status().state).toBe('connected'))
      expect(api.webhook).toEqual({ url: webhook.url, secret })
      say('by webhook')
      const url = `http://127.0.0.1:${port}/hook`
      expect(await api.push(url, { 'x-telegram-bot-api-secret-token': 'wrong' })).toEqual([401])
      expect(await api.push(url, { 'x-telegram-bot-api-secret-token': '' })).toEqual([401])
      expect(await api.push(`http://127.0.0.1:${port}/else`)).toEqual([404])
      expect(await api.push(url)).toEqual([500])
      broken = false
      expect(await api.push(url)).toEqual([200])
      expect(received.map((one) => one.text)).toEqual(['by webhook'])
      const big = await fetch(url, {
        method: 'POST',
        headers: { 'x-telegram-bot-api-secret-token': secret },
        body: 'x'.repeat(1_100_000),
      })
      expect(big.status).toBe(413)
    })
  })
})

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
