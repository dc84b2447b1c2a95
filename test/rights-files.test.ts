// Whose files, notes and attachments a turn can read and send, and who writes the agent's notes: the real Claude binary.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { attachmentFolder } from '../src/store/media/media-files.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { testModel } from './support/claude-home.ts'
import type { Step } from './support/messages-api.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const owner = { id: 501, name: 'Ada' }
const guest = { id: 502, name: 'Bob' }
const waiting = { timeout: 30_000, interval: 20 }
const secret = 'the owner keeps the key under the plum tree'
let telegram: TelegramApi
let house: ChannelHouse
let files: { note: string; attachment: string; shared: string; sharedNote: string }

beforeAll(async () => {
  telegram = await TelegramApi.listen()
  const settings = { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2, allowFrom: [502] }
  house = await openChannelHouse({
    channels: { ownerAllowFrom: ['telegram:501'], telegram: settings },
    config: {
      agents: { defaults: { model: testModel, shared: { files: ['handbook.md', 'memory/public/'] } } },
    },
  })
  files = writeFiles(house.app.paths.workspace('main'))
})
afterAll(async () => {
  await house.close()
  await telegram.close()
})

function writeFiles(workspace: string): typeof files {
  const attachments = attachmentFolder(workspace, { agentId: 'main', key: 'agent:main:telegram:direct:501' })
  const written = {
    note: join(workspace, 'memory', '2026-01-01.md'),
    attachment: join(attachments, 'letter.txt'),
    shared: join(workspace, 'handbook.md'),
    sharedNote: join(workspace, 'memory', 'public', 'opening.md'),
  }
  for (const folder of [attachments, join(workspace, 'memory', 'public')])
    mkdirSync(folder, { recursive: true })
  writeFileSync(written.note, secret)
  writeFileSync(written.attachment, secret)
  writeFileSync(written.shared, 'We open at nine.')
  writeFileSync(written.sharedNote, 'The plum tree is beside the door.')
  return written
}

const read = (file_path: string): Step => ({ tools: [{ name: 'Read', input: { file_path } }] })
const search = (query: string): Step => ({
  tools: [{ name: 'mcp__openclaw-bridge__openclaw_memory_search', input: { query } }],
})

/** Takes a turn in this person's private chat; resolves to the answer and to everything that the model saw. */
async function turn(by: typeof owner, ...steps: Step[]): Promise<{ answer: string; seen: string }> {
  const shown = telegram.shown.length
  const calls = house.api.calls().length
  const words = `task ${shown} of ${by.name}`
  house.api.script(words, steps)
  telegram.emit({ message: personMessage(telegram, by, { id: by.id }, words) })
  await vi.waitFor(() => expect(telegram.shown.length).toBeGreaterThan(shown), waiting)
  await house.conversations.converse.idle()
  const seen = house.api.calls().slice(calls)
  return { answer: telegram.shown[shown]!.text, seen: seen.map(({ text }) => text).join('\n') }
}

test("a guest's turn reads, finds and sends nothing of the owner's, and reads what the owner shares", async () => {
  const tries = [read(files.note), read(files.attachment), search('plum tree'), read(files.shared)]
  const { answer, seen } = await turn(guest, ...tries, { text: `Here.\nMEDIA:${files.attachment}` })
  expect(seen).not.toContain(secret)
  expect(seen).toContain('We open at nine.')
  expect(seen).toContain('The plum tree is beside the door.')
  expect(answer).toMatch(/Not sent: .*letter\.txt/)
})

test('the owner reads, finds and sends all of it', async () => {
  const tries = [read(files.attachment), search('plum tree')]
  const { seen } = await turn(owner, ...tries, { text: `Here.\nMEDIA:${files.attachment}` })
  expect(seen.split(secret).length).toBeGreaterThan(2)
  await vi.waitFor(
    () => expect(telegram.shown.some((one) => /letter/.test(JSON.stringify(one)))).toBe(true),
    waiting,
  )
})

test("/compact of a guest writes no notes; the owner's does", async () => {
  const flush = (): number => house.api.calls().filter(({ prompt }) => /memory flush/.test(prompt)).length
  house.api.script('Pre-compaction memory flush', [{ text: 'NO_REPLY' }])
  for (const [by, flushes] of [
    [guest, 0],
    [owner, 1],
  ] as const) {
    const shown = telegram.shown.length
    telegram.emit({ message: personMessage(telegram, by, { id: by.id }, '/compact') })
    await vi.waitFor(() => expect(telegram.shown.length).toBeGreaterThan(shown), waiting)
    expect(flush()).toBe(flushes)
  }
  expect(existsSync(files.note)).toBe(true)
})
