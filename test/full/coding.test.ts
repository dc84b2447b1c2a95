// Coding sessions at full size, with the real Claude binary: ten at once, and output without end.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeTestAgent } from '../claude-agent.ts'
import type { TestAgent } from '../claude-agent.ts'
import { testModel } from '../claude-home.ts'
import { openCodingHouse } from '../coding-house.ts'
import type { CodingHouse } from '../coding-house.ts'
import { inline } from '../messages-api.ts'

let real: TestAgent
let house: CodingHouse
beforeAll(async () => {
  real = await makeTestAgent()
  house = openCodingHouse({ runtime: real.agent, priceOf: () => 1, config: { maxSessions: 12 } })
})
afterAll(async () => {
  await house.close()
  await real.close()
})

test('ten sessions at once: each does its own work in its own repository, and each waits', async () => {
  const repos = Array.from({ length: 10 }, (_, i) => house.repo(`ten-${i}`))
  const launched = await Promise.all(
    repos.map((workdir, i) => {
      const write = { name: 'Write', input: { file_path: join(workdir, 'made.txt'), content: `by ${i}` } }
      const read = { name: 'Read', input: { file_path: join(workdir, 'a.txt') } }
      writeFileSync(join(workdir, 'a.txt'), 'a')
      const prompt = inline({ tools: [read] }, { tools: [write] }, { text: `done ${i}` })
      return house.launch(prompt, {
        workdir,
        model: testModel,
        allowedTools: ['Read', 'Write'],
        budgetUsd: 100,
      })
    }),
  )
  for (const [i, { id }] of launched.entries()) {
    const look = (): void => {
      const session = house.pool.resolve(id)
      expect(session.lifecycle, session.end?.message).toBe('awaiting-input')
    }
    await vi.waitFor(look, { timeout: 300_000, interval: 100 })
    expect(existsSync(join(repos[i]!, 'made.txt'))).toBe(true)
    expect(house.store.lastOutput(id, 3).map((block) => block.text)).toContain(`done ${i}`)
  }
  await Promise.all(launched.map(({ id }) => house.pool.kill(id)))
})
