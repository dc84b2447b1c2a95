// The whole way, once for each channel: a person writes, the real Claude binary answers (from a script), the reply
// arrives in the right place, the transcript has both, and a restart in between loses nothing.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { ConsoleChannel } from '../src/channels/console.ts'
import type { WebOutput } from '../src/domain/channel.ts'
import { makeChannelHost } from '../src/flow/channel-host.ts'
import { connected, openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse, ChannelHouseOptions } from './support/channel-house.ts'
import { DiscordApi } from './support/discord-api.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'
import { WhatsappServer } from './support/whatsapp-server.ts'

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(options: ChannelHouseOptions): Promise<ChannelHouse> {
  const house = await openChannelHouse(options)
  closing.push(() => house.close())
  return house
}

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const waiting = { timeout: 30_000, interval: 20 }

/** Everything that was said in any transcript, as `user: …` and `assistant: …`. */
function transcripts(house: ChannelHouse): string {
  const folder = join(house.home.stateDir, 'agents', 'main', 'sessions')
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const lines = files.flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
  return lines
    .map((line) => JSON.parse(line) as { message?: { role: string; content: unknown } })
    .flatMap(({ message }) => (message ? [`${message.role}: ${JSON.stringify(message.content)}`] : []))
    .join('\n')
}

describe('Telegram', () => {
  const alice = { id: 501, name: 'Alice' }
  const bob = { id: 502, name: 'Bob' }
  const group = { id: -1001234, title: 'The group', forum: true }
  const topic = { message_thread_id: 77, is_topic_message: true }
  let telegram: TelegramApi
  let house: ChannelHouse

  beforeAll(async () => {
    telegram = await TelegramApi.listen()
    house = await openChannelHouse({
      allowedTools: ['Bash(ls:*)'],
      channels: {
        ownerAllowFrom: ['telegram:501'],
        telegram: {
          apiRoot: telegram.root,
          botToken: telegram.token,
          pollSeconds: 2,
          allowFrom: [501],
          groups: { '-1001234': {} },
        },
      },
    })
  })
  afterAll(async () => {
    await house.close()
    await telegram.close()
  })

  function write(text: string, more: Record<string, unknown> = {}): void {
    telegram.emit({ message: personMessage(telegram, alice, { id: 501 }, text, more) })
  }
  function mention(text: string): void {
    telegram.emit({ message: personMessage(telegram, bob, group, `@rock_pool_bot ${text}`, topic) })
  }
  const inTopic = () => telegram.shown.filter((one) => one.chat === group.id && one.thread === 77)

  test('in a topic of a group it answers a mention, and knows the messages before', async () => {
    house.api.script('what do you think', [{ text: 'I think **yes**.' }])
    telegram.emit({ message: personMessage(telegram, alice, group, 'shall we paint it blue?', topic) })
    mention('what do you think?')
    await vi.waitFor(
      () => expect(inTopic()).toMatchObject([{ text: 'I think yes.', formats: ['bold'] }]),
      waiting,
    )
    const [request] = house.api.requests.filter((one) => one.prompt.includes('what do you think'))
    expect(request!.prompt).toMatch(/Alice.*: shall we paint it blue\?/)
    const said = transcripts(house)
    expect(said).toMatch(/user: .*what do you think/)
    expect(said).toMatch(/assistant: .*I think \*\*yes\*\*/)
  })

  test('a person asks for a list of files: the agent uses its tool, the answer arrives, the transcript is right', async () => {
    writeFileSync(join(house.home.project, 'notes.md'), '# notes')
    writeFileSync(join(house.home.project, 'plan.txt'), 'plan')
    house.api.script('which files', [
      { text: 'Let me look.', tools: [{ name: 'Bash', input: { command: 'ls' } }] },
      { text: 'There are two: notes.md and plan.txt.' },
    ])
    write('which files are there?')
    await vi.waitFor(
      () => expect(telegram.shown.at(-1)?.text).toMatch(/two: notes\.md and plan\.txt/),
      waiting,
    )
    await vi.waitFor(() => expect(transcripts(house)).toMatch(/assistant: .*There are two/), waiting)
    const said = transcripts(house)
    expect(said).toMatch(/"type":"toolCall".*"name":"Bash"/)
    expect(said).toMatch(/toolResult: .*notes\.md/)
    // sessions.json follows the database a moment later.
    const index = (): unknown =>
      JSON.parse(readFileSync(join(house.home.stateDir, 'agents/main/sessions/sessions.json'), 'utf8'))
    const route = { lastChannel: 'telegram', lastTo: '501' }
    await vi.waitFor(
      () => expect(index()).toMatchObject({ 'agent:main:telegram:direct:501': route }),
      waiting,
    )
  })

  test('a picture is offered to the agent', async () => {
    house.api.script('what is this', [{ text: 'A picture.' }])
    const file_id = telegram.addFile('photos/p.png', Buffer.from(onePixel, 'base64'))
    const photo = [{ file_id, file_unique_id: 'u', width: 1, height: 1 }]
    write('', { caption: 'what is this?', photo })
    await vi.waitFor(() => expect(telegram.shown.at(-1)?.text).toBe('A picture.'), waiting)
    const asked = house.api.requests.find((one) => one.prompt.includes('what is this'))!
    expect(JSON.stringify(asked.body).includes('"type":"image"')).toBe(true)
  })

  test('a restart loses nothing, and an answer to an old message still goes to the conversation that it came from', async () => {
    house.api.script('remember blue', [{ text: 'I remember blue.' }])
    house.api.script('which colour', [{ text: 'It was blue.' }])
    house.api.script('and the door', [{ text: 'The door, too.' }])
    write('remember blue')
    await vi.waitFor(() => expect(telegram.shown.at(-1)?.text).toBe('I remember blue.'), waiting)
    const old = telegram.shown.at(-1)!
    write('/new')
    await vi.waitFor(() => expect(telegram.shown.at(-1)?.text).toMatch(/New session/i), waiting)

    const restarting = house.restart()
    mention('and the door?')
    await restarting
    await vi.waitFor(() => expect(inTopic().at(-1)?.text).toBe('The door, too.'), waiting)
    const again = house.api.requests.filter((one) => one.prompt.includes('and the door'))
    expect(again).toHaveLength(1)
    expect(again[0]!.text).toContain('I think **yes**')
    expect(inTopic()).toHaveLength(2)
    await vi.waitFor(() => expect(transcripts(house)).toMatch(/assistant: .*The door, too/), waiting)

    write('which colour was it?', {
      reply_to_message: { message_id: old.id, from: telegram.bot, text: old.text },
    })
    await vi.waitFor(() => expect(telegram.shown.at(-1)?.text).toBe('It was blue.'), waiting)
    const asked = house.api.requests.findLast((one) => one.prompt.includes('which colour'))!
    expect(asked.text).toContain('I remember blue.')
  })
})

test('Discord: in a thread it answers a mention, and a restart loses nothing', async () => {
  const discord = await DiscordApi.listen()
  closing.push(() => discord.close())
  discord.channels.set('8001', { id: '8001', type: 0, guild_id: '6001', name: 'general' })
  discord.channels.set('8002', {
    id: '8002',
    type: 11,
    guild_id: '6001',
    parent_id: '8001',
    name: 'a thread',
  })
  const house = await open({
    channels: { discord: { apiRoot: discord.root, token: discord.token, groups: { '6001': {} } } },
  })
  house.api.script('first question', [{ text: 'first **answer**' }])
  house.api.script('second question', [{ text: 'second answer' }])
  const write = (content: string): void => {
    const author = { id: '5010', username: 'alice' }
    discord.write({ channel_id: '8002', author, content: `<@9000> ${content}`, mentions: [discord.bot] })
  }
  await connected(house, 'discord')
  write('first question')
  await vi.waitFor(
    () => expect(discord.ours().at(-1)).toMatchObject({ content: 'first **answer**', channel_id: '8002' }),
    waiting,
  )
  const restarting = house.restart()
  write('second question')
  await restarting
  await vi.waitFor(
    () => expect(discord.ours().at(-1)).toMatchObject({ content: 'second answer', channel_id: '8002' }),
    waiting,
  )
  expect(house.api.requests.filter((one) => one.prompt.includes('second question'))).toHaveLength(1)
  expect(transcripts(house)).toMatch(/assistant: .*second answer/)
})

test('WhatsApp: linked by its QR code, it answers in a group, and a restart loses nothing', async () => {
  const server = await WhatsappServer.listen()
  closing.push(() => server.close())
  const house = await open({
    channels: { whatsapp: { waWebSocketUrl: server.url, groups: { [server.group]: {} } } },
  })
  house.api.script('first question', [{ text: 'first **answer**' }])
  house.api.script('second question', [{ text: 'second answer' }])
  const texts = (): string[] =>
    server.sent.map((one) => one.message.extendedTextMessage?.text ?? one.message.conversation ?? '')
  const write = (text: string): Promise<string> =>
    server.write(
      server.alice,
      {
        extendedTextMessage: {
          text: `@4915550001111 ${text}`,
          contextInfo: { mentionedJid: [server.account.pn] },
        },
      },
      { group: true },
    )
  const status = async () =>
    (
      (await house.ask('channels.status')) as {
        channels: Array<{ channel: string; state: string; needs?: { detail: string } }>
      }
    ).channels.find((one) => one.channel === 'whatsapp')!
  await vi.waitFor(async () => expect((await status()).needs?.detail).toMatch(/ref-1/), waiting)
  server.scan((await status()).needs!.detail)
  await vi.waitFor(async () => expect((await status()).state).toBe('connected'), waiting)
  await write('first question')
  await vi.waitFor(() => expect(texts()).toContain('first *answer*'), waiting)
  expect(server.sent.every((one) => one.to === server.group)).toBe(true)
  const restarting = house.restart()
  await write('second question')
  await restarting
  await vi.waitFor(() => expect(texts()).toContain('second answer'), waiting)
  expect(house.api.requests.filter((one) => one.prompt.includes('second question'))).toHaveLength(1)
  expect(transcripts(house)).toMatch(/user: .*first question[^]*assistant: .*second answer/)
})

test('the web page: what is written there is answered there', async () => {
  const house = await open({})
  house.api.script('from the page', [{ text: 'to the **page**' }])
  const outputs: WebOutput[] = []
  house.app.events.on((event) => event.type === 'web-output' && outputs.push(event.output))
  for (const _ of ['once', 'again']) {
    await house.ask('web.write', { chatId: 'me', messageId: 'm1', text: 'from the page' })
  }
  await vi.waitFor(() => {
    const shown = outputs.flatMap((one) => (one.type === 'typing' ? [] : [one.message.text]))
    expect(shown.at(-1)).toBe('to the **page**')
  }, waiting)
  expect(house.api.requests.filter((one) => one.prompt.includes('from the page'))).toHaveLength(1)
  expect(transcripts(house)).toMatch(/assistant: .*to the \*\*page\*\*/)
})

test('the console: a line in, an answer out', async () => {
  const house = await open({})
  house.api.script('from the console', [{ text: 'to the console' }])
  const [input, output] = [new PassThrough(), new PassThrough()]
  let printed = ''
  output.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const host = makeChannelHost({ ...house.app, takesMedia: async () => true })
  const channel = new ConsoleChannel({ input, output, user: 'me' }, host)
  await house.conversations.addChannel(channel)
  input.write('from the console\n')
  await vi.waitFor(() => expect(printed).toContain('to the console'), waiting)
})
