// What tests of coding sessions do again and again: houses that are closed by themselves, and waiting for states.
import { rmSync } from 'node:fs'
import { expect, onTestFinished, vi } from 'vitest'
import type { ApprovalAnswer } from '../../src/coding/approvals/approvals.ts'
import type { Approval, CodingSession } from '../../src/domain/coding-session.ts'
import { identifyProcess } from '../../src/store/disk/process-identity.ts'
import type { ProcessIdentity } from '../../src/store/disk/process-identity.ts'
import { newFolder, openCodingHouse } from './coding-house.ts'
import type { CodingHouse, HouseOptions } from './coding-house.ts'
import { directedAgent, init } from './directed-agent.ts'
import type { DirectedAgent } from './directed-agent.ts'
import { makeMovableClock } from './movable-clock.ts'
import type { MovableClock } from './movable-clock.ts'

export function open(options: HouseOptions = {}): CodingHouse {
  const house = openCodingHouse(options)
  onTestFinished(() => house.close())
  return house
}

/** For several houses on one disk, one after the other or at once. */
export function sharedFolder(): string {
  const folder = newFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A process of this boot that does not live. */
export const deadProcess: ProcessIdentity = {
  ...identifyProcess(process.pid)!,
  pid: 4_000_000,
  startTime: '1',
}

export async function until(
  house: CodingHouse,
  id: string,
  lifecycle: CodingSession['lifecycle'],
): Promise<CodingSession> {
  const look = (): void => expect(house.pool.resolve(id).lifecycle).toBe(lifecycle)
  await vi.waitFor(look)
  return house.pool.resolve(id)
}

/** Answers the only open question. */
export async function answerOnly(house: CodingHouse, answer: ApprovalAnswer): Promise<Approval> {
  const [open, ...others] = house.approvals.pending()
  expect(others).toEqual([])
  return house.approvals.answer(open!.id, answer)
}

/** A session in its first turn, on a clock of ours; its Claude does what the test says. */
export async function directed(
  options: Omit<HouseOptions, 'clock' | 'runtime'> = {},
): Promise<{ clock: MovableClock; claude: DirectedAgent; house: CodingHouse; id: string }> {
  const clock = makeMovableClock()
  const claude = directedAgent()
  const house = open({ clock, runtime: claude.runtime, ...options })
  const { id } = await house.launch('x')
  await inTurn(claude)
  return { clock, claude, house, id }
}

/** Claude has been given a turn, and has not ended it. */
export async function inTurn(claude: DirectedAgent): Promise<void> {
  await vi.waitFor(() => expect(claude.isInTurn).toBe(true))
}

/** The same, and Claude has said its id. */
export async function begun(house: CodingHouse, claude: DirectedAgent, id: string): Promise<void> {
  await inTurn(claude)
  claude.emit(init)
  await until(house, id, 'active')
}

/** What Claude wrote is on disk, and every subscriber got it. */
export async function passedOn(house: CodingHouse, text: string): Promise<void> {
  await vi.waitFor(() => expect(house.passed).toContain(text))
}

export const texts = (house: CodingHouse): string[] => house.delivered.map(({ reply }) => reply.text ?? '')

export const saidBy = (house: CodingHouse, id: string): string[] =>
  house.store.lastOutput(id, 500).flatMap(({ kind, text }) => (kind === 'prompt' ? [] : [text]))
