// The built gateway in its own process, floods in another: an honest client is still answered.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answersDuring, floodNames } from '../support/gateway-floods.ts'
import { makeHome } from '../support/program.ts'
import type { Home, Running } from '../support/program.ts'

let home: Home
let running: Running
let target: { port: number; token: string }
beforeAll(async () => {
  home = makeHome()
  running = home.start(['up', '--port', '0', '--json'])
  const { url, tokenFile } = JSON.parse(await running.line) as { url: string; tokenFile: string }
  target = { port: Number(new URL(url).port), token: readFileSync(tokenFile, 'utf8').trim() }
  expect(tokenFile).toBe(join(home.dir, 'state', 'credentials', 'gateway-token'))
})
afterAll(async () => {
  running.child.kill('SIGTERM')
  await running.ended
  home.remove()
})

test.each(floodNames)('%s: other chats are still answered, half of them within 100 ms', async (flood) => {
  const answers = await answersDuring(flood, target)
  expect(answers.length).toBeGreaterThan(20)
  console.log(`${flood}: the slowest answer took ${Math.round(Math.max(...answers))} ms`)
  // A machine that does something else makes anybody wait now and then, but not half of the time.
  expect(answers.toSorted((a, b) => a - b)[Math.floor(answers.length / 2)]).toBeLessThan(100)
})
