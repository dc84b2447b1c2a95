// Coding sessions with the real Claude binary: what tests of them do again and again.
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { findTranscript } from '../../src/agent/transcripts.ts'
import { writeTrimmed } from '../../src/discovery/trim/write-trim.ts'
import type { CodingSession } from '../../src/domain/coding-session.ts'
import { makeTestAgent } from './claude-agent.ts'
import type { TestAgent } from './claude-agent.ts'
import { testModel } from './claude-home.ts'
import { openCodingHouse } from './coding-house.ts'
import type { CodingHouse, HouseOptions } from './coding-house.ts'

export interface RealCoding {
  real: TestAgent
  house: CodingHouse
  launch: CodingHouse['launch']
  until: (id: string, lifecycle: CodingSession['lifecycle']) => Promise<CodingSession>
  /** The next turn, to its end. */
  say: (id: string, text: string) => Promise<CodingSession>
  said: (id: string) => string[]
  close(): Promise<void>
}

/** Each call to the model costs a dollar while it is metered, so that limits are counted in calls. */
export async function openRealCoding(config: HouseOptions['config'] = {}): Promise<RealCoding> {
  const real = await makeTestAgent()
  const house = openCodingHouse({
    runtime: real.agent,
    trim: (id, level, newId) => {
      const filePath = findTranscript(real.home.configDir, id)!
      return writeTrimmed({ sessionId: id, filePath, firstMessage: id }, level, newId)
    },
    priceOf: () => 1,
    config: { maxSessions: 20, ...config },
  })
  const waiting = { timeout: 60_000, interval: 20 }
  return {
    real,
    house,
    launch: (prompt, more = {}) => house.launch(prompt, { model: testModel, budgetUsd: 1_000, ...more }),
    async until(id, lifecycle) {
      await vi.waitFor(() => {
        const session = house.pool.resolve(id)
        expect(session.lifecycle, session.end?.message).toBe(lifecycle)
      }, waiting)
      return house.pool.resolve(id)
    },
    async say(id, text) {
      const { turns } = house.pool.resolve(id)
      await house.pool.respond(id, text, { userInitiated: true })
      const over = { turns: turns + 1, lifecycle: 'awaiting-input' }
      await vi.waitFor(() => expect(house.pool.resolve(id)).toMatchObject(over), waiting)
      return house.pool.resolve(id)
    },
    said: (id) => house.store.lastOutput(id, 100).map((block) => block.text),
    async close() {
      await house.close()
      await real.close()
    },
  }
}

/** One for all tests of a file; it is there once they run. */
export function realCoding(): RealCoding {
  const coding = {} as RealCoding
  beforeAll(async () => void Object.assign(coding, await openRealCoding()))
  afterAll(() => coding.close())
  return coding
}
