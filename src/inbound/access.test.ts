import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AccessPolicy } from '../domain/access.ts'
import { channelsConfig } from '../domain/config/channel-settings.ts'
import type { ChannelsConfig } from '../domain/config/channel-settings.ts'
import type { Message, MessageEvent } from '../domain/message.ts'
import type { Database } from '../store/sqlite/database.ts'
import { SqlitePeople } from '../store/sqlite/people.ts'
import { openStateDatabase } from '../store/sqlite/state-database.ts'
import { makeAccessPolicy } from './admit.ts'

let folder: string
let database: Database
let pairing: SqlitePeople
let config: ChannelsConfig
let policy: AccessPolicy
let now = 0
const clock = { now: () => now, monotonic: () => now, after: () => () => {} }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-access-'))
  database = openStateDatabase(join(folder, 'x.sqlite'))
  pairing = new SqlitePeople(database, clock)
  now = 1_000_000
  use({})
})
afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

function use(value: unknown): void {
  config = channelsConfig.parse(value)
  policy = makeAccessPolicy({ config: () => config, pairing, clock })
}

function message(senderId: string, more: Partial<Message> = {}): Message {
  return {
    id: '1',
    event: 'message',
    address: { channel: 'telegram', accountId: 'default', to: senderId },
    chatType: 'direct',
    sender: { id: senderId, name: 'Alice', username: 'alice' },
    text: 'hello',
    sentAt: now,
    mentioned: true,
    media: [],
    ...more,
  }
}

const inGroup = (senderId: string, to: string, more: Partial<Message> = {}): Message =>
  message(senderId, {
    chatType: 'group',
    address: { channel: 'telegram', accountId: 'default', to },
    ...more,
  })

async function pair(senderId: string): Promise<void> {
  const access = await policy.check(message(senderId))
  const code = access.kind === 'refused' ? /code is (\w+)/.exec(access.say ?? '')?.[1] : undefined
  await pairing.approve(code!, { mayMakeOwner: true })
}

const everyEvent: MessageEvent[] = ['message', 'edit', 'button', 'reaction', 'command']

describe('in private', () => {
  test('a stranger gets one code and reaches nothing, by no kind of event', async () => {
    for (const event of everyEvent) {
      const access = await policy.check(message('7', { event }))
      expect(access).toMatchObject({ kind: 'refused', reason: 'not-paired' })
      expect('say' in access).toBe(event === 'message')
      expect(policy.decide(message('7', { event }))).toMatchObject({ kind: 'refused' })
    }
    expect(await policy.check(message('7'))).not.toHaveProperty('say')
  })

  test('a stranger who presses a button gets no code at all', async () => {
    for (const event of ['button', 'reaction', 'edit'] as const) {
      expect(await policy.check(message('9', { event }))).toEqual({ kind: 'refused', reason: 'not-paired' })
    }
    expect(await pairing.pending()).toEqual([])
  })

  test('a person who is approved while their message is being processed gets no second code', async () => {
    await policy.check(message('501'))
    const [approved, checked] = await Promise.all([
      pairing.approve((await pairing.pending())[0]!.code, { mayMakeOwner: true }),
      policy.check(message('501', { id: '2' })),
    ])
    expect(approved.senderId).toBe('501')
    expect(checked).toMatchObject({ kind: 'allowed', owner: true })
    expect(await pairing.pending()).toEqual([])
  })

  test('after the pairing everything is allowed, and the first one is the owner', async () => {
    await pair('7')
    await pair('8')
    for (const event of everyEvent) {
      expect(await policy.check(message('7', { event }))).toMatchObject({ kind: 'allowed', owner: true })
      expect(await policy.check(message('8', { event }))).toMatchObject({ kind: 'allowed', owner: false })
    }
  })

  test("names are not trusted: a person with the owner's name is refused", async () => {
    await pair('7')
    const twin = message('77', { sender: { id: '77', name: 'Alice', username: 'alice' } })
    expect(await policy.check(twin)).toMatchObject({ kind: 'refused' })
  })

  test('an id is compared as a whole, and an empty one matches no one', async () => {
    use({ telegram: { dmPolicy: 'allowlist', allowFrom: ['15551234'] } })
    for (const id of ['5551234', '155512345', '', ' ', '1555123']) {
      expect((await policy.check(message(id))).kind, id).toBe('refused')
    }
    expect(await policy.check(message('15551234'))).toMatchObject({ kind: 'allowed', owner: false })
  })

  test('a bot is never answered, even one on the list', async () => {
    use({ telegram: { allowFrom: ['7'] } })
    expect(await policy.check(message('7', { sender: { id: '7', isBot: true } }))).toMatchObject({
      reason: 'not-a-person',
    })
  })

  test('`open` needs the star, and `disabled` closes the door for all', async () => {
    use({ telegram: { dmPolicy: 'open' } })
    expect((await policy.check(message('7'))).kind).toBe('refused')
    use({ telegram: { dmPolicy: 'open', allowFrom: ['*'] } })
    expect(await policy.check(message('7'))).toMatchObject({ kind: 'allowed', owner: false })
    use({ telegram: { dmPolicy: 'disabled', allowFrom: ['7'] }, ownerAllowFrom: ['telegram:7'] })
    expect(await policy.check(message('7'))).toMatchObject({ reason: 'closed' })
  })

  test('an owner is named with the platform', async () => {
    use({ ownerAllowFrom: ['telegram:7'] })
    expect(await policy.check(message('7'))).toMatchObject({ kind: 'allowed', owner: true })
    const elsewhere = message('7', { address: { channel: 'discord', accountId: 'default', to: '7' } })
    expect((await policy.check(elsewhere)).kind).toBe('refused')
  })

  test('what is decided for one account does not hold for another', async () => {
    use({ telegram: { accounts: { home: { allowFrom: ['7'] }, work: {} } } })
    const at = (accountId: string) => message('7', { address: { channel: 'telegram', accountId, to: '7' } })
    expect((await policy.check(at('home'))).kind).toBe('allowed')
    expect((await policy.check(at('work'))).kind).toBe('refused')
  })
})

describe('in groups', () => {
  test('only listed groups, and only when addressed unless it says otherwise', async () => {
    use({
      telegram: { groups: { '-100': {}, '-200': { requireMention: false }, '-300': { enabled: false } } },
    })
    expect(await policy.check(inGroup('7', '-100'))).toEqual({
      kind: 'allowed',
      owner: false,
      byMember: false,
      byOwner: false,
      requireMention: true,
    })
    expect(await policy.check(inGroup('7', '-200'))).toMatchObject({ requireMention: false })
    expect(await policy.check(inGroup('7', '-300'))).toMatchObject({ reason: 'group-not-allowed' })
    expect(await policy.check(inGroup('7', '-400'))).toMatchObject({ reason: 'group-not-allowed' })
  })

  test('no pairing code is ever said in a group', async () => {
    expect(await policy.check(inGroup('7', '-100'))).not.toHaveProperty('say')
    expect(await pairing.pending()).toEqual([])
  })

  test('pairing in private gives no right in a group, and there is no owner there', async () => {
    await pair('7')
    use({ telegram: { groups: { '-100': { allowFrom: ['8'] }, '-200': {} } } })
    expect(await policy.check(inGroup('7', '-100'))).toMatchObject({ reason: 'not-allowed' })
    expect(await policy.check(inGroup('7', '-200'))).toMatchObject({ kind: 'allowed', owner: false })
  })

  test('the owner is recognized in a group, too, by pairing or by list; other people are not', async () => {
    await pair('7')
    use({ telegram: { groups: { '-200': {} } }, ownerAllowFrom: ['telegram:9'] })
    const byOwner = async (id: string) => {
      const access = await policy.check(inGroup(id, '-200'))
      return access.kind === 'allowed' && access.byOwner
    }
    expect([await byOwner('7'), await byOwner('9'), await byOwner('8')]).toEqual([true, true, false])
  })

  test('being in a listed group gives no right in private', async () => {
    use({ telegram: { groups: { '-100': {} } } })
    expect((await policy.check(message('7'))).kind).toBe('refused')
  })

  test('a list for groups holds for every kind of event', async () => {
    use({ telegram: { groupPolicy: 'open', groupAllowFrom: ['8'] } })
    for (const event of everyEvent) {
      expect(await policy.check(inGroup('7', '-1', { event }))).toMatchObject({ reason: 'not-allowed' })
      expect(await policy.check(inGroup('8', '-1', { event }))).toMatchObject({ kind: 'allowed' })
    }
  })

  test('names like `constructor` are no groups', async () => {
    use({ telegram: { groups: { '-100': {} } } })
    for (const to of ['constructor', '__proto__', 'toString']) {
      expect(await policy.check(inGroup('7', to))).toMatchObject({ reason: 'group-not-allowed' })
    }
  })
})

describe('how often', () => {
  test('an owner is not held to the limit of guests; a refusal says how long to wait', async () => {
    use({ ownerAllowFrom: ['telegram:7'], telegram: { allowFrom: ['8'] }, ownerMessagesPerMinute: 30 })
    const checks = async (sender: string, count: number) => {
      let last = await policy.check(message(sender))
      for (let n = 1; n < count; n++) last = await policy.check(message(sender))
      return last
    }
    expect(await checks('7', 30)).toMatchObject({ kind: 'allowed' })
    now += 12_000
    expect(await checks('8', 20)).toMatchObject({ kind: 'allowed' })
    now += 8_000
    expect(await checks('8', 1)).toMatchObject({
      reason: 'too-many-messages',
      waitMs: 52_000,
      say: expect.stringContaining('for the next 52 s') as string,
    })
    expect(await checks('7', 1)).toMatchObject({ reason: 'too-many-messages', waitMs: 40_000 })
    now += 40_000
    expect(await checks('7', 1)).toMatchObject({ kind: 'allowed' })
  })

  test('twenty messages a minute are accepted; then the person gets one notice', async () => {
    use({ telegram: { allowFrom: ['7', '8'] } })
    const kinds: string[] = []
    for (let n = 0; n < 25; n++) {
      const access = await policy.check(message('7'))
      kinds.push(access.kind === 'allowed' ? 'ok' : access.say ? 'told' : 'silent')
    }
    expect(kinds).toEqual([...Array(20).fill('ok'), 'told', ...Array(4).fill('silent')])
    expect((await policy.check(message('8'))).kind).toBe('allowed')
    now += 60_000
    expect((await policy.check(message('7'))).kind).toBe('allowed')
  })
})

test('the web chat and the console belong to the person who runs this Rockpool', async () => {
  const web = message('me', { address: { channel: 'web', accountId: 'default', to: 'main' } })
  expect(await policy.check(web)).toEqual({
    kind: 'allowed',
    owner: true,
    byOwner: true,
    requireMention: false,
  })
})
