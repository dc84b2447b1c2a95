// Setting up channels, letting people in and sending by hand, as an operator does it.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toString } from 'qrcode'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { commands } from '../src/cli/channels-add.ts'
import type { Host } from '../src/cli/host.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { makeClaudeHome } from './support/claude-home.ts'
import { DiscordApi } from './support/discord-api.ts'
import { startProgram } from './support/program.ts'
import type { Ran } from './support/program.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'
import { WhatsappServer } from './support/whatsapp-server.ts'

const waiting = { timeout: 20_000, interval: 20 }
let telegram: TelegramApi
let house: ChannelHouse
const alice = { id: 501, name: 'Alice' }

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  house = await openChannelHouse({
    offline: true,
    channels: { telegram: { apiRoot: telegram.root, pollSeconds: 2 } },
  })
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const says = (text: string): void => {
  telegram.emit({ message: personMessage(telegram, alice, { id: alice.id }, text) })
}
const add = () => house.ask('channels.add', { channel: 'telegram', token: telegram.token })
const connected = () =>
  vi.waitFor(async () => expect(await stateOf(house, 'telegram')).toBe('connected'), waiting)

test('a bot is added by its token, which is checked, kept for us alone, and shown nowhere', async () => {
  const before = (await house.ask('channels.status')) as { channels: Array<Record<string, unknown>> }
  expect(before.channels[0]).toMatchObject({ channel: 'telegram', state: 'failed', needs: { kind: 'token' } })
  const added = await add()
  expect(added).toMatchObject({ identity: { name: '@rock_pool_bot' } })
  expect((added['next'] as string[]).join()).toMatch(/pairing approve/)
  await connected()
  const file = join(house.home.stateDir, 'credentials', 'telegram-default.token')
  expect(readFileSync(file, 'utf8').trim()).toBe(telegram.token)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  for (const name of ['channels.list', 'channels.status']) {
    expect(JSON.stringify(await house.ask(name))).not.toContain(telegram.token)
  }
  expect(await house.ask('channels.test', { channel: 'telegram' })).toMatchObject({ ok: true })
  const { probes } = await house.ask('status', { deep: true })
  expect(probes).toContainEqual(expect.objectContaining({ channel: 'telegram', ok: true }))
})

test('a wrong token changes nothing, and a token of nonsense is not even asked about', async () => {
  const wrong = '111111111:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
  await expect(house.ask('channels.add', { channel: 'telegram', token: wrong })).rejects.toMatchObject({
    code: 'unauthorized',
    message: expect.not.stringContaining(wrong),
  })
  await expect(house.ask('channels.add', { channel: 'telegram', token: 'hello' })).rejects.toMatchObject({
    code: 'input-invalid',
  })
  expect(
    readdirSync(house.home.stateDir).includes('credentials')
      ? readdirSync(join(house.home.stateDir, 'credentials'))
      : [],
  ).not.toContain('telegram-default.token')
})

test('an owner in the configuration stays the only one, whoever is paired first', async () => {
  writeFileSync(
    join(house.home.stateDir, 'rockpool.json'),
    JSON.stringify({ claude: { credential: 'none' }, channels: { ownerAllowFrom: ['telegram:42'] } }),
  )
  await house.restart()
  const guest = { channel: 'telegram', accountId: 'default', senderId: '501' }
  const { code } = (await house.app.storage.people.request(guest)) as { code: string }
  expect(await house.ask('pairing.approve', { code })).toMatchObject({ person: { owner: false } })
})

test('an answer for a chat of a channel that is not set up is refused before the agent is asked', async () => {
  const deliver = { deliver: true, channel: 'discord', to: '5' }
  for (const operation of ['turns.run', 'turns.send']) {
    await expect(house.ask(operation, { message: 'hello', ...deliver })).rejects.toMatchObject({
      code: 'not-found',
      message: 'discord (default) is not set up.',
    })
  }
  await expect(
    house.ask('turns.run', { message: 'hello', ...deliver, channel: 'telegram' }),
  ).rejects.toMatchObject({ code: 'not-found', message: expect.stringContaining('token') as string })
  expect(await house.app.storage.work.lanes.history()).toEqual([])
})

test('the owner writes faster than guests may; a message of the page that is refused has no id', async () => {
  const channels = { messagesPerMinute: 1, ownerMessagesPerMinute: 2 }
  writeFileSync(
    join(house.home.stateDir, 'rockpool.json'),
    JSON.stringify({ claude: { credential: 'none' }, channels }),
  )
  await house.restart()
  const write = (messageId: string) => house.ask('web.write', { text: 'hello', messageId })
  expect(await write('m1')).toEqual({ messageId: 'm1' })
  expect(await write('m2')).toEqual({ messageId: 'm2' })
  await expect(write('m3')).rejects.toMatchObject({
    code: 'rate-limited',
    hint: expect.stringMatching(/^Send it again in \d+ s\./) as string,
  })
})

test('a stranger gets a code, is let in with it, and then is answered', async () => {
  await add()
  await connected()
  says('hello?')
  await vi.waitFor(() => expect(telegram.shown.at(-1)?.text).toMatch(/pairing code is/))
  says('hello??')
  const { pending } = (await house.ask('pairing.list')) as { pending: Array<{ code: string }> }
  expect(pending).toHaveLength(1)
  expect(await house.ask('pairing.approve', { code: pending[0]!.code })).toMatchObject({
    person: { senderId: '501', owner: true },
  })
  says('now?')
  await vi.waitFor(() => expect(telegram.shown.at(-1)?.text).toMatch(/\(offline\)[\s\S]*now\?/), {
    timeout: 10_000,
  })
  expect(telegram.shown.filter((one) => /pairing code/.test(one.text))).toHaveLength(1)
  await house.ask('pairing.remove', { channel: 'telegram', senderId: '501' })
  await expect(house.ask('pairing.remove', { channel: 'telegram', senderId: '501' })).rejects.toMatchObject({
    code: 'not-found',
  })
  expect(await house.ask('pairing.list')).toMatchObject({ people: [] })
})

test('a message by hand goes out with everything that was asked for', async () => {
  await add()
  const file = join(house.home.root, 'chart.txt')
  writeFileSync(file, 'a chart')
  const sent = await house.ask('message.send', {
    channel: 'telegram',
    target: '-100777',
    message: 'See **this**',
    media: file,
    replyTo: '12',
    threadId: '7',
  })
  expect(sent).toMatchObject({ state: 'sent', channel: 'telegram', target: '-100777' })
  expect(telegram.shown[0]).toMatchObject({
    chat: -100777,
    thread: 7,
    replyTo: 12,
    text: 'See this',
    formats: ['bold'],
  })
  expect(telegram.shown[1]!.file).toMatchObject({ name: 'chart.txt', bytes: Buffer.from('a chart') })
  expect(sent['messageIds']).toEqual(telegram.shown.map((one) => String(one.id)))
})

test('a message that the platform refuses for good is said to be refused, and so is a bad target', async () => {
  await expect(
    house.ask('message.send', { channel: 'telegram', target: '-rf', message: 'x' }),
  ).rejects.toMatchObject({ code: 'input-invalid' })
  await add()
  telegram.fault('sendMessage', { kind: 'error', code: 403, description: 'Forbidden: bot was blocked' })
  await expect(
    house.ask('message.send', { channel: 'telegram', target: '501', message: 'x' }),
  ).rejects.toMatchObject({ code: 'refused', message: expect.stringMatching(/bot was blocked/) })
})

test('without a gateway a message goes straight to the platform', async () => {
  await add()
  delete house.app.gateway
  const sent = await house.ask('message.send', { channel: 'telegram', target: '501', message: 'direct' })
  expect(sent).toMatchObject({ state: 'sent' })
  await expect(
    house.ask('message.send', { channel: 'discord', target: '501', message: 'x' }),
  ).rejects.toMatchObject({ code: 'not-found' })
})

test('another process with other folders does not receive for a bot that is received for', async () => {
  await add()
  await connected()
  const other = makeClaudeHome({ apiUrl: house.api.url, name: 'second' })
  const config = { channels: { telegram: { apiRoot: telegram.root, botToken: telegram.token } } }
  writeFileSync(join(other.stateDir, 'rockpool.json'), JSON.stringify(config), { mode: 0o600 })
  expect(other.variables['TMPDIR']).not.toBe(house.home.variables['TMPDIR'])
  const second = startProgram(['up', '--port', '0', '--json'], other.variables)
  try {
    await second.line
    await vi.waitFor(async () => {
      const status = startProgram(['channels', 'status', '--json'], other.variables)
      expect((await status.ended).json()['channels']).toContainEqual(
        expect.objectContaining({
          state: 'failed',
          lastError: expect.stringMatching(/in use by another process/),
        }),
      )
    }, waiting)
    expect(await stateOf(house, 'telegram')).toBe('connected')
  } finally {
    second.child.kill()
    await second.ended
    other.remove()
  }
})

test('a channel that is removed stops at once and forgets its token', async () => {
  await add()
  await connected()
  expect(await house.ask('channels.remove', { channel: 'telegram' })).toMatchObject({
    removed: true,
    note: expect.stringMatching(/remove `channels.telegram` from/),
  })
  await expect(house.ask('channels.remove', { channel: 'discord' })).rejects.toMatchObject({
    code: 'not-found',
  })
  await expect(
    house.ask('message.send', { channel: 'telegram', target: '501', message: 'x' }),
  ).rejects.toMatchObject({ code: 'not-found' })
  const polls = telegram.callsOf('getUpdates').length
  says('anybody?')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(telegram.callsOf('getUpdates').length).toBeLessThanOrEqual(polls + 1)
  expect(readdirSync(join(house.home.stateDir, 'credentials'))).not.toContain('telegram-default.token')
})

test('the command line takes the token from stdin and says what to do next', async () => {
  const nowhere = await command(['channels', 'add', 'telegram', '--token-file', '/nowhere'], '')
  expect([nowhere.code, nowhere.stderr]).toEqual([
    3,
    expect.stringMatching(/cannot be read from "\/nowhere"/),
  ])
  const out = await command(['channels', 'add', 'telegram'], `${telegram.token}\n`)
  expect(out.code).toBe(0)
  expect(out.stdout).toMatch(/telegram is set up as @rock_pool_bot/)
  expect(out.stdout).toMatch(/1\. Start the gateway/)
  expect(out.stderr).toMatch(/BotFather/)
  expect(out.stdout + out.stderr).not.toContain(telegram.token)
  const list = await command(['channels', 'list'], '')
  expect(list.stdout).toMatch(/telegram\s+default\s+not running.*credentials/)
  expect((await command(['channels', 'test', 'telegram'], '')).stdout).toMatch(/^It works as @rock_pool_bot/)
})

test('a message is sent from the command line with every flag', async () => {
  await add()
  const file = join(house.home.root, 'chart.txt')
  writeFileSync(file, 'a chart')
  const flags = ['--target', '-100777', '-m', 'See **this**', '--media', file, '--account', 'default']
  const places = ['--channel', 'telegram', '--reply-to', '12', '--thread-id', '7', '--json']
  const sent = await command(['message', 'send', ...flags, ...places], '')
  expect(sent.json()).toMatchObject({ state: 'sent', channel: 'telegram', target: '-100777' })
  expect(telegram.shown[0]).toMatchObject({ chat: -100777, thread: 7, replyTo: 12, text: 'See this' })
  expect(telegram.shown[1]!.file).toMatchObject({ name: 'chart.txt' })
})

test('a bot on Discord is added by its token, and says what to do next', async () => {
  const discord = await DiscordApi.listen()
  const other = await openChannelHouse({ offline: true, channels: { discord: { apiRoot: discord.root } } })
  try {
    await expect(
      other.ask('channels.add', { channel: 'discord', token: `${discord.token}x` }),
    ).rejects.toMatchObject({ code: 'unauthorized' })
    const added = await other.ask('channels.add', { channel: 'discord', token: discord.token })
    expect(added).toMatchObject({ identity: { id: '9000', name: 'rockpool' } })
    expect((added['next'] as string[]).join()).toMatch(/Invite rockpool to a server/)
    await vi.waitFor(async () => expect(await stateOf(other, 'discord')).toBe('connected'), waiting)
    const file = join(other.home.stateDir, 'credentials', 'discord-default.token')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  } finally {
    await other.close()
    await discord.close()
  }
})

test('WhatsApp shows its QR code in the terminal until a phone has scanned it', async () => {
  const server = await WhatsappServer.listen()
  const other = await openChannelHouse({
    offline: true,
    channels: { whatsapp: { waWebSocketUrl: server.url } },
  })
  try {
    let printed = ''
    const app = Object.assign(Object.create(other.app) as typeof other.app, { close: async () => {} })
    const host = {
      environment: other.app.environment,
      terminal: { err: (text: string) => void (printed += text) },
      now: () => Date.now(),
      openApp: async () => app,
    } as unknown as Host
    const adding = commands[0]!.run(host, { channel: 'whatsapp', account: 'default' }, false)
    await vi.waitFor(() => expect(printed).toMatch(/Scan this code with the phone/), waiting)
    const channel = other.conversations.channels.find(({ name }) => name === 'whatsapp')!
    const code = channel.status().needs!.detail
    expect(printed).toMatch(/Linked devices/)
    expect(printed).toContain(await toString(code, { type: 'utf8' }))
    server.scan(code)
    expect(await adding).toMatchObject({ channel: 'whatsapp' })
  } finally {
    await other.close()
    await server.close()
  }
})

async function stateOf(at: ChannelHouse, channel: string): Promise<string | undefined> {
  const { channels } = (await at.ask('channels.status')) as {
    channels: Array<{ channel: string; state: string }>
  }
  return channels.find((one) => one.channel === channel)?.state
}

/** The real program, as a person starts it. */
function command(args: string[], stdin: string): Promise<Ran> {
  return startProgram(args, house.home.variables, stdin).ended
}
