// Coding sessions with the real Claude binary when it gets difficult: plans, compaction, sub-agents, interrupts.
// More of it, also processes that die, is in test/full/coding.test.ts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { inline } from './support/messages-api.ts'
import type { Step } from './support/messages-api.ts'
import { asOwner } from '../src/coding/machines/owner.ts'
import { formatOutput } from '../src/coding/listing.ts'
import { answerOnly, deadProcess } from './support/coding-bench.ts'
import { realCoding } from './support/real-coding.ts'

const coding = realCoding()

test('a plan is shown whole, changed, shown again and carried out when it is approved', async () => {
  const workdir = coding.house.repo('plan')
  const made = join(workdir, 'made.txt')
  const { id } = await coding.launch(`plan it ${inline({ text: 'I look first' })}`, {
    workdir,
    permissionMode: 'plan',
  })
  await coding.until(id, 'awaiting-input')
  // Claude Code says where its plan belongs, and shows what stands there.
  const [, file] = /create your plan at (\S+\.md)/.exec(coding.real.api.calls().at(-1)!.text)!
  const write = (file_path: string, content: string) => ({ name: 'Write', input: { file_path, content } })
  const plan = (text: string): Step[] => [
    { tools: [write(file!, text)] },
    { tools: [{ name: 'ExitPlanMode' }] },
  ]
  const steps = [...plan('1. all at once'), ...plan('1. look\n2. write'), { tools: [write(made, 'x')] }]
  await coding.house.pool.respond(id, inline(...steps, { text: 'carried out' }), { userInitiated: true })
  const first = await coding.until(id, 'awaiting-plan')
  const shown = (): string | undefined => coding.house.approvals.pending().at(-1)?.shown
  expect(shown()).toBe('1. all at once')
  const change = { behavior: 'deny', text: 'smaller steps', by: 'ada' } as const
  await coding.house.approvals.answer(first.waiting!.approvalId!, change)
  await vi.waitFor(() => expect(shown()).toBe('1. look\n2. write'), { timeout: 30_000 })
  expect(coding.real.api.calls().at(-1)!.text).toContain('smaller steps')
  expect(existsSync(made)).toBe(false)
  await answerOnly(coding.house, { behavior: 'allow', by: 'ada' })
  // The plan was approved, not every tool: writing is still asked for.
  const asked = await coding.until(id, 'awaiting-approval')
  await coding.house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'allow', by: 'ada' })
  await coding.until(id, 'awaiting-input')
  expect(existsSync(made)).toBe(true)
})

test('`/compact` and `/clear` are for Claude Code: the context is summarized or new, the session keeps its id', async () => {
  const { id } = await coding.launch(inline({ text: 'the heron is grey' }))
  const before = await coding.until(id, 'awaiting-input')
  await coding.say(id, '/compact')
  expect(coding.said(id)).toContain('Context compacted.')
  expect(coding.house.pool.resolve(id).sdkSessionId).toBe(before.sdkSessionId)
  const cleared = await coding.say(id, '/clear')
  expect(cleared.sdkSessionId).not.toBe(before.sdkSessionId)
  const after = await coding.say(id, inline({ text: 'which heron?' }))
  expect(after).toMatchObject({ lifecycle: 'awaiting-input', sdkSessionId: cleared.sdkSessionId })
  expect(coding.real.api.calls().at(-1)!.text).not.toContain('the heron is grey')
  expect(after.costUsd).toBeGreaterThan(before.costUsd)
  await coding.say(id, '/tmp is a folder, not a command')
  expect(coding.real.api.calls().at(-1)!.prompt).toContain('/tmp is a folder')
})

test("sub-agents' calls are metered while they work, and a limit holds them too: three side by side do not go beyond it", async () => {
  const inner = inline(
    { tools: [{ name: 'Read', input: { file_path: '/etc/hostname' } }] },
    { text: 'inner' },
  )
  const input = { description: 'Look', subagent_type: 'general-purpose', prompt: inner }
  const agent = { name: 'Agent', input: { ...input, run_in_background: false } }
  const { id } = await coding.launch(inline({ tools: [agent, agent, agent] }, { text: 'outer' }), {
    budgetUsd: 2,
    allowedTools: ['Read'],
  })
  const held = await coding.until(id, 'awaiting-budget')
  // One call of its own and one of a sub-agent; its tool waits, and so do the first calls of the two others.
  expect(held.costUsd).toBe(2)
  const calls = coding.real.api.calls().filter((call) => call.sdkSessionId === held.sdkSessionId)
  expect(calls).toHaveLength(2)
  await coding.house.approvals.answer(held.waiting!.approvalId!, {
    behavior: 'allow',
    text: '100',
    by: 'ada',
  })
  await coding.until(id, 'awaiting-input')
  expect(coding.said(id)).toContain('outer')
  expect(coding.said(id)).not.toContain('inner')
})

test('an interrupt stops the turn, is no failure, and the session takes the next message', async () => {
  const { id } = await coding.launch(inline({ text: 'very long '.repeat(200), chunkDelayMs: 50 }))
  await coding.real.api.requested((request) => request.text.includes('very long'))
  await coding.until(id, 'active')
  await coding.house.pool.respond(id, inline({ text: 'what now?' }), { userInitiated: true, interrupt: true })
  await vi.waitFor(() => expect(coding.said(id)).toContain('what now?'), { timeout: 30_000 })
  expect(await coding.until(id, 'awaiting-input')).toMatchObject({ status: 'running' })
})

test('text that Claude is still writing is shown in the output, and kept when the session is killed or Rockpool dies', async () => {
  const text = 'once upon a time there was a heron '.repeat(100)
  coding.real.api.script('tell-me-a-tale', [{ text, chunkDelayMs: 100 }])
  const heard = new Promise<string>((resolve) =>
    coding.house.events.on((event) => event.type === 'coding-writing' && resolve(event.text)),
  )
  const { id } = await coding.launch('tell-me-a-tale')
  // The output has each piece at once, before the row is stored.
  const piece = await heard
  expect(coding.house.pool.output(id, 1).session.writing).toContain(piece)
  const shown = (of: string): string => {
    const { session, blocks } = coding.house.pool.output(of, 50)
    return formatOutput(session, blocks, Date.now())
  }
  await vi.waitFor(() => expect(shown(id)).toContain('once upon a time there'), { timeout: 30_000 })
  expect(coding.said(id).join('')).not.toContain('once upon a time there')
  await coding.house.pool.kill(id)
  expect(coding.said(id).at(-1)).toContain('once upon a time there')
  expect(coding.house.pool.resolve(id).writing).toBeUndefined()
  // The same row as a process that died would leave it.
  const row = { ...coding.house.pool.resolve(id), id: 'Orphan12', end: undefined, writing: 'half a sen' }
  const owner = asOwner(deadProcess)
  await coding.house.store.save({ ...row, status: 'running', lifecycle: 'active', owner })
  await coding.house.pool.recoverOrphans()
  expect(coding.said('Orphan12')).toEqual(['half a sen'])
})
