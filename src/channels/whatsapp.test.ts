import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { proto } from 'baileys'
import { channelContract } from '../../test/support/channel-contract.ts'
import type { Feature, Platform, Rig, Written } from '../../test/support/channel-contract.ts'
import { testHost } from '../../test/support/channel-host.ts'
import type { TestHost } from '../../test/support/channel-host.ts'
import { WhatsappServer } from '../../test/support/whatsapp-server.ts'
import type { Message } from '../domain/message.ts'
import { openSecretStore } from '../store/sqlite/secret-store.ts'
import { silenceLibsignal } from './whatsapp-library.ts'
import { WhatsappChannel } from './whatsapp.ts'

const people = { alice: '+4915550002222', bob: '+4915550003333' }

class WhatsappPlatform implements Platform {
  readonly people = people
  #server: WhatsappServer

  constructor(server: WhatsappServer) {
    this.#server = server
  }

  address(place: string, person: 'alice' | 'bob' = 'alice') {
    return {
      channel: 'whatsapp',
      accountId: 'default',
      to: place === 'direct' ? people[person] : this.#server.group,
    }
  }

  async write(what: Written): Promise<string> {
    const message = what.file
      ? await this.#server.media.messageWith(what.file, what.text)
      : this.#content(what)
    const options = { group: what.place === 'group', later: what.later ?? false }
    return this.#server.write(this.#server[what.from], message, options)
  }

  deliver(messageIds: string[]): void {
    for (const id of messageIds) this.#server.deliver(id)
  }

  async edit(messageId: string, what: Written): Promise<void> {
    const { from } = what
    const key = { remoteJid: this.#server[from].jid, fromMe: true, id: messageId }
    const editedMessage = this.#content(what)
    const type = proto.Message.ProtocolMessage.Type.MESSAGE_EDIT
    await this.#server.write(this.#server[from], { protocolMessage: { key, type, editedMessage } })
  }

  async react(messageId: string, by: 'alice' | 'bob', text: string): Promise<void> {
    const key = { remoteJid: this.#server.account.pn, fromMe: false, id: messageId }
    await this.#server.write(this.#server[by], {
      reactionMessage: { key, text, senderTimestampMs: Date.now() },
    })
  }

  shown() {
    const shown = this.#server.sent.filter((one) => !one.message.protocolMessage)
    return shown.map((one) => {
      const text = textOf(this.#latest(one.id) ?? one.message)
      const replyTo = one.message.extendedTextMessage?.contextInfo?.stanzaId
      const to = one.to.endsWith('@g.us') ? one.to : `+${one.to.split('@')[0]}`
      const file = one.file && { file: one.file }
      return { id: one.id, to, text, formats: [], buttons: [], ...(replyTo ? { replyTo } : {}), ...file }
    })
  }

  failSends(fault: string): void {
    if (fault === 'refuse') this.#server.faults.push({ kind: 'refuse', code: '463' })
    if (fault === 'rate-limit') this.#server.faults.push({ kind: 'refuse', code: '429' })
    if (fault === 'server-error') this.#server.faults.push({ kind: 'refuse', code: '503' })
    if (fault === 'cut-before' || fault === 'cut-after') this.#server.faults.push({ kind: fault })
  }

  typings = (): number => this.#server.presences
  press = (): Promise<void> => Promise.reject(new Error('WhatsApp has no buttons for us'))
  pressesAcknowledged = (): number => 0
  cut = (): void => this.#server.cutAll()
  goDown = (): Promise<void> => this.#server.goDown()
  comeBack = (): Promise<void> => this.#server.open()

  #latest(id: string): proto.IMessage | undefined {
    const edits = this.#server.sent.filter((one) => one.message.protocolMessage?.key?.id === id)
    return edits.at(-1)?.message.protocolMessage?.editedMessage ?? undefined
  }

  #content(what: Written): proto.IMessage {
    const mention = what.mention ? '@4915550001111 ' : ''
    const contextInfo = {
      ...(what.mention ? { mentionedJid: [this.#server.account.pn] } : {}),
      ...(what.replyTo ? { stanzaId: what.replyTo, participant: this.#server.account.pn } : {}),
      ...(what.forwarded ? { isForwarded: true } : {}),
    }
    return { extendedTextMessage: { text: mention + what.text, contextInfo } }
  }
}

function textOf(message: proto.IMessage): string {
  return message.extendedTextMessage?.text ?? message.conversation ?? ''
}

const features = new Set<Feature>([
  'several-people',
  'replies',
  'groups',
  'edited',
  'reactions',
  'media-in',
  'media-out',
  'forwarded',
  'network',
  'redelivery',
])

channelContract('WhatsApp', features, async (): Promise<Rig> => {
  const server = await WhatsappServer.listen()
  const host = testHost()
  await link(server, host)
  return {
    host,
    platform: new WhatsappPlatform(server),
    open: () => openChannel(server, host),
    close: async () => {
      await server.close()
      host.close()
    },
  }
})

function openChannel(server: WhatsappServer, host: TestHost): WhatsappChannel {
  return new WhatsappChannel({ accountId: 'default', waWebSocketUrl: server.url }, host)
}

/** A device that is linked. Pairing makes hundreds of keys, so it is done once, and each test gets a copy. */
async function link(server: WhatsappServer, host: TestHost): Promise<void> {
  linked ??= pairOnce()
  const { device, credentials } = await linked
  server.device = device
  cpSync(credentials, join(host.folder, 'credentials'), { recursive: true })
}

let linked: ReturnType<typeof pairOnce> | undefined
afterAll(async () => linked && (await linked).host.close())

async function pairOnce() {
  const server = await WhatsappServer.listen()
  const host = testHost()
  await pair(server, host)
  const { device } = server
  await server.close()
  return { host, device, credentials: join(host.folder, 'credentials') }
}

/** As a person would: the QR code is shown, the phone scans it. */
async function pair(server: WhatsappServer, host: TestHost): Promise<void> {
  const channel = openChannel(server, host)
  channel.onStatus((status) => status.needs?.kind === 'qr' && server.scan(status.needs.detail))
  await channel.start(async () => {})
  await vi.waitFor(() => expect(channel.status().state).toBe('connected'), { timeout: 15_000, interval: 5 })
  await channel.stop()
}

describe('WhatsApp', () => {
  let server: WhatsappServer
  let host: TestHost
  const channels: WhatsappChannel[] = []
  const received: Message[] = []
  const accept = async (message: Message): Promise<void> => void received.push(message)
  beforeEach(async () => {
    server = await WhatsappServer.listen()
    host = testHost()
    received.length = 0
  })
  afterEach(async () => {
    for (const channel of channels.splice(0)) await channel.stop()
    await server.close()
    host.close()
  })
  const open = (): WhatsappChannel => {
    const channel = openChannel(server, host)
    channels.push(channel)
    return channel
  }
  const connected = async (): Promise<WhatsappChannel> => {
    const channel = open()
    await channel.start(accept)
    await vi.waitFor(() => expect(channel.status().state).toBe('connected'), { timeout: 15_000, interval: 5 })
    return channel
  }

  test('a new link shows a QR code, and after the scan says whose phone it is', async () => {
    const channel = open()
    await channel.start(accept)
    await vi.waitFor(() => expect(channel.status().needs?.kind).toBe('qr'), { timeout: 10_000 })
    const qr = channel.status().needs!.detail
    expect(qr).toMatch(/ref-1/)
    server.scan(qr)
    await vi.waitFor(() => expect(channel.status().state).toBe('connected'), { timeout: 15_000 })
    expect(channel.status()).toMatchObject({ identity: { id: '+4915550001111' } })
    expect(channel.status().needs).toBeUndefined()
  })

  test('unlinked on the phone, it forgets its keys and shows a new QR code', async () => {
    await link(server, host)
    const channel = await connected()
    server.unlink()
    await vi.waitFor(() => expect(channel.status().needs?.kind).toBe('qr'), { timeout: 15_000 })
  })

  test('what came while we were away is taken, but nothing that is old', async () => {
    await link(server, host)
    const hour = 3_600_000
    await server.write(server.alice, { conversation: 'an hour ago' }, { at: Date.now() - hour })
    await server.write(server.alice, { conversation: 'a minute ago' }, { at: Date.now() - 60_000 })
    await connected()
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['a minute ago']), {
      timeout: 10_000,
    })
  })

  test('a message that comes late, after one that was written later, is taken', async () => {
    await link(server, host)
    await connected()
    await server.write(server.alice, { conversation: 'now' })
    await vi.waitFor(() => expect(received).toHaveLength(1), { timeout: 10_000 })
    await channels.pop()!.stop()
    await server.write(server.alice, { conversation: 'a minute ago' }, { at: Date.now() - 60_000 })
    await connected()
    await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['now', 'a minute ago']), {
      timeout: 10_000,
    })
  })

  /** An earlier version named a row by the id of the message alone. */
  async function renameRows(folder: string): Promise<void> {
    const store = openSecretStore(folder, 'whatsapp-default')
    for (const name of store.keys('received-')) {
      const id = name.split(' ').at(-1)
      await store.set({ [name]: undefined, [`received-${id}`]: store.get(name) })
    }
    await store.close()
  }

  test.each([
    ['a crash', async () => {}],
    ['an update', renameRows],
  ])(
    'a message is on disk before WhatsApp gets its confirmation, and is processed after %s',
    async (_why, change) => {
      await link(server, host)
      const hangs = open()
      let offered = 0
      const gate = Promise.withResolvers<void>()
      await hangs.start(() => {
        offered += 1
        return gate.promise
      })
      await vi.waitFor(() => expect(hangs.status().state).toBe('connected'), { timeout: 15_000 })
      await server.write(server.alice, { conversation: 'in private' })
      await server.write(server.bob, { conversation: 'in the group' }, { group: true })
      await vi.waitFor(() => expect(offered).toBe(2), { timeout: 10_000 })
      await vi.waitFor(() => expect(server.unconfirmed).toBe(0), { timeout: 10_000 })
      // As after a kill: what is on disk, and nothing else.
      const folder = mkdtempSync(join(tmpdir(), 'rockpool-killed-'))
      cpSync(join(host.folder, 'credentials'), folder, { recursive: true })
      await change(folder)
      const after = { ...testHost(), secrets: (name: string) => openSecretStore(folder, name) }
      const next = openChannel(server, after)
      await next.start(accept)
      await vi.waitFor(() => expect(received).toHaveLength(2), { timeout: 15_000 })
      expect(received.find((one) => one.chatType === 'direct')).toMatchObject({
        text: 'in private',
        sender: { id: people.alice, name: 'Alice' },
      })
      expect(received.find((one) => one.chatType === 'group')).toMatchObject({
        text: 'in the group',
        sender: { id: people.bob },
        group: { title: 'The group' },
      })
      await next.stop()
      const store = openSecretStore(folder, 'whatsapp-default')
      expect(store.keys('received-')).toEqual([])
      await store.close()
      gate.resolve()
      after.close()
      rmSync(folder, { recursive: true })
    },
  )

  test('a message with the id of another that waits adds nothing to it, and does not end it', async () => {
    await link(server, host)
    const hangs = open()
    const offered: Message[] = []
    const gate = Promise.withResolvers<void>()
    await hangs.start((message) => {
      offered.push(message)
      return message.chatType === 'direct' ? gate.promise : Promise.resolve()
    })
    await vi.waitFor(() => expect(hangs.status().state).toBe('connected'), { timeout: 15_000 })
    // The sender of a message chooses its id.
    const id = await server.write(server.alice, { conversation: 'from Alice' })
    await vi.waitFor(() => expect(offered).toHaveLength(1), { timeout: 10_000 })
    await server.write(server.bob, { conversation: 'from Bob' }, { id })
    await server.write(server.bob, { conversation: 'from Bob, in the group' }, { id, group: true })
    await vi.waitFor(() => expect(offered).toHaveLength(3), { timeout: 10_000 })
    await vi.waitFor(() => expect(server.unconfirmed).toBe(0), { timeout: 10_000 })
    const folder = mkdtempSync(join(tmpdir(), 'rockpool-killed-'))
    cpSync(join(host.folder, 'credentials'), folder, { recursive: true })
    gate.resolve()
    const after = { ...testHost(), secrets: (name: string) => openSecretStore(folder, name) }
    const next = openChannel(server, after)
    await next.start(accept)
    await vi.waitFor(() => expect(received.length).toBeGreaterThan(0), { timeout: 15_000 })
    await next.stop()
    const said = received.map(({ sender, text }) => `${sender.id}: ${text}`)
    expect(said.sort()).toEqual([`${people.alice}: from Alice`, `${people.bob}: from Bob`])
    after.close()
    rmSync(folder, { recursive: true })
  })

  test('what a group is called comes with its messages', async () => {
    await link(server, host)
    await connected()
    await server.write(server.bob, { conversation: 'hello all' }, { group: true })
    await vi.waitFor(() => expect(received).toHaveLength(1), { timeout: 10_000 })
    expect(received[0]).toMatchObject({
      group: { title: 'The group' },
      sender: { id: people.bob, name: 'Alice' },
    })
  })

  const picture = { name: 'p.png', mimeType: 'image/png', bytes: Buffer.from('89504e470d0a1a0a', 'hex') }

  test('a message that names another host for its file is not followed there', async () => {
    await link(server, host)
    await connected()
    const message = await server.media.messageWith(picture, 'look')
    const honest = message.imageMessage!.directPath!
    for (const [directPath, url] of [
      [`@127.0.0.1:1/x`, 'https://127.0.0.1:1/x'],
      ['', 'https://169.254.169.254/latest/meta-data'],
      [honest, 'https://127.0.0.1:1/x'],
    ] as const) {
      await server.write(server.alice, { imageMessage: { ...message.imageMessage, directPath, url } })
    }
    await vi.waitFor(() => expect(received).toHaveLength(3), { timeout: 10_000 })
    for (const refused of received.slice(0, 2)) {
      expect(refused.media).toEqual([])
      expect(refused.untrusted?.[0]).toMatch(/not on a server of WhatsApp/)
    }
    expect(received[2]!.media).toHaveLength(1)
    expect(server.media.asked).toEqual([`GET ${honest}`])
  })

  test('a second file that hides in a message is not asked for, wherever it is', async () => {
    await link(server, host)
    await connected()
    const asked: string[] = []
    const inside = createServer((request, response) => {
      asked.push(request.url!)
      response.end()
    })
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/admin`
    const message = await server.media.messageWith(picture, 'look')
    const hidden = { ...message.imageMessage, directPath: undefined, url }
    await server.write(server.alice, { ...message, buttonsMessage: { imageMessage: hidden } })
    await server.write(server.alice, {
      ...message,
      templateMessage: { hydratedTemplate: { imageMessage: hidden } },
    })
    await vi.waitFor(() => expect(received).toHaveLength(2), { timeout: 10_000 })
    inside.close()
    expect(asked).toEqual([])
    expect(received.map(({ media }) => media[0]?.bytes)).toEqual([picture.bytes.length, picture.bytes.length])
  })

  test('a voice note and a document with words are kept, each as what it is', async () => {
    await link(server, host)
    await connected()
    const voice = { name: '', mimeType: 'audio/ogg; codecs=opus', bytes: Buffer.from('OggS-voice') }
    const letter = { name: '../../letter.pdf', mimeType: 'application/pdf', bytes: Buffer.from('%PDF-1.4') }
    await server.write(server.alice, await server.media.messageWith(voice, ''))
    await server.write(server.alice, await server.media.messageWith(letter, 'please read'))
    await vi.waitFor(() => expect(received).toHaveLength(2), { timeout: 10_000 })
    expect(received[0]!.media[0]).toMatchObject({ kind: 'audio', bytes: voice.bytes.length })
    expect(received[1]).toMatchObject({
      text: 'please read',
      media: [{ kind: 'file', mimeType: 'application/pdf', name: 'letter.pdf' }],
    })
  })

  test('a command over the limit is shown word for word in each of its messages', async () => {
    await link(server, host)
    const channel = await connected()
    const address = { channel: 'whatsapp', accountId: 'default', to: people.alice }
    const lines = Array.from({ length: 600 }, (_, n) => `rm *old* ${n}`)
    for (const command of [lines.join('\n'), lines.join('; ')]) {
      const before = server.sent.length
      const text = `Your agent wants to run:\n\`\`\`\n${command}\n\`\`\`\n\nAnswer yes or no`
      await channel.send(address, { text }, { idempotencyKey: command, resent: false })
      const sent = server.sent.slice(before).map(({ message }) => message.extendedTextMessage!.text!)
      expect(sent.length).toBeGreaterThan(1)
      const inCode = sent.flatMap((one) => [...one.matchAll(/```([^`]*)```/g)].map(([, code]) => code!))
      expect(inCode).toHaveLength(sent.length)
      const words = (shown: string): string[] => shown.split(/\s+/).filter((word) => word !== '')
      expect(words(inCode.join('\n'))).toEqual(words(command))
    }
  })

  test('a file that WhatsApp does not take now is sent later, once', async () => {
    await link(server, host)
    const channel = await connected()
    const folder = join(host.mediaFolder, 'sessions', 'x')
    mkdirSync(folder, { recursive: true })
    const path = join(folder, 'p.png')
    writeFileSync(path, picture.bytes)
    const send = () =>
      channel.send(
        { channel: 'whatsapp', accountId: 'default', to: people.alice },
        { media: [path] },
        { idempotencyKey: 'f', resent: false },
      )
    server.media.refusals = 1
    expect(await send()).toMatchObject({ kind: 'retry', reason: 'WhatsApp did not take the file' })
    expect(await send()).toMatchObject({ kind: 'sent' })
    expect(server.sent.map((one) => one.file)).toEqual([
      { name: '', mimeType: 'image/png', bytes: picture.bytes },
    ])
  })

  test('the library under Baileys writes keys to the console; none of it gets there', () => {
    const lines: unknown[][] = []
    const write = (...words: unknown[]): void => void lines.push(words)
    const fake = { info: write, warn: write, error: write } as unknown as Console
    silenceLibsignal(fake)
    silenceLibsignal(fake)
    fake.info('Closing session:', { privKey: 'secret' })
    fake.error('Session error:Error', 'secret')
    fake.info('something of ours')
    expect(lines).toEqual([['something of ours']])
  })

  test('the keys are in a file for us alone', async () => {
    await link(server, host)
    const { statSync } = await import('node:fs')
    const file = `${host.folder}/credentials/whatsapp-default.sqlite`
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
