// The one contract that every channel keeps. A platform's own test brings a rig: the real library, pointed at a
// server on loopback that speaks the platform's language.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Address } from '../../src/domain/address.ts'
import type { Channel } from '../../src/domain/channel.ts'
import type { Message } from '../../src/domain/message.ts'
import type { TestHost } from './channel-host.ts'

export type Person = 'alice' | 'bob'
export type Place = 'direct' | 'group' | 'thread'

export interface Written {
  from: Person
  place: Place
  text: string
  /** Begin with a mention of us. */
  mention?: boolean
  /** Answer one of our messages. */
  replyTo?: string
  file?: { name: string; mimeType: string; bytes: Buffer }
  forwarded?: boolean
  /** The platform holds it back until `deliver`. */
  later?: boolean
}

/** One of our messages as people see it. */
export interface Shown {
  id: string
  to: string
  threadId?: string
  text: string
  formats: string[]
  replyTo?: string
  buttons: Array<{ label: string; data: string }>
  file?: { name: string; bytes: Buffer }
}

export type SendFault = 'rate-limit' | 'refuse' | 'cut-before' | 'cut-after' | 'server-error'

export interface Platform {
  people: Record<Person, string>
  address(place: Place, person?: Person): Address
  /** Resolves to the id that the platform gave to the message. */
  write(what: Written): Promise<string>
  /** Sends out what was held back, in this order, however often. */
  deliver(messageIds: string[]): void
  edit(messageId: string, what: Written): Promise<void>
  react(messageId: string, by: Person, emoji: string): Promise<void>
  press(shownId: string, data: string, by: Person): Promise<void>
  pressesAcknowledged(): number
  shown(): Shown[]
  typings(): number
  /** The next sends fail like this. */
  failSends(fault: SendFault, times?: number): void
  /** Open connections are cut; the server stays. */
  cut(): void
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

export type Feature =
  | 'several-people'
  /** People answer messages, and answers hang on them. */
  | 'replies'
  | 'groups'
  | 'threads'
  | 'edited'
  | 'reactions'
  | 'buttons'
  | 'media-in'
  | 'media-out'
  | 'forwarded'
  | 'network'
  /** What was not accepted is offered again by the platform. */
  | 'redelivery'

export interface Rig {
  host: TestHost
  platform: Platform
  /** A channel on this platform that is not started; a second one is as after a restart. */
  open(): Channel
  close(): Promise<void>
}

/** Runs the tests that apply to a platform with these features. */
export function channelContract(
  name: string,
  features: ReadonlySet<Feature>,
  makeRig: () => Promise<Rig>,
): void {
  describe(`the channel contract on ${name}`, () => {
    const it = contractTests(features, makeRig)
    receives(it)
    sends(it)
    fails(it)
    lasts(it)
  })
}

interface Running {
  rig: Rig
  platform: Platform
  channel: Channel
  received: Message[]
  /** Set by a test to refuse a message as a full disk would. */
  refuse: { times: number }
  next: (count?: number) => Promise<Message[]>
}

type ContractTest = (title: string, needs: Feature[], run: (at: Running) => Promise<void>) => void

function contractTests(features: ReadonlySet<Feature>, makeRig: () => Promise<Rig>): ContractTest {
  let rig: Rig
  let channel: Channel
  const received: Message[] = []
  const refuse = { times: 0 }
  beforeEach(async () => {
    rig = await makeRig()
    received.length = 0
    refuse.times = 0
    channel = rig.open()
    await channel.start(async (message) => {
      if (refuse.times > 0) {
        refuse.times -= 1
        throw new Error('the disk is full')
      }
      received.push(message)
    })
    await vi.waitFor(() => expect(channel.status().state).toBe('connected'), waiting)
  })
  afterEach(async () => {
    await channel.stop()
    await rig.close()
  })
  const next = async (count = 1): Promise<Message[]> => {
    await vi.waitFor(() => expect(received.length).toBeGreaterThanOrEqual(count), waiting)
    return received
  }
  return (title, needs, run) => {
    if (!needs.every((feature) => features.has(feature))) return
    test(title, () => run({ rig, platform: rig.platform, channel, received, refuse, next }))
  }
}

const waiting = { timeout: 15_000, interval: 5 }

function receives(it: ContractTest): void {
  it('a direct message arrives with the immutable id of its sender', [], async ({ platform, next }) => {
    const id = await platform.write({ from: 'alice', place: 'direct', text: 'hello' })
    const [message] = await next()
    expect(message!.id).toContain(id)
    expect(message).toMatchObject({
      event: 'message',
      text: 'hello',
      chatType: 'direct',
      mentioned: true,
    })
    expect(message!.sender.id).toBe(platform.people.alice)
    expect(message!.address).toEqual(platform.address('direct', 'alice'))
    expect(Math.abs(message!.sentAt - Date.now())).toBeLessThan(60_000)
  })

  it(
    'two people are told apart even when they write at the same moment',
    ['several-people'],
    async ({ platform, next }) => {
      await Promise.all([
        platform.write({ from: 'alice', place: 'direct', text: 'from alice' }),
        platform.write({ from: 'bob', place: 'direct', text: 'from bob' }),
      ])
      const messages = await next(2)
      for (const person of ['alice', 'bob'] as const) {
        const message = messages.find((one) => one.text === `from ${person}`)
        expect(message?.sender.id).toBe(platform.people[person])
        expect(message?.address).toEqual(platform.address('direct', person))
      }
    },
  )

  it('in a group it is told whether it was addressed', ['groups'], async ({ platform, next, channel }) => {
    await platform.write({ from: 'alice', place: 'group', text: 'just talking' })
    await platform.write({ from: 'bob', place: 'group', text: 'what do you think?', mention: true })
    const [first, second] = await next(2)
    expect(first).toMatchObject({ chatType: 'group', mentioned: false, text: 'just talking' })
    expect(second).toMatchObject({ chatType: 'group', mentioned: true })
    expect(second!.sender.id).toBe(platform.people.bob)
    expect(second!.address).toEqual(platform.address('group'))
    const sent = await channel.send(
      second!.address,
      { text: 'I think so' },
      { idempotencyKey: 'g', resent: false },
    )
    const ours = sent.kind === 'sent' ? sent.messageIds[0]! : ''
    await platform.write({ from: 'alice', place: 'group', text: 'really?', replyTo: ours })
    const [, , third] = await next(3)
    expect(third).toMatchObject({ mentioned: true, replyTo: { id: ours } })
  })

  it(
    'a thread has an address of its own, and the reply goes there',
    ['threads'],
    async ({ platform, next, channel }) => {
      await platform.write({ from: 'alice', place: 'thread', text: 'in the thread', mention: true })
      const [message] = await next()
      expect(message!.address).toEqual(platform.address('thread'))
      expect(message!.address.threadId).toBeDefined()
      await channel.send(message!.address, { text: 'also here' }, { idempotencyKey: 't', resent: false })
      expect(platform.shown().at(-1)).toMatchObject({
        text: 'also here',
        threadId: message!.address.threadId,
      })
    },
  )

  it('an edit has an id of its own and says what it is about', ['edited'], async ({ platform, next }) => {
    const written: Written = { from: 'alice', place: 'direct', text: 'helo' }
    const id = await platform.write(written)
    await next()
    await platform.edit(id, { ...written, text: 'hello' })
    const [first, edit] = await next(2)
    expect(edit).toMatchObject({ event: 'edit', text: 'hello', about: first!.id })
    expect(edit!.id).not.toBe(first!.id)
    expect(edit!.sender.id).toBe(platform.people.alice)
  })

  it('an answer says which message it answers', ['replies'], async ({ platform, next, channel }) => {
    const to = platform.address('direct', 'alice')
    const sent = await channel.send(to, { text: 'Shall I?' }, { idempotencyKey: 'q', resent: false })
    const ours = sent.kind === 'sent' ? sent.messageIds[0]! : ''
    await platform.write({ from: 'alice', place: 'direct', text: 'yes', replyTo: ours })
    const [message] = await next()
    expect(message!.replyTo).toMatchObject({ id: ours })
  })

  it('a file is kept under a name of ours', ['media-in'], async ({ platform, next, rig }) => {
    const bytes = Buffer.from('89504e470d0a1a0a0000', 'hex')
    const file = { name: '../../x.sh', mimeType: 'image/png', bytes }
    await platform.write({ from: 'alice', place: 'direct', text: 'look', file })
    const [message] = await next()
    expect(message!.text).toBe('look')
    const [media] = message!.media
    expect(media).toMatchObject({ mimeType: 'image/png', kind: 'image', bytes: bytes.length })
    expect(readFileSync(media!.path)).toEqual(bytes)
    expect(dirname(media!.path)).toBe(join(rig.host.mediaFolder, 'inbound'))
    expect(basename(media!.path)).toMatch(/^[0-9a-f-]{36}\.png$/)
  })

  it('files of a stranger are not fetched', ['media-in'], async ({ platform, next, rig }) => {
    rig.host.takes = false
    const file = { name: 'big.bin', mimeType: 'application/zip', bytes: Buffer.from('PK') }
    await platform.write({ from: 'bob', place: 'direct', text: 'take this', file })
    const [message] = await next()
    expect(message).toMatchObject({ text: 'take this', media: [] })
  })

  it('a command arrives as its words', [], async ({ platform, next }) => {
    await platform.write({ from: 'alice', place: 'direct', text: '/new opus please' })
    const [message] = await next()
    expect(message!.text).toBe('/new opus please')
  })

  it('a button press carries its data and its presser, and is acknowledged', ['buttons'], async (at) => {
    const { platform, next, channel } = at
    const to = platform.address('direct', 'alice')
    const buttons = [
      [
        { label: 'Allow', data: 'approve:17:once' },
        { label: 'Deny', data: 'approve:17:no' },
      ],
    ]
    const sent = await channel.send(to, { text: 'Run it?', buttons }, { idempotencyKey: 'b', resent: false })
    const ours = sent.kind === 'sent' ? sent.messageIds[0]! : ''
    expect(platform.shown().at(-1)!.buttons).toEqual(buttons.flat())
    await platform.press(ours, 'approve:17:once', 'alice')
    const [press] = await next()
    expect(press).toMatchObject({ event: 'button', button: { data: 'approve:17:once', messageId: ours } })
    expect(press!.sender.id).toBe(platform.people.alice)
    expect(press!.address).toEqual(to)
    await channel.acknowledgeButton!(press!, 'Allowed')
    expect(platform.pressesAcknowledged()).toBe(1)
    await channel.send(to, { text: 'Done', replyToId: press!.id }, { idempotencyKey: 'b2', resent: false })
    expect(platform.shown().at(-1)).toMatchObject({ text: 'Done', replyTo: ours })
  })

  it('a reaction says who, what and on which message', ['reactions'], async ({ platform, next, channel }) => {
    const to = platform.address('direct', 'alice')
    const sent = await channel.send(to, { text: 'Done' }, { idempotencyKey: 'r', resent: false })
    const ours = sent.kind === 'sent' ? sent.messageIds[0]! : ''
    await platform.react(ours, 'alice', '👍')
    const [reaction] = await next()
    expect(reaction).toMatchObject({ event: 'reaction', text: '👍', about: ours })
    expect(reaction!.sender.id).toBe(platform.people.alice)
  })

  it('a forwarded text is marked as one', ['forwarded'], async ({ platform, next }) => {
    await platform.write({ from: 'alice', place: 'direct', text: '/approve 17', forwarded: true })
    const [message] = await next()
    expect(message!.forwarded).toBe(true)
  })
}

function sends(it: ContractTest): void {
  const key = (idempotencyKey: string, resent = false) => ({ idempotencyKey, resent })

  it('Markdown is shown in the formatting of the platform', [], async ({ platform, channel }) => {
    const to = platform.address('direct', 'alice')
    const outcome = await channel.send(to, { text: 'This is **bold** & <plain>' }, key('f'))
    expect(outcome.kind).toBe('sent')
    const shown = platform.shown().at(-1)!
    expect(shown.to).toBe(to.to)
    if (channel.abilities.formatting === 'html') {
      expect(shown).toMatchObject({ text: 'This is bold & <plain>', formats: ['bold'] })
    } else expect(shown.text.replaceAll('*', '')).toBe('This is bold & <plain>')
  })

  it('text over the limit becomes several messages in order', [], async ({ platform, channel }) => {
    const limit = Math.min(channel.abilities.maxTextLength, 5_000)
    const words = Array.from(
      { length: Math.ceil((limit * 2.5) / 8) },
      (_, n) => `w${String(n).padStart(6, '0')}`,
    )
    const to = platform.address('direct', 'alice')
    const outcome = await channel.send(to, { text: words.join(' ') }, key('long'))
    const shown = platform.shown()
    expect(outcome.kind === 'sent' && outcome.messageIds).toEqual(shown.map((one) => one.id))
    expect(
      shown
        .map((one) => one.text)
        .join(' ')
        .split(/\s+/),
    ).toEqual(words)
    for (const one of shown) expect(one.text.length).toBeLessThanOrEqual(channel.abilities.maxTextLength)
  })

  it('a reply hangs on the message that it answers', ['replies'], async ({ platform, channel, next }) => {
    await platform.write({ from: 'alice', place: 'direct', text: 'question' })
    const [message] = await next()
    await channel.send(message!.address, { text: 'answer', replyToId: message!.id }, key('re'))
    expect(platform.shown().at(-1)).toMatchObject({ text: 'answer', replyTo: message!.id })
  })

  it('a message that was sent can be replaced, as often as needed', [], async ({ platform, channel }) => {
    if (!channel.abilities.edits) return expect('edit' in channel).toBe(false)
    const to = platform.address('direct', 'alice')
    const sent = await channel.send(to, { text: 'One' }, key('e'))
    const id = sent.kind === 'sent' ? sent.messageIds[0]! : ''
    for (const text of ['One two', 'One two three', 'One two three']) {
      expect(await channel.edit!(to, id, { text })).toMatchObject({ kind: 'sent' })
    }
    expect(platform.shown()).toHaveLength(1)
    expect(platform.shown()[0]).toMatchObject({ id, text: 'One two three' })
  })

  it('typing is shown where there is such a thing', [], async ({ platform, channel }) => {
    if (!channel.abilities.typing) return expect('typing' in channel).toBe(false)
    await channel.typing!(platform.address('direct', 'alice'))
    await vi.waitFor(() => expect(platform.typings()).toBe(1), waiting)
  })

  it(
    'a file from the media folder is sent with its words',
    ['media-out'],
    async ({ platform, channel, rig }) => {
      const path = mediaFile(rig, 'chart.txt', 'a chart')
      const to = platform.address('direct', 'alice')
      expect(await channel.send(to, { text: 'Here', media: [path] }, key('m'))).toMatchObject({
        kind: 'sent',
      })
      const shown = platform.shown()
      expect(shown.map((one) => one.text).join('')).toContain('Here')
      expect(shown.at(-1)!.file).toMatchObject({ name: 'chart.txt', bytes: Buffer.from('a chart') })
    },
  )

  it('a file outside of the media folder stays here, also behind a link', ['media-out'], async (at) => {
    const { platform, channel, rig } = at
    mkdirSync(rig.host.mediaFolder, { recursive: true })
    const link = join(rig.host.mediaFolder, 'link.txt')
    symlinkSync('/etc/passwd', link)
    const to = platform.address('direct', 'alice')
    const attempts = ['/etc/passwd', link, '~/.ssh/id_rsa', 'file:///etc/passwd', '\\\\host\\share', '']
    for (const path of attempts) {
      const outcome = await channel.send(to, { text: 'x', media: [path] }, key(`steal-${path}`))
      expect(outcome).toMatchObject({ kind: 'refused' })
    }
    expect(platform.shown()).toEqual([])
  })

  it('what the platform refuses is refused for good', ['network'], async ({ platform, channel }) => {
    platform.failSends('refuse')
    const to = platform.address('direct', 'alice')
    expect(await channel.send(to, { text: 'x' }, key('no'))).toMatchObject({ kind: 'refused' })
  })

  it(
    'a rate limit is obeyed, and nothing overtakes in that chat',
    ['network'],
    async ({ platform, channel }) => {
      platform.failSends('rate-limit')
      const to = platform.address('direct', 'alice')
      const outcomes = []
      for (const text of ['first', 'second']) {
        for (;;) {
          const outcome = await channel.send(to, { text }, key(text))
          outcomes.push(outcome.kind)
          if (outcome.kind !== 'retry') break
          // Not every platform says how long.
          const { retryAfterMs = 20 } = outcome
          expect(retryAfterMs).toBeGreaterThan(0)
          await new Promise((resolve) => setTimeout(resolve, retryAfterMs))
        }
      }
      expect(outcomes[0]).toBe('retry')
      expect(outcomes.at(-1)).toBe('sent')
      expect(platform.shown().map((one) => one.text)).toEqual(['first', 'second'])
    },
  )

  it(
    'a lost answer is never called a failure, and a second try is one message or is marked',
    ['network'],
    async (at) => {
      const { platform, channel } = at
      const to = platform.address('direct', 'alice')
      platform.failSends('cut-after')
      const first = await channel.send(to, { text: 'once' }, key('lost'))
      expect(['unknown', 'sent']).toContain(first.kind)
      if (first.kind !== 'sent') {
        const again = () => channel.send(to, { text: 'once' }, key('lost', true))
        await vi.waitFor(async () => expect((await again()).kind).toBe('sent'), waiting)
      }
      const texts = platform.shown().map((one) => one.text)
      if (channel.abilities.idempotentSend) expect(texts).toEqual(['once'])
      else {
        expect(texts.filter((text) => text === 'once')).toHaveLength(1)
        expect(texts.filter((text) => text.includes('resent'))).toHaveLength(texts.length - 1)
      }
    },
  )
}

function fails(it: ContractTest): void {
  for (const fault of ['cut-before', 'server-error'] as const) {
    it(
      `a send that fails by ${fault} is no refusal, and the next try arrives once`,
      ['network'],
      async (at) => {
        const { platform, channel } = at
        const to = platform.address('direct', 'alice')
        platform.failSends(fault)
        const first = await channel.send(to, { text: 'once' }, { idempotencyKey: fault, resent: false })
        expect(['unknown', 'retry']).toContain(first.kind)
        const again = () =>
          channel.send(to, { text: 'once' }, { idempotencyKey: fault, resent: first.kind === 'unknown' })
        await vi.waitFor(async () => expect((await again()).kind).toBe('sent'), waiting)
        expect(platform.shown().map((one) => one.text.replace(/^\(resent.*\)\n/, ''))).toEqual(['once'])
      },
    )
  }

  it('what comes out of order and twice all arrives, each under its own id', ['network'], async (at) => {
    const { platform, next, received } = at
    const hold = (text: string) => platform.write({ from: 'alice', place: 'direct', text, later: true })
    const [one, two] = [await hold('one'), await hold('two')]
    platform.deliver([two, one, two])
    await next(2)
    await vi.waitFor(
      () => expect(new Set(received.map(({ text }) => text))).toEqual(new Set(['one', 'two'])),
      waiting,
    )
    const ids = new Map(received.map(({ text, id }) => [text, id]))
    for (const { text, id } of received) expect(id).toBe(ids.get(text))
    expect(ids.get('one')).not.toBe(ids.get('two'))
  })
}

function lasts(it: ContractTest): void {
  it('its status says who it is, and listeners hear of changes', [], async ({ channel }) => {
    const status = channel.status()
    expect(status).toMatchObject({ channel: channel.name, accountId: channel.accountId, state: 'connected' })
    const heard: string[] = []
    channel.onStatus((one) => heard.push(one.state))
    await channel.stop()
    expect(heard.at(-1)).toBe('stopped')
  })

  it('while the platform is gone it says so and tries again', ['network'], async ({ channel, platform }) => {
    const heard: string[] = []
    channel.onStatus((one) => heard.push(`${one.state} ${one.lastError ?? ''}`))
    await platform.goDown()
    await vi.waitFor(() => expect(heard.join()).toMatch(/reconnecting \w/), waiting)
    await platform.comeBack()
    await vi.waitFor(() => expect(channel.status().state).toBe('connected'), waiting)
  })

  it(
    'after a cut connection it comes back and has missed nothing',
    ['network'],
    async ({ platform, next, channel }) => {
      platform.cut()
      await platform.write({ from: 'alice', place: 'direct', text: 'are you there?' })
      const [message] = await next()
      expect(message!.text).toBe('are you there?')
      await vi.waitFor(() => expect(channel.status().state).toBe('connected'), waiting)
    },
  )

  it(
    'a message that could not be stored is offered again',
    ['redelivery'],
    async ({ platform, next, refuse }) => {
      refuse.times = 2
      await platform.write({ from: 'alice', place: 'direct', text: 'one' })
      await platform.write({ from: 'alice', place: 'direct', text: 'two' })
      const texts = (await next(2)).map((message) => message.text)
      expect([...new Set(texts)]).toEqual(['one', 'two'])
    },
  )

  it(
    'after stop nothing arrives, and a new start receives what came meanwhile',
    ['redelivery'],
    async (at) => {
      const { platform, channel, received, rig, next } = at
      await platform.write({ from: 'alice', place: 'direct', text: 'before' })
      await next()
      await channel.stop()
      await platform.write({ from: 'alice', place: 'direct', text: 'meanwhile' })
      expect(received.splice(0).map((one) => one.text)).toEqual(['before'])
      const again = rig.open()
      await again.start(async (message) => void received.push(message))
      await vi.waitFor(() => expect(received.map((one) => one.text)).toEqual(['meanwhile']), waiting)
      await again.stop()
    },
  )

  it('stop waits for a message that is just being stored', [], async ({ platform, channel, rig }) => {
    await channel.stop()
    const slow = rig.open()
    const stored: string[] = []
    let began = false
    await slow.start(async (message) => {
      began = true
      await new Promise((resolve) => setTimeout(resolve, 50))
      stored.push(message.text)
    })
    await vi.waitFor(() => expect(slow.status().state).toBe('connected'), waiting)
    await platform.write({ from: 'alice', place: 'direct', text: 'slowly' })
    await vi.waitFor(() => expect(began).toBe(true), waiting)
    await slow.stop()
    expect(stored).toEqual(['slowly'])
  })
}

function mediaFile(rig: Rig, name: string, text: string): string {
  const folder = join(rig.host.mediaFolder, 'sessions', 'x')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
