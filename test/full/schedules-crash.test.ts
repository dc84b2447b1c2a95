// Schedules and `kill -9` of the real gateway: runs are due while it is killed and started again at random moments. What happened is
// counted outside of Rockpool: calls of the real Claude at the scripted API, messages at the scripted Telegram.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resentMark } from '../../src/channels/message-parts.ts'
import type { ScheduleRun } from '../../src/domain/schedule.ts'
import { codingJourneys } from '../support/coding-journeys.ts'
import { TelegramApi } from '../support/telegram-api.ts'

const here = codingJourneys()
const kills = 6
const [turns, sessions, messages] = [3, 3, 6].map((count) => Array.from({ length: count }, (_, n) => n))
let telegram: TelegramApi

beforeAll(async () => {
  telegram = await TelegramApi.listen()
  const account = { botToken: telegram.token, apiRoot: telegram.root, pollSeconds: 2 }
  const config = { channels: { telegram: account }, coding: { maxSessions: 5 } }
  writeFileSync(join(here.claude.stateDir, 'rockpool.json'), JSON.stringify(config))
})
afterAll(() => telegram.close())

async function schedule(text: string, ...more: string[]): Promise<void> {
  const seconds = 4 + Math.floor(Math.random() * 12)
  const added = await here.run('schedules', 'add', `in ${seconds} seconds`, text, ...more, '--json')
  expect(added.code, added.stderr).toBe(0)
}

async function log(): Promise<Array<ScheduleRun & { name: string }>> {
  const { runs } = (await here.run('schedules', 'log', '--json')).json()
  return runs as Array<ScheduleRun & { name: string }>
}

test('runs that are due while the gateway is killed again and again happen once each, or say that they are repeated', async () => {
  here.api.otherwise = { text: 'done' }
  const repo = here.newRepo()
  let gateway = await here.startGateway()
  for (const n of turns!) await schedule(`Turn marker-t${n}.`, '--session-key', `agent:main:run${n}`)
  for (const n of sessions!) await schedule(`Session marker-s${n}.`, '--do', 'coding', '--workdir', repo)
  for (const n of messages!) await schedule(`Message marker-m${n}.`, '--do', 'message', '--to', 'telegram|42')
  for (let n = 0; n < kills; n++) {
    await pause(500 + Math.random() * 3_000)
    gateway.child.kill('SIGKILL')
    await gateway.ended
    gateway = await here.startGateway()
  }
  const all = turns!.length + sessions!.length + messages!.length
  await expect
    .poll(async () => (await log()).filter(({ toldAt }) => toldAt !== undefined).length, {
      timeout: 240_000,
      interval: 1_000,
    })
    .toBe(all)
  const runs = await log()
  expect(runs.map(({ state, note }) => [state, note]).filter(([state]) => state !== 'ended')).toEqual([])
  expect(new Set(runs.map(({ id }) => id)).size).toBe(all)
  for (const n of messages!) {
    const shownNow = () => telegram.shown.filter(({ text }) => text?.includes(`marker-m${n}.`))
    // The run ends when its message is in the outbox; it is sent a moment later.
    await expect.poll(() => shownNow().length, { timeout: 60_000 }).toBeGreaterThan(0)
    const shown = shownNow()
    expect(shown.filter(({ text }) => !text?.includes(resentMark)).length).toBeLessThanOrEqual(1)
  }
  for (const marker of [...turns!.map((n) => `marker-t${n}.`), ...sessions!.map((n) => `marker-s${n}.`)]) {
    // A session that was cut off before its first call is told to continue: its task is then earlier in the conversation.
    const asked = here.api.calls().filter(({ text }) => text.includes(marker))
    const unmarked = asked.filter(
      ({ prompt }) =>
        prompt.includes(marker) && !prompt.includes('[Retried: this message may have been begun'),
    )
    expect(asked.length, marker).toBeGreaterThan(0)
    expect(unmarked.length, marker).toBeLessThanOrEqual(1)
  }
  gateway.child.kill('SIGTERM')
  await gateway.ended
}, 400_000)
