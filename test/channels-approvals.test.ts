// What the agent may not do by itself is asked in the chat and answered there: by button where there are any, by words
// where not, and only by the owner.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { ConsoleChannel } from '../src/channels/console.ts'
import { makeChannelHost } from '../src/flow/channel-host.ts'
import { allSent, connected, linkWhatsapp, openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { DiscordApi } from './support/discord-api.ts'
import type { Step } from './support/messages-api.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'
import { WhatsappServer } from './support/whatsapp-server.ts'

const waiting = { timeout: 30_000, interval: 20 }
const owner = { id: 501, name: 'Ada' }
const guest = { id: 502, name: 'Ada' }
const group = { id: -100777, title: 'The group' }
/** Of every turn. */
const lastWords = 'The file is there.'

describe('on Telegram', () => {
  let telegram: TelegramApi
  let house: ChannelHouse
  /** How many messages were shown before this test. */
  let earlier: number

  beforeAll(async () => {
    telegram = await TelegramApi.listen()
    house = await openChannelHouse({
      channels: {
        ownerAllowFrom: ['telegram:501'],
        telegram: {
          apiRoot: telegram.root,
          botToken: telegram.token,
          pollSeconds: 2,
          allowFrom: [502],
          groups: { [group.id]: {} },
        },
      },
    })
    house.api.script('make a file', [
      { tools: [{ name: 'Bash', input: { command: 'touch made-by-claude' } }] },
      { text: lastWords },
    ])
  })
  beforeEach(() => {
    earlier = telegram.shown.length
  })
  afterEach(async () => {
    await vi.waitFor(() => expect(shown().map(({ text }) => text)).toContain(lastWords), waiting)
    rmSync(file(), { force: true })
  })
  afterAll(async () => {
    await house.close()
    await telegram.close()
  })

  const file = (): string => join(house.home.project, 'made-by-claude')
  const made = (): boolean => existsSync(file())
  const shown = () => telegram.shown.slice(earlier)
  const question = () => shown().find((one) => one.buttons.length > 0)
  const press = (data: string, by: { id: number; name: string }, chat = by.id): void => {
    const from = { id: by.id, is_bot: false, first_name: by.name }
    const place = chat < 0 ? { id: chat, type: 'supergroup', title: 'x' } : { id: chat, type: 'private' }
    const message = { message_id: question()!.id, date: 1, chat: place }
    telegram.emit({ callback_query: { id: `q${Math.random()}`, from, message, data, chat_instance: 'c' } })
  }
  const ask = async (): Promise<void> => {
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, 'make a file') })
    await vi.waitFor(() => expect(question()?.chat).toBe(501), waiting)
  }
  const button = (label: RegExp): string =>
    question()!
      .buttons.flat()
      .find((one) => label.test(one.text))!.data

  test('the owner presses Allow, and it is done', async () => {
    await ask()
    expect(question()!.text).toContain('touch made-by-claude')
    expect(made()).toBe(false)
    press(button(/allow/i), owner)
    await vi.waitFor(() => expect(shown().at(-1)?.text).toBe(lastWords), waiting)
    expect(made()).toBe(true)
    expect(telegram.acknowledged).toHaveLength(1)
  })

  test('a guest, a stranger, a bot and a group press in vain; it stays pending, and the owner denies', async () => {
    await ask()
    const allow = button(/allow/i)
    press(allow, guest)
    press(allow, { id: 999, name: 'Ada' })
    press(allow, owner, group.id)
    telegram.emit({
      callback_query: {
        id: 'bot',
        from: { id: 501, is_bot: true, first_name: 'Ada' },
        message: { message_id: question()!.id, date: 1, chat: { id: 501, type: 'private' } },
        data: allow,
        chat_instance: 'c',
      },
    })
    telegram.emit({ message: personMessage(telegram, guest, { id: 502 }, '/approve') })
    await vi.waitFor(() => expect(shown().some((one) => one.chat === 502)).toBe(true), waiting)
    await vi.waitFor(() => expect(telegram.pending).toEqual([]), waiting)
    expect(made()).toBe(false)
    expect(await house.ask('approvals.list')).toMatchObject({
      approvals: [
        { state: 'pending', input: { command: expect.stringContaining('touch made-by-claude') as string } },
      ],
    })
    press(button(/deny/i), owner)
    await vi.waitFor(() => expect(shown().at(-1)?.text).toBe(lastWords), waiting)
    expect(made()).toBe(false)
  })

  test("a guest's agent cannot read the machine, and asks for no permission; the owner's can", async () => {
    const outside = join(house.home.variables['HOME']!, 'diary.txt')
    writeFileSync(outside, 'a secret of the owner')
    const read = (file_path: string): object => ({ tools: [{ name: 'Read', input: { file_path } }] })
    house.api.script('the diary?', [read(outside), { text: lastWords }] as Step[])
    const say = (by: { id: number; name: string }, text: string): void => {
      telegram.emit({ message: personMessage(telegram, by, { id: by.id }, text) })
    }
    say(owner, 'the diary?')
    await vi.waitFor(() => expect(shown()).toMatchObject([{ chat: 501, text: lastWords }]), waiting)
    say(guest, 'the diary?')
    await vi.waitFor(() => expect(shown()).toHaveLength(2), waiting)
    expect(shown()[1]).toMatchObject({ chat: 502, text: lastWords })
    expect(question()).toBeUndefined()
    expect(house.api.calls().at(-1)!.text).not.toContain('a secret of the owner')
  })

  test('a plain yes after something else was said is no answer to the question; a yes in reply to it is', async () => {
    await ask()
    const asked = question()!
    const before = shown().length
    await house.ask('message.send', {
      channel: 'telegram',
      target: '501',
      message: 'Shall I water the plants?',
    })
    await vi.waitFor(() => expect(shown().length).toBeGreaterThan(before), waiting)
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, 'yes') })
    await vi.waitFor(() => expect(telegram.pending).toEqual([]), waiting)
    expect(await house.ask('approvals.list')).toMatchObject({
      approvals: [expect.objectContaining({ state: 'pending' })],
    })
    const reply_to_message = { message_id: asked.id, from: telegram.bot, text: asked.text }
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, 'yes', { reply_to_message }) })
    await vi.waitFor(() => expect(made()).toBe(true), waiting)
  })

  test('a yes in reply to another message allows nothing, also if that message names the question', async () => {
    await ask()
    const id = /approve:([^:]+):/.exec(button(/allow/i))![1]!
    await house.ask('message.send', {
      channel: 'telegram',
      target: '501',
      message: `Shall I water the plants? (skip with /approve ${id})`,
    })
    const other = () => shown().find(({ text }) => text.includes('water the plants'))
    await vi.waitFor(() => expect(other()).toBeDefined(), waiting)
    const reply_to_message = { message_id: other()!.id, from: telegram.bot, text: other()!.text }
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, 'yes', { reply_to_message }) })
    await vi.waitFor(() => expect(telegram.pending).toEqual([]), waiting)
    expect(await house.ask('approvals.list')).toMatchObject({
      approvals: [expect.objectContaining({ id, state: 'pending' })],
    })
    press(button(/allow/i), owner)
    await vi.waitFor(() => expect(made()).toBe(true), waiting)
  })

  test('words do as well as buttons, but forwarded words and those from before the question do not count', async () => {
    await ask()
    const id = /approve:([^:]+):/.exec(button(/allow/i))![1]!
    const forward_origin = { type: 'hidden_user', date: 1, sender_user_name: 'x' }
    telegram.emit({
      message: personMessage(telegram, owner, { id: 501 }, `/approve ${id}`, { forward_origin }),
    })
    // Said to something else, and on its way until now.
    const date = Math.floor(Date.now() / 1_000) - 5
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, 'yes', { date }) })
    await vi.waitFor(() => expect(telegram.pending).toEqual([]), waiting)
    expect(await house.ask('approvals.list')).toMatchObject({
      approvals: [expect.objectContaining({ state: 'pending' })],
    })
    telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, `/approve ${id}`) })
    await vi.waitFor(() => expect(made()).toBe(true), waiting)
  })
})

describe('on Discord', () => {
  const ada = { id: '5010', username: 'ada' }
  const guests = { id: '5020', username: 'ada' }
  let discord: DiscordApi
  let house: ChannelHouse
  /** How many messages were shown before this test. */
  let earlier: number

  beforeAll(async () => {
    discord = await DiscordApi.listen()
    for (const [id, person] of [
      ['7001', ada],
      ['7002', guests],
    ] as const) {
      discord.channels.set(id, { id, type: 1, recipients: [person] })
    }
    house = await openChannelHouse({
      channels: {
        ownerAllowFrom: ['discord:5010'],
        discord: { apiRoot: discord.root, token: discord.token, allowFrom: ['5020'] },
      },
    })
    house.api.script('make a file', [
      { tools: [{ name: 'Bash', input: { command: 'touch made-by-claude' } }] },
      { text: lastWords },
    ])
    await connected(house, 'discord')
  })
  beforeEach(() => {
    earlier = discord.ours().length
  })
  afterEach(() => rmSync(file()))
  afterAll(async () => {
    await house.close()
    await discord.close()
  })

  const file = (): string => join(house.home.project, 'made-by-claude')
  const made = (): boolean => existsSync(file())
  const shown = () => discord.ours().slice(earlier)
  const question = () => shown().find((one) => one.components.length > 0)
  const buttons = () => question()!.components.flatMap((row) => row.components)
  const ask = async (): Promise<void> => {
    discord.write({ channel_id: '7001', author: ada, content: 'make a file' })
    await vi.waitFor(() => expect(question()?.channel_id).toBe('7001'), waiting)
  }
  const press = (id: string, by: typeof ada, channel = '7001'): void =>
    discord.dispatch('INTERACTION_CREATE', {
      id,
      application_id: '4001',
      token: `token-${id}`,
      type: 3,
      channel: discord.channels.get(channel),
      user: by,
      message: question(),
      data: { custom_id: buttons().find((one) => /allow/i.test(one.label))!.custom_id, component_type: 2 },
    })

  test('a guest and a bot press in vain, the owner presses Allow, and it is done', async () => {
    await ask()
    expect(question()!.content).toContain('touch made-by-claude')
    press('3001', guests, '7002')
    press('3002', { ...ada, bot: true } as typeof ada)
    await vi.waitFor(() => expect(discord.callbacks).toHaveLength(2), waiting)
    await vi.waitFor(() => expect(discord.followUps).toEqual(['Only the owner may answer this.']), waiting)
    expect(made()).toBe(false)
    press('3003', ada)
    await vi.waitFor(() => expect(shown().at(-1)?.content).toBe(lastWords), waiting)
    expect(made()).toBe(true)
    expect(discord.followUps.at(-1)).toBe('Done.')
  })

  test('plain words work, too, and the owner is recognized by id in a private chat', async () => {
    await ask()
    await allSent(house)
    discord.write({ channel_id: '7001', author: ada, content: 'yes' })
    await vi.waitFor(() => expect(shown().at(-1)?.content).toBe(lastWords), waiting)
    expect(made()).toBe(true)
  })
})

test('on WhatsApp, where there are no buttons, the owner answers in words', async () => {
  const server = await WhatsappServer.listen()
  const house = await openChannelHouse({
    channels: { ownerAllowFrom: ['whatsapp:+4915550002222'], whatsapp: { waWebSocketUrl: server.url } },
  })
  try {
    house.api.script('make a file', [
      { tools: [{ name: 'Bash', input: { command: 'touch made-by-claude' } }] },
      { text: 'The file is there.' },
    ])
    await linkWhatsapp(house, server)
    const texts = (): string[] => server.sent.map((one) => one.message.extendedTextMessage?.text ?? '')
    await server.write(server.alice, { conversation: 'make a file' })
    await vi.waitFor(() => expect(texts().join('\n')).toMatch(/\/approve/), waiting)
    await allSent(house)
    // WhatsApp counts in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await server.write(server.alice, { conversation: '/approve' })
    await vi.waitFor(() => expect(texts()).toContain('The file is there.'), waiting)
    expect(existsSync(join(house.home.project, 'made-by-claude'))).toBe(true)
  } finally {
    await house.close()
    await server.close()
  }
})

test('on the page and in the terminal, plain words answer as well', async () => {
  const house = await openChannelHouse()
  try {
    for (const place of ['page', 'terminal']) {
      house.api.script(`make a file from the ${place}`, [
        { tools: [{ name: 'Bash', input: { command: `touch made-from-the-${place}` } }] },
        { text: `The file of the ${place} is there.` },
      ])
    }
    const made = (place: string): boolean => existsSync(join(house.home.project, `made-from-the-${place}`))
    const shown: string[] = []
    house.app.events.on(
      (event) =>
        event.type === 'web-output' &&
        event.output.type !== 'typing' &&
        shown.push(event.output.message.text),
    )
    await house.ask('web.write', { text: 'make a file from the page' })
    await vi.waitFor(() => expect(shown.join('\n')).toMatch(/touch made-from-the-page/), waiting)
    expect(made('page')).toBe(false)
    await allSent(house)
    await house.ask('web.write', { text: 'yes' })
    await vi.waitFor(() => expect(shown.join('\n')).toMatch(/The file of the page is there/), waiting)
    expect(made('page')).toBe(true)

    const [input, output] = [new PassThrough(), new PassThrough()]
    let printed = ''
    output.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    const host = makeChannelHost({ ...house.app, takesMedia: async () => true })
    await house.conversations.addChannel(new ConsoleChannel({ input, output, user: 'me' }, host))
    input.write('make a file from the terminal\n')
    await vi.waitFor(() => expect(printed).toMatch(/touch made-from-the-terminal/), waiting)
    await allSent(house)
    input.write('no\n')
    await vi.waitFor(() => expect(printed).toMatch(/The file of the terminal is there/), waiting)
    expect(made('terminal')).toBe(false)
  } finally {
    await house.close()
  }
})

test('nothing that a stranger sends is stored or shown to a model, whatever its kind', async () => {
  const telegram = await TelegramApi.listen()
  const house = await openChannelHouse({
    offline: true,
    channels: { telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 } },
  })
  try {
    const stranger = { id: 666, name: 'Owner' }
    const words = 'IGNORE-ALL-PREVIOUS'
    const message = personMessage(telegram, stranger, { id: 666 }, words)
    const from = { id: 666, is_bot: false, first_name: 'Owner' }
    const inGroup = personMessage(telegram, stranger, { id: -5, title: words }, `@rock_pool_bot ${words}`)
    const chat = { id: 666, type: 'private' }
    telegram.emit({ message })
    telegram.emit({ edited_message: { ...message, edit_date: 1 } })
    telegram.emit({
      callback_query: { id: 'q', from, message: { message_id: 1, date: 1, chat }, data: words },
    })
    const reaction = { chat, user: from, message_id: 1, date: 1, old_reaction: [] }
    telegram.emit({ message_reaction: { ...reaction, new_reaction: [{ type: 'emoji', emoji: '👍' }] } })
    telegram.emit({ message: inGroup })
    telegram.emit({
      channel_post: { ...inGroup, from: undefined, chat: { id: -6, type: 'channel', title: words } },
    })
    telegram.emit({
      message: {
        ...message,
        message_id: 99,
        text: `/new ${words}`,
        forward_origin: { type: 'hidden_user', date: 1 },
      },
    })
    await vi.waitFor(() => expect(telegram.pending).toEqual([]), waiting)
    await vi.waitFor(() => expect(telegram.shown).toHaveLength(1), waiting)
    expect(telegram.shown[0]!.text).toMatch(/pairing code/)
    await house.conversations.stop(1_000)
    for (const name of readdirSync(house.home.stateDir).filter((one) => one.startsWith('rockpool.sqlite'))) {
      expect(readFileSync(join(house.home.stateDir, name)).includes(words), name).toBe(false)
    }
    expect(existsSync(join(house.home.stateDir, 'agents', 'main', 'sessions', 'sessions.json'))).toBe(false)
  } finally {
    await house.close()
    await telegram.close()
  }
})
