import { cpSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { channelContract } from '../../test/support/channel-contract.ts'
import type { Feature, Platform, Rig, Written } from '../../test/support/channel-contract.ts'
import { testHost } from '../../test/support/channel-host.ts'
import type { TestHost } from '../../test/support/channel-host.ts'
import { DiscordApi } from '../../test/support/discord-api.ts'
import type { Message } from '../domain/message.ts'
import { openSecretStore } from '../store/sqlite/secret-store.ts'
import { DiscordChannel } from './discord.ts'

const people = {
  alice: { id: '5010', username: 'alice', global_name: 'Alice' },
  bob: { id: '5020', username: 'bob', global_name: 'Alice' },
}
const directs = { alice: '7001', bob: '7002' }

class DiscordPlatform implements Platform {
  readonly people = { alice: '5010', bob: '5020' }
  #api: DiscordApi

  constructor(api: DiscordApi) {
    this.#api = api
    api.channels.set('7001', { id: '7001', type: 1, recipients: [{ id: people.alice.id }] })
    api.channels.set('7002', { id: '7002', type: 1, recipients: [{ id: people.bob.id }] })
    api.channels.set('8001', { id: '8001', type: 0, guild_id: '6001', name: 'general' })
    api.channels.set('8002', { id: '8002', type: 11, guild_id: '6001', parent_id: '8001', name: 'a thread' })
  }

  address(place: string, person: 'alice' | 'bob' = 'alice') {
    const to = place === 'direct' ? `user:${people[person].id}` : '8001'
    return {
      channel: 'discord',
      accountId: 'default',
      to,
      ...(place === 'thread' ? { threadId: '8002' } : {}),
    }
  }

  async write(what: Written): Promise<string> {
    const replied = this.#api.messages.find((one) => one.id === what.replyTo)
    const file = what.file
    const attachment = file && {
      id: '1',
      url: this.#api.addFile(file.name, file.bytes),
      filename: file.name,
      content_type: file.mimeType,
      size: file.bytes.length,
    }
    if (what.later) this.#api.isHolding = true
    const forwarded = { content: what.text, attachments: [] }
    const row = this.#api.write({
      channel_id: this.#channelOf(what),
      author: people[what.from],
      content: what.forwarded ? '' : what.mention ? `<@${this.#api.bot.id}> ${what.text}` : what.text,
      mentions: what.mention ? [this.#api.bot] : [],
      attachments: attachment ? [attachment] : [],
      ...(replied ? { message_reference: { message_id: replied.id }, referenced_message: replied } : {}),
      ...(what.forwarded
        ? { message_reference: { type: 1, message_id: '1' }, message_snapshots: [{ message: forwarded }] }
        : {}),
    })
    this.#api.isHolding = false
    return row.id
  }

  deliver(messageIds: string[]): void {
    for (const id of messageIds) this.#api.tell(this.#api.messages.find((one) => one.id === id)!)
  }

  async edit(messageId: string, what: Written): Promise<void> {
    const row = this.#api.messages.find((one) => one.id === messageId)!
    row.content = what.text
    row.edited_timestamp = new Date().toISOString()
    this.#api.dispatch('MESSAGE_UPDATE', row)
  }

  async react(messageId: string, by: 'alice' | 'bob', emoji: string): Promise<void> {
    this.#api.dispatch('MESSAGE_REACTION_ADD', {
      user_id: people[by].id,
      channel_id: directs[by],
      message_id: messageId,
      emoji: { id: null, name: emoji },
    })
  }

  async press(messageId: string, data: string, by: 'alice' | 'bob'): Promise<void> {
    this.#api.dispatch('INTERACTION_CREATE', {
      id: '3001',
      application_id: '4001',
      token: 'interaction-token',
      type: 3,
      channel: this.#api.channels.get(directs[by]),
      user: people[by],
      message: this.#api.messages.find((one) => one.id === messageId),
      data: { custom_id: data, component_type: 2 },
    })
  }

  pressesAcknowledged = (): number => this.#api.callbacks.length
  typings = (): number => this.#api.typings

  shown() {
    return this.#api.ours().map((row) => {
      const thread = this.#api.channels.get(row.channel_id)
      return {
        id: row.id,
        to: thread?.recipients ? `user:${thread.recipients[0]!.id}` : (thread?.parent_id ?? row.channel_id),
        text: row.content,
        formats: [],
        buttons: row.components
          .flatMap((one) => one.components)
          .map((button) => ({ label: button.label, data: button.custom_id })),
        ...(thread?.parent_id ? { threadId: row.channel_id } : {}),
        ...(row.message_reference ? { replyTo: row.message_reference.message_id } : {}),
        ...(row.files[0] ? { file: row.files[0] } : {}),
      }
    })
  }

  failSends(fault: string, times = 1): void {
    const faults = {
      'rate-limit': { kind: 'too-many', retryAfter: 0.2 },
      refuse: { kind: 'error', status: 403, code: 50_007, message: 'Cannot send messages to this user' },
      'server-error': { kind: 'error', status: 502 },
      'cut-before': { kind: 'cut-before' },
      'cut-after': { kind: 'cut-after' },
    } as const
    this.#api.fault('POST /channels/:id/messages', faults[fault as keyof typeof faults], times)
  }

  cut = (): void => this.#api.cutAll()
  goDown = (): Promise<void> => this.#api.close()
  comeBack = (): Promise<void> => this.#api.open()

  #channelOf(what: Written): string {
    return { direct: directs[what.from], group: '8001', thread: '8002' }[what.place]
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

channelContract('Discord', features, async (): Promise<Rig> => {
  const api = await DiscordApi.listen()
  const host = testHost()
  return {
    host,
    platform: new DiscordPlatform(api),
    open: () => new DiscordChannel({ accountId: 'default', token: api.token, apiRoot: api.root }, host),
    close: async () => {
      await api.close()
      host.close()
    },
  }
})

describe('Discord', () => {
  let api: DiscordApi
  let platform: DiscordPlatform
  let host: TestHost
  const channels: DiscordChannel[] = []
  const received: Message[] = []
  const accept = async (message: Message): Promise<void> => void received.push(message)

  beforeEach(async () => {
    api = await DiscordApi.listen()
    platform = new DiscordPlatform(api)
    host = testHost()
    received.length = 0
  })
  afterEach(async () => {
    for (const channel of channels.splice(0)) await channel.stop()
    await api.close()
    host.close()
  })
  const open = (options = {}): DiscordChannel => {
    const channel = new DiscordChannel(
      { accountId: 'default', token: api.token, apiRoot: api.root, ...options },
      host,
    )
    channels.push(channel)
    return channel
  }
  /** As after a kill: what is on disk, and nothing else. */
  const afterKill = (): DiscordChannel => {
    const folder = mkdtempSync(join(host.folder, 'killed-'))
    cpSync(join(host.folder, 'credentials'), folder, { recursive: true })
    const after = { ...testHost(), secrets: (name: string) => openSecretStore(folder, name) }
    after.close()
    const channel = new DiscordChannel({ accountId: 'default', token: api.token, apiRoot: api.root }, after)
    channels.push(channel)
    return channel
  }
  /** Up to which event the session on disk has everything. */
  const keptSequence = (): number | undefined => {
    const folder = mkdtempSync(join(host.folder, 'look-'))
    cpSync(join(host.folder, 'credentials'), folder, { recursive: true })
    const store = openSecretStore(folder, 'discord-default')
    const text = store.get('gateway-session')
    void store.close()
    return text === undefined ? undefined : (JSON.parse(text) as { info: { sequence: number } }).info.sequence
  }
  const connected = async (): Promise<DiscordChannel> => {
    const channel = open()
    await channel.start(accept)
    await vi.waitFor(() => expect(channel.status().state).toBe('connected'))
    return channel
  }

  /** A message was read; what comes now Discord will not replay. */
  async function oneReadThenAway(): Promise<void> {
    const channel = await connected()
    await platform.write({ from: 'alice', place: 'direct', text: 'one' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    await channel.stop()
    api.remembers = false
  }

  test('messages that the gateway cannot replay are read from the channel, once and in order', async () => {
    await oneReadThenAway()
    for (let n = 2; n <= 150; n++) await platform.write({ from: 'alice', place: 'direct', text: String(n) })
    await connected()
    await vi.waitFor(() => expect(received).toHaveLength(150), { timeout: 10_000 })
    expect(received.map((one) => one.text)).toEqual([
      'one',
      ...Array.from({ length: 149 }, (_, n) => String(n + 2)),
    ])
  })

  test('when Discord has forgotten the session, nothing is missed either', async () => {
    const first = await connected()
    await platform.write({ from: 'alice', place: 'direct', text: 'before' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    await vi.waitFor(() => expect(keptSequence()).toBeGreaterThan(2))
    await first.stop()
    // It resumes that session: between two sessions that it starts itself, discord.js waits for five seconds.
    const channel = await connected()
    expect(api.resumes).toBe(1)
    api.remembers = false
    api.cutAll()
    await vi.waitFor(() => expect(channel.status().state).toBe('reconnecting'))
    await platform.write({ from: 'alice', place: 'direct', text: 'meanwhile' })
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['before', 'meanwhile']), {
      timeout: 10_000,
    })
  })

  test('while Discord cannot answer, a message waits and nothing is passed over', async () => {
    await connected()
    for (const fault of [
      { kind: 'error', status: 502 },
      { kind: 'cut-before' },
      { kind: 'too-many', retryAfter: 0.05 },
    ] as const)
      api.fault('GET /channels/:id', fault)
    await platform.write({ from: 'alice', place: 'direct', text: 'one' })
    await platform.write({ from: 'alice', place: 'direct', text: 'two' })
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['one', 'two']), {
      timeout: 10_000,
    })
  })

  test('what came while we were away is read although Discord fails at first', async () => {
    await oneReadThenAway()
    await platform.write({ from: 'alice', place: 'direct', text: 'two' })
    api.fault('GET /channels/:id/messages', { kind: 'error', status: 503 }, 2)
    await connected()
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['one', 'two']), {
      timeout: 10_000,
    })
  })

  test('a channel that got its first message while we were offline is read, too', async () => {
    const channel = await connected()
    await channel.stop()
    api.remembers = false
    api.write({ channel_id: '8001', author: people.alice, content: 'first words' })
    api.write({ channel_id: '8002', author: people.bob, content: 'in the thread' })
    await connected()
    await vi.waitFor(() => expect(received).toHaveLength(2), { timeout: 10_000 })
    expect(received.map((one) => one.text).sort()).toEqual(['first words', 'in the thread'])
  })

  test('a message that is read later has the roles of its author, like one that came at once', async () => {
    api.members.set(people.alice.id, { nick: 'Al', roles: ['6001'] })
    const channel = await connected()
    api.write({ channel_id: '8001', author: people.alice, content: 'at once' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    await channel.stop()
    api.remembers = false
    api.write({ channel_id: '8001', author: people.alice, content: 'later' })
    api.write({ channel_id: '8001', author: people.bob, content: 'from somebody who has left' })
    await connected()
    await vi.waitFor(() => expect(received).toHaveLength(3), { timeout: 10_000 })
    expect(received[1]!.sender).toEqual(received[0]!.sender)
    expect(received[1]!.sender).toMatchObject({ name: 'Al', roles: ['6001'] })
    expect(received[2]!.sender.roles).toBeUndefined()
  })

  test('a crash right after the first message of a channel does not forget the channel', async () => {
    const hangs = open()
    let offered = false
    const gate = Promise.withResolvers<void>()
    await hangs.start(() => {
      offered = true
      return gate.promise
    })
    await vi.waitFor(() => expect(hangs.status().state).toBe('connected'))
    await platform.write({ from: 'alice', place: 'direct', text: 'hello' })
    await vi.waitFor(() => expect(offered).toBe(true))
    api.remembers = false
    const next = afterKill()
    await next.start(accept)
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['hello']), { timeout: 10_000 })
    gate.resolve()
  })

  test('edits and presses that were not stored before a crash are replayed in order', async () => {
    const hangs = open()
    const gate = Promise.withResolvers<void>()
    const offered: string[] = []
    await hangs.start(async (message) => {
      offered.push(message.event)
      if (message.event !== 'message') await gate.promise
    })
    await vi.waitFor(() => expect(hangs.status().state).toBe('connected'))
    const id = await platform.write({ from: 'alice', place: 'direct', text: 'one' })
    await vi.waitFor(() => expect(offered).toEqual(['message']))
    await vi.waitFor(() => expect(keptSequence()).toBeGreaterThan(2))
    await platform.edit(id, { from: 'alice', place: 'direct', text: 'two' })
    await platform.press(id, 'yes', 'alice')
    await platform.react(id, 'alice', '👍')
    await vi.waitFor(() => expect(offered).toEqual(['message', 'edit']))
    const next = afterKill()
    await next.start(accept)
    await vi.waitFor(() => expect(received).toHaveLength(3), { timeout: 10_000 })
    expect(received.map((one) => one.event)).toEqual(['edit', 'button', 'reaction'])
    expect(next.status()).toMatchObject({ state: 'connected', identity: { id: '9000', name: 'rockpool' } })
    expect([api.identified.length, api.resumes]).toEqual([1, 1])
    gate.resolve()
  })

  test('what is edited and pressed while we restart arrives, and nothing a second time', async () => {
    const channel = await connected()
    const id = await platform.write({ from: 'alice', place: 'direct', text: 'one' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    await vi.waitFor(() => expect(keptSequence()).toBeGreaterThan(2))
    await channel.stop()
    await platform.edit(id, { from: 'alice', place: 'direct', text: 'two' })
    await platform.press(id, 'yes', 'alice')
    await connected()
    await vi.waitFor(() => expect(received).toHaveLength(3), { timeout: 10_000 })
    expect(received.map((one) => one.event)).toEqual(['message', 'edit', 'button'])
  })

  test('a session is not gone on with before what came ahead of it has been read', async () => {
    await oneReadThenAway()
    await platform.write({ from: 'alice', place: 'direct', text: 'two' })
    api.fault('GET /channels/:id/messages', { kind: 'error', status: 503 }, 1_000)
    const killed = open()
    await killed.start(async () => {})
    await vi.waitFor(() => expect(killed.status().state).toBe('connected'))
    await vi.waitFor(() => expect(keptSequence()).toBeUndefined())
    const next = afterKill()
    await killed.stop()
    api.remembers = true
    api.clearFaults()
    await next.start(accept)
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['one', 'two']), {
      timeout: 10_000,
    })
    expect(api.resumes).toBe(0)
  })

  test('while Discord cannot be reached for a moment, its session is kept and gone on with', async () => {
    const channel = await connected()
    const id = await platform.write({ from: 'alice', place: 'direct', text: 'one' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    await api.close()
    await vi.waitFor(() => expect(channel.status().state).toBe('reconnecting'))
    await platform.edit(id, { from: 'alice', place: 'direct', text: 'two' })
    for (let n = 3; n <= 30; n++) await platform.write({ from: 'alice', place: 'direct', text: String(n) })
    await new Promise((resolve) => setTimeout(resolve, 700))
    await api.open()
    await vi.waitFor(() => expect(received).toHaveLength(30))
    expect(received.map((one) => one.text)).toEqual([
      'one',
      'two',
      ...Array.from({ length: 28 }, (_, n) => String(n + 3)),
    ])
    expect(api.identified).toHaveLength(1)
  })

  test('stop ends also a connection that is just being made', async () => {
    const channel = open()
    await channel.start(accept)
    await channel.stop()
    expect(channel.status().state).toBe('stopped')
  })

  test('a second copy is marked when Discord has forgotten the first', async () => {
    const channel = await connected()
    const to = platform.address('direct', 'alice')
    const send = (resent: boolean) => channel.send(to, { text: 'once' }, { idempotencyKey: 'k', resent })
    await send(false)
    api.forgetNonces()
    await send(true)
    expect(api.ours().map((one) => one.content)).toEqual(['once', '(resent after an interruption)\nonce'])
  })

  test('a wrong token and a missing intent each say what to do', async () => {
    const wrong = open({ token: 'wrong.token.here' })
    await wrong.start(accept)
    await vi.waitFor(() => expect(wrong.status().state).toBe('failed'))
    expect(wrong.status().needs?.detail).toMatch(/rockpool channels add discord/)
    expect(JSON.stringify(wrong.status())).not.toContain('wrong.token')
    api.closeWith = 4_014
    const blind = open()
    await blind.start(accept)
    await vi.waitFor(() => expect(blind.status().state).toBe('failed'))
    expect(blind.status().needs?.detail).toMatch(/Message Content Intent/)
  })

  test('Discord lists our commands when a person types a slash; typed commands work without that', async () => {
    api.fault('PUT /applications/:id/commands', { kind: 'error', status: 403 })
    const first = await connected()
    await first.stop()
    await connected()
    await vi.waitFor(() => expect(api.commands.map((one) => one.name)).toEqual(['new', 'whoami']))
    expect(api.commands[0]).toMatchObject({
      description: 'Begin a new session.',
      options: [{ name: 'text', type: 3, required: false }],
    })
    expect(api.commands[1]!.options).toEqual([])
  })

  test('a slash command arrives as its words, and Discord gets its answer', async () => {
    await connected()
    api.dispatch('INTERACTION_CREATE', {
      id: '3002',
      application_id: '4001',
      token: 't',
      type: 2,
      channel: api.channels.get('8001'),
      member: { user: people.alice, nick: 'Al' },
      data: { id: '1', type: 1, name: 'new', options: [{ name: 'model', type: 3, value: 'opus' }] },
    })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(received[0]).toMatchObject({
      event: 'command',
      text: '/new opus',
      mentioned: true,
      sender: { name: 'Al' },
    })
    await vi.waitFor(() => expect(api.callbacks).toEqual([{ id: '3002', type: 4 }]))
  })

  test('webhooks and other bots are marked as what they are; our own messages never arrive', async () => {
    const channel = await connected()
    api.write({ channel_id: '8001', author: { id: '1', username: 'hook' }, content: 'hi', webhook_id: '1' })
    api.write({ channel_id: '8001', author: { id: '2', username: 'bot', bot: true }, content: 'hi' })
    await channel.send(platform.address('group'), { text: 'ours' }, { idempotencyKey: 'o', resent: false })
    api.write({ channel_id: '8001', author: people.alice, content: 'last' })
    await vi.waitFor(() => expect(received.at(-1)?.text).toBe('last'))
    expect(received.map((one) => one.sender.isBot)).toEqual([true, true, false])
  })

  test('text by the agent mentions no one, and the agent can write to a person first', async () => {
    const channel = await connected()
    const to = { channel: 'discord', accountId: 'default', to: 'user:5999' }
    const outcome = await channel.send(to, { text: '@everyone look' }, { idempotencyKey: 'k', resent: false })
    expect(outcome.kind).toBe('sent')
    expect(api.ours()[0]).toMatchObject({ channel_id: '75999', content: '@everyone look' })
  })

  test('a person who has written to us is answered without asking Discord for the channel', async () => {
    const channel = await connected()
    api.write({ channel_id: '7001', author: people.alice, content: 'hello' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    const sent = await channel.send(
      received[0]!.address,
      { text: 'hi' },
      { idempotencyKey: 'k', resent: false },
    )
    expect(sent.kind).toBe('sent')
    expect(api.ours()[0]).toMatchObject({ channel_id: '7001' })
    expect(api.directsOpened).toBe(0)
  })

  test('a private channel is not written to by its id, as channel or as thread, also after its person has written', async () => {
    const channel = await connected()
    const options = { idempotencyKey: 'k', resent: false }
    const named = { channel: 'discord', accountId: 'default', to: '7001' }
    const refusal = { kind: 'refused', reason: '7001 is a private channel. Write to user:5010' }
    expect(await channel.send(named, { text: 'hi' }, options)).toEqual(refusal)
    expect(await channel.send({ ...named, to: '8001', threadId: '7001' }, { text: 'hi' }, options)).toEqual(
      refusal,
    )
    api.write({ channel_id: '7001', author: people.alice, content: 'hello' })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(await channel.send(named, { text: 'hi' }, options)).toEqual(refusal)
    expect(api.ours()).toEqual([])
    for (const place of ['group', 'thread'])
      expect(
        await channel.send(platform.address(place), { text: place }, { ...options, idempotencyKey: place }),
      ).toMatchObject({
        kind: 'sent',
      })
  })

  test('a link to a file elsewhere is not followed', async () => {
    await connected()
    const attachment = { id: '1', url: 'http://127.0.0.1:1/x', filename: 'x', size: 1 }
    api.write({ channel_id: '7001', author: people.alice, content: 'see', attachments: [attachment] })
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(received[0]!.untrusted?.[0]).toMatch(/not on a server of Discord/)
  })
})
