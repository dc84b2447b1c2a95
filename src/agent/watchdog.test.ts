import { expect, test } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { TurnWatchdog } from './watchdog.ts'

const limits = { seconds: 60, toolSeconds: 600, answerMinutes: 10 }

function watched(usesTools = false) {
  const clock = makeMovableClock(0)
  const noticed: string[] = []
  const watchdog = new TurnWatchdog(clock, limits, {
    silence: () => noticed.push('silence'),
    endlessAnswer: () => noticed.push('endless answer'),
  })
  watchdog.promptSent()
  watchdog.update({ isTurnRunning: true, usesTools })
  return { clock, noticed, watchdog }
}

test('a connection that only sends pings is no progress: the turn ends after the time of one answer', async () => {
  const { clock, noticed, watchdog } = watched()
  for (let second = 0; second < 590; second += 10) {
    await clock.advance(10_000)
    watchdog.messageReceived()
  }
  expect(noticed).toEqual([])
  await clock.advance(11_000)
  expect(noticed).toEqual(['endless answer'])
  watchdog.stop()
})

test('finished blocks are progress; silence ends the turn, later while a tool runs', async () => {
  const working = watched()
  for (let minute = 0; minute < 30; minute++) {
    working.watchdog.eventReceived({ type: 'text', text: 'a block' })
    working.watchdog.messageReceived()
    await working.clock.advance(59_000)
  }
  expect(working.noticed).toEqual([])
  await working.clock.advance(2_000)
  expect(working.noticed).toEqual(['silence'])
  const withTool = watched(true)
  await withTool.clock.advance(590_000)
  expect(withTool.noticed).toEqual([])
  await withTool.clock.advance(11_000)
  expect(withTool.noticed).toEqual(['silence'])
})
