// A person who is no longer the owner, or may no longer write: what was begun for that person has no more rights than the person,
// and nothing of the owner's reaches the chat.
import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const bob = { id: 503, name: 'Bob' }
const bobsSession = 'agent:main:telegram:direct:503'
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  house = await openChannelHouse({
    channels: { telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 } },
  })
  execFileSync('git', ['init', '-q', house.home.project])
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const shownTo = ({ id }: { id: number }): string[] =>
  telegram.shown.filter(({ chat }) => chat === id).map(({ text }) => text)

/** Writes something and resolves to the first answer. */
async function say(text: string, from = bob): Promise<string> {
  const before = shownTo(from).length
  write(text, from)
  await vi.waitFor(() => expect(shownTo(from).length).toBeGreaterThan(before), waiting)
  return shownTo(from)[before]!
}

function write(text: string, from = bob): void {
  telegram.emit({ message: personMessage(telegram, from, { id: from.id }, text) })
}

/** The person asks for a code, and the operator approves it. */
async function pair(from = bob): Promise<Record<string, unknown>> {
  const [, code] = /pairing code is (\w+)/.exec(await say('hello', from)) ?? []
  return house.ask('pairing.approve', { code })
}

/** The tools that the turn of this prompt had. */
async function toolsFor(prompt: string): Promise<string[]> {
  const asked = () => house.api.requests.find((one) => one.kind === 'messages' && one.prompt.includes(prompt))
  await vi.waitFor(() => expect(asked()).toBeDefined(), waiting)
  return asked()!.body.tools?.map(({ name }) => name) ?? []
}

test('a scheduled turn in a session without a route has the rights of the person that the key names', async () => {
  await house.ask('schedules.add', {
    when: 'every 1 hours',
    text: 'what is new?',
    name: 'news',
    sessionKey: bobsSession,
  })
  await house.ask('schedules.run', { schedule: 'news' })
  const tools = await toolsFor('what is new?')
  expect(tools).toContain('Read')
  expect(tools).not.toContain('Bash')
  expect(tools.some((name) => name.endsWith('claude_launch'))).toBe(false)
})

test('a pairing makes nobody the owner while another policy decides who may write', async () => {
  expect(await pair()).toMatchObject({ person: { owner: true } })
  expect(await say('/send on')).toBe('Sending: allow.')
  await house.ask('config.set', { key: 'channels.telegram.dmPolicy', value: 'allowlist' })
  await house.ask('config.set', { key: 'channels.telegram.allowFrom', value: '["503"]' })
  await house.restart()
  expect(await say('/send on')).toBe('Only the owner may use /send.')
  write('what do you have?')
  expect(await toolsFor('what do you have?')).not.toContain('Bash')
})
