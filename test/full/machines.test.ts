// Several machines on one PostgreSQL, at size, and with the real Claude.
import { afterAll, expect, test } from 'vitest'
import { copyBackAndForth, importBetweenKills } from '../support/copied.ts'
import { filesMove } from '../support/machine-files.ts'
import { conversationMoves, machineStorm } from '../support/machines.ts'
import { notesStorm } from '../support/notes-storm.ts'
import { startPostgres } from '../support/postgres.ts'
import { nothingWrong } from '../support/telegram-storm.ts'

const servers: Array<Awaited<ReturnType<typeof startPostgres>>> = []
for (let n = 0; n < 5; n++) servers.push(await startPostgres())
afterAll(async () => {
  for (const server of servers) await server?.stop()
})

test('two machines, 5,000 messages over 50 chats, one killed every few seconds: 0 lost, 0 unmarked duplicates, order kept', async (ctx) => {
  const { url } = servers[0] ?? ctx.skip('PostgreSQL is not installed')
  const storm = { machines: 2, chats: 50, each: 100, kills: 12, maxLifeMs: 6_000, seed: 29 }
  const report = await machineStorm(url, storm)
  console.log(report)
  expect(report).toMatchObject({ ...nothingWrong, givenUpTooSoon: [] })
  expect(report.answered + report.told).toBeGreaterThanOrEqual(5_000)
  expect(report.kills).toBe(12)
  expect(Object.keys(report.turnsOf)).toHaveLength(2)
})

test('three machines, the same', async (ctx) => {
  const { url } = servers[1] ?? ctx.skip('PostgreSQL is not installed')
  const storm = { machines: 3, chats: 50, each: 100, kills: 20, maxLifeMs: 5_000, seed: 30 }
  const report = await machineStorm(url, storm)
  console.log(report)
  expect(report).toMatchObject({ ...nothingWrong, givenUpTooSoon: [] })
})

test('a conversation continues on another machine, and Claude sees the earlier turns', async (ctx) => {
  const { url } = servers[2] ?? ctx.skip('PostgreSQL is not installed')
  const { replies, seenLast, machines } = await conversationMoves(url)
  expect(replies).toEqual(['noted one', 'noted two', 'noted three'])
  expect(machines).toEqual(['m0', 'm1', 'm0'])
  for (const words of ['walnut', 'noted one', 'teal', 'noted two']) expect(seenLast).toContain(words)
  expect(seenLast).not.toContain('memory of this conversation was lost')
})

test('what Claude noted and was sent on a machine that was killed is there on another, and found', async (ctx) => {
  const { url } = servers[3] ?? ctx.skip('PostgreSQL is not installed')
  const moved = await filesMove(url)
  expect(moved).toMatchObject({ hasPicture: true, foundIn: ['memory', 'native', 'rockpool'] })
  expect(moved.replies.at(0)).toBe('noted')
  expect(moved.replies.at(-1)).toBe('it was there')
  expect(moved.noteRead).toContain('The plum matters.')
  expect(moved.attachments).toHaveLength(1)
})

test('three machines add 300 lines each to one note and are killed 20 times: every line is on all of them, once', async (ctx) => {
  const { url } = servers[3] ?? ctx.skip('PostgreSQL is not installed')
  const report = await notesStorm(url, 'notes', { machines: 3, lines: 300, kills: 20 })
  console.log(report)
  expect(report).toMatchObject({ lost: [], twice: [], isSame: true, kills: 20 })
})

test('10,000 sessions from SQLite to PostgreSQL and back are equal, rows and transcripts', async (ctx) => {
  const { url } = servers[2] ?? ctx.skip('PostgreSQL is not installed')
  const { before, after, there, again, back } = await copyBackAndForth(url, 10_000)
  expect({ ...after, archives: before.archives }).toEqual(before)
  expect(before.sessions.size).toBe(10_000)
  expect([there.problems, again.sessions, again.transcripts, back.problems]).toEqual([[], 0, 0, []])
}, 1_800_000)

test('an import that is killed again and again continues where it was, and nothing is missing or twice', async (ctx) => {
  const { url } = servers[4] ?? ctx.skip('PostgreSQL is not installed')
  const { before, after, kills } = await importBetweenKills(url, 2_000)
  expect({ ...after, archives: before.archives }).toEqual(before)
  expect(kills).toBeGreaterThanOrEqual(2)
})
