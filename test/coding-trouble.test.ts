// Coding sessions with the real Claude binary when it gets difficult: plans, compaction, sub-agents, interrupts, processes
// that die. More of it is in test/full/coding.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { inline } from './messages-api.ts'
import type { Step } from './messages-api.ts'
import { openRealCoding } from './real-coding.ts'
import type { RealCoding } from './real-coding.ts'

let coding: RealCoding
let real: RealCoding['real']
let house: RealCoding['house']
let launch: RealCoding['launch']
let until: RealCoding['until']
let say: RealCoding['say']
let said: RealCoding['said']
beforeAll(async () => {
  coding = await openRealCoding()
  ;({ real, house, launch, until, say, said } = coding)
})
afterAll(() => coding.close())

const pidOf = (id: string): number => real.agent.live(`coding:${id}`)!.pid!

test('a plan is shown whole, changed, shown again and carried out when it is approved', async () => {
  const workdir = house.repo('plan')
  const made = join(workdir, 'made.txt')
  const { id } = await launch(`plan it ${inline({ text: 'I look first' })}`, {
    workdir,
    permissionMode: 'plan',
  })
  await until(id, 'awaiting-input')
  // Claude Code says where its plan belongs, and shows what stands there.
  const [, file] = /create your plan at (\S+\.md)/.exec(real.api.calls().at(-1)!.text)!
  const write = (file_path: string, content: string) => ({ name: 'Write', input: { file_path, content } })
  const plan = (text: string): Step[] => [
    { tools: [write(file!, text)] },
    { tools: [{ name: 'ExitPlanMode' }] },
  ]
  const steps = [...plan('1. all at once'), ...plan('1. look\n2. write'), { tools: [write(made, 'x')] }]
  await house.pool.respond(id, inline(...steps, { text: 'carried out' }), { userInitiated: true })
  const first = await until(id, 'awaiting-plan')
  const shown = (): string | undefined => house.approvals.pending().at(-1)?.shown
  expect(shown()).toBe('1. all at once')
  const change = { behavior: 'deny', text: 'smaller steps', by: 'ada' } as const
  await house.approvals.answer(first.waiting!.approvalId!, change)
  await vi.waitFor(() => expect(shown()).toBe('1. look\n2. write'), { timeout: 30_000 })
  expect(real.api.calls().at(-1)!.text).toContain('smaller steps')
  expect(existsSync(made)).toBe(false)
  await house.approvals.answer('', { behavior: 'allow', by: 'ada' })
  // The plan was approved, not every tool: writing is still asked for.
  const asked = await until(id, 'awaiting-approval')
  await house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'allow', by: 'ada' })
  await until(id, 'awaiting-input')
  expect(existsSync(made)).toBe(true)
})

test('`/compact` and `/clear` are for Claude Code: the context is summed up or new, the session goes on under its own id', async () => {
  const { id } = await launch(inline({ text: 'the heron is grey' }))
  const before = await until(id, 'awaiting-input')
  await say(id, '/compact')
  expect(said(id)).toContain('Context compacted.')
  expect(house.pool.resolve(id).sdkSessionId).toBe(before.sdkSessionId)
  const cleared = await say(id, '/clear')
  expect(cleared.sdkSessionId).not.toBe(before.sdkSessionId)
  const after = await say(id, inline({ text: 'which heron?' }))
  expect(after).toMatchObject({ lifecycle: 'awaiting-input', sdkSessionId: cleared.sdkSessionId })
  expect(real.api.calls().at(-1)!.text).not.toContain('the heron is grey')
  expect(after.costUsd).toBeGreaterThan(before.costUsd)
  await say(id, '/tmp is a folder, not a command')
  expect(real.api.calls().at(-1)!.prompt).toContain('/tmp is a folder')
})

test("sub-agents' calls are metered while they work, and a limit holds them too", async () => {
  const inner = inline(
    { tools: [{ name: 'Read', input: { file_path: '/etc/hostname' } }] },
    { text: 'inner' },
  )
  const input = { description: 'Look', subagent_type: 'general-purpose', prompt: inner }
  const agent: Step = { tools: [{ name: 'Agent', input: { ...input, run_in_background: false } }] }
  const { id } = await launch(inline(agent, { text: 'outer' }), { budgetUsd: 2, allowedTools: ['Read'] })
  const held = await until(id, 'awaiting-budget')
  // One call of its own and one of the sub-agent; the sub-agent's tool waits.
  expect(held.costUsd).toBe(2)
  const calls = real.api.calls().filter((call) => call.sdkSessionId === held.sdkSessionId)
  expect(calls).toHaveLength(2)
  await house.approvals.answer(held.waiting!.approvalId!, { behavior: 'allow', text: '100', by: 'ada' })
  await until(id, 'awaiting-input')
  expect(said(id)).toContain('outer')
  expect(said(id)).not.toContain('inner')
})

test('an interrupt stops the turn, is no failure, and the session takes the next message', async () => {
  const { id } = await launch(inline({ text: 'very long '.repeat(200), chunkDelayMs: 50 }))
  await real.api.requested((request) => request.text.includes('very long'))
  await until(id, 'active')
  await house.pool.respond(id, inline({ text: 'what now?' }), { userInitiated: true, interrupt: true })
  await vi.waitFor(() => expect(said(id)).toContain('what now?'), { timeout: 30_000 })
  expect(await until(id, 'awaiting-input')).toMatchObject({ status: 'running' })
})

test("Claude's process dies in a turn, or while it waits: suspended, told, resumed with its context", async () => {
  const { id } = await launch(inline({ text: 'I was here' }))
  await until(id, 'awaiting-input')
  process.kill(pidOf(id), 'SIGKILL')
  expect(await until(id, 'suspended')).toMatchObject({ status: 'killed', end: { reason: 'crash' } })
  const resumed = await house.pool.resume(id, inline({ text: 'dies in the middle', chunkDelayMs: 500 }))
  await real.api.requested((request) => request.text.includes('dies in the middle'))
  process.kill(pidOf(resumed.id), 'SIGKILL')
  const dead = await until(resumed.id, 'suspended')
  expect(dead).toMatchObject({ status: 'failed', end: { reason: 'crash' } })
  const again = await house.pool.resume(resumed.id, inline({ text: 'and here again' }))
  await until(again.id, 'awaiting-input')
  expect(real.api.calls().at(-1)!.text).toContain('I was here')
})
