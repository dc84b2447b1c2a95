// Messages on their way when the process is killed, in the promised size.
import { expect, test } from 'vitest'
import { nothingWrong, storm } from '../support/crash-storm.ts'

test('10,000 messages over 50 sessions with kill -9 at random: 0 lost, 0 unmarked duplicates, order kept', async () => {
  const report = await storm({ sessions: 50, each: 200, kills: 40 })
  console.log(report)
  expect(report).toMatchObject(nothingWrong)
}, 1_800_000)

test('1,000 messages over 20 sessions with 200 kills: none lost or given up before the agent was asked twice, every question recorded', async () => {
  const report = await storm({ sessions: 20, each: 50, kills: 200 })
  console.log(report)
  expect(report).toMatchObject(nothingWrong)
  // The busier the machine is, the more of the 20 sessions wait for an answer when the process is killed.
  expect(report.givenUp).toBeLessThan(300)
}, 1_800_000)
