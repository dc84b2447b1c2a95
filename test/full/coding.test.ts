// Coding sessions at full size, with the real Claude binary: ten at once, five with one limit, and what else may go wrong.
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { findTranscript } from '../../src/agent/transcripts.ts'
import { descendantsOf } from '../support/descendants.ts'
import { inline, overloaded } from '../support/messages-api.ts'
import type { Step } from '../support/messages-api.ts'
import { openRealCoding, realCoding } from '../support/real-coding.ts'

const coding = realCoding()

const workingIn = (pid: number): string | undefined => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // It has just ended.
    return undefined
  }
}
const pidOf = (id: string): number => coding.real.agent.live(`coding:${id}`)!.pid!

test("Claude's process dies in a turn, or while it waits: suspended, reported, resumed with its context", async () => {
  const { id } = await coding.launch(inline({ text: 'I was here' }))
  await coding.until(id, 'awaiting-input')
  process.kill(pidOf(id), 'SIGKILL')
  expect(await coding.until(id, 'suspended')).toMatchObject({ status: 'killed', end: { reason: 'crash' } })
  const resumed = await coding.house.pool.resume(
    id,
    inline({ text: 'dies in the middle', chunkDelayMs: 500 }),
  )
  await coding.real.api.requested((request) => request.text.includes('dies in the middle'))
  process.kill(pidOf(resumed.id), 'SIGKILL')
  const dead = await coding.until(resumed.id, 'suspended')
  expect(dead).toMatchObject({ status: 'failed', end: { reason: 'crash' } })
  const again = await coding.house.pool.resume(resumed.id, inline({ text: 'and here again' }))
  await coding.until(again.id, 'awaiting-input')
  expect(coding.real.api.calls().at(-1)!.text).toContain('I was here')
})

test('a plan that is rejected ends the turn, and nothing of it is done', async () => {
  const workdir = coding.house.repo('plan')
  const plan: Step = { tools: [{ name: 'ExitPlanMode', input: { plan: '1. delete it all' } }] }
  const { id } = await coding.launch(inline(plan, { text: 'went on' }), { workdir, permissionMode: 'plan' })
  const asked = await coding.until(id, 'awaiting-plan')
  await coding.house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'deny', by: 'ada' })
  expect(await coding.until(id, 'awaiting-input')).toMatchObject({ status: 'running' })
  expect(coding.said(id)).not.toContain('went on')
})

test("the origin is a tag in Claude's transcript, also after `/clear`, and never in a transcript of another program", async () => {
  const { id } = await coding.launch(inline({ text: 'mine' }), { agentId: 'scribe' })
  const tagsOf = (sdkSessionId: string): string[] =>
    readFileSync(findTranscript(coding.real.home.configDir, sdkSessionId)!, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; tag?: string })
      .flatMap(({ type, tag }) => (type === 'tag' ? [tag!] : []))
  const { sdkSessionId } = await coding.until(id, 'awaiting-input')
  await vi.waitFor(() => expect(tagsOf(sdkSessionId!)).toEqual(['rockpool:scribe']))
  await coding.say(id, '/clear')
  const cleared = await coding.say(id, inline({ text: 'still mine' }))
  await vi.waitFor(() => expect(tagsOf(cleared.sdkSessionId!)).toEqual(['rockpool:scribe']))
  const theirs = await coding.real.open({ key: 'theirs' })
  await theirs.turn({ text: inline({ text: 'not yours' }), uuid: crypto.randomUUID() }, () => {})
  const resume = { sdkSessionId: theirs.sdkSessionId!, fork: false }
  await theirs.close()
  const resumed = await coding.launch(inline({ text: 'I only go on' }), { resume })
  await coding.until(resumed.id, 'awaiting-input')
  await coding.house.pool.kill(resumed.id)
  expect(tagsOf(resume.sdkSessionId)).toEqual([])
})

test('a limit that is not raised ends the session before another call is made', async () => {
  const workdir = coding.house.repo('limit')
  writeFileSync(join(workdir, 'a.txt'), 'a')
  const read: Step = { tools: [{ name: 'Read', input: { file_path: join(workdir, 'a.txt') } }] }
  coding.real.api.script('spend-and-stop', [read])
  const { id } = await coding.launch('spend-and-stop', { workdir, budgetUsd: 1 })
  const held = await coding.until(id, 'awaiting-budget')
  await coding.house.approvals.answer(held.waiting!.approvalId!, { behavior: 'deny', by: 'ada' })
  expect(await coding.until(id, 'ended')).toMatchObject({ status: 'failed', end: { reason: 'budget' } })
  expect(coding.real.api.calls().filter((call) => call.text.includes('spend-and-stop'))).toHaveLength(1)
})

test('an API error is a failure with its reason, reported once, and the session can be resumed', async () => {
  const { id } = await coding.launch(inline({ text: 'fine so far' }))
  await coding.until(id, 'awaiting-input')
  await coding.house.pool.respond(id, inline(overloaded), { userInitiated: true })
  const failed = await coding.until(id, 'ended')
  expect(failed).toMatchObject({ status: 'failed', end: { reason: 'turn-failed' } })
  expect(failed.end!.message).toMatch(/overloaded/i)
  const told = (): unknown[] =>
    coding.house.delivered.filter(({ reply }) => reply.text?.startsWith(`❌ [${failed.name}]`))
  await vi.waitFor(() => expect(told()).toHaveLength(1))
  const resumed = await coding.house.pool.resume(id, inline({ text: 'back again' }))
  await coding.until(resumed.id, 'awaiting-input')
  expect(coding.real.api.calls().at(-1)!.text).toContain('fine so far')
})

test('a kill while Claude is only being started leaves no process', async () => {
  const workdir = coding.house.repo('killed-early')
  const { id } = await coding.launch(inline({ text: 'kingfisher' }), { workdir })
  await coding.until(id, 'starting')
  await coding.house.pool.kill(id)
  expect(coding.house.pool.resolve(id)).toMatchObject({ status: 'killed', lifecycle: 'ended' })
  const left = descendantsOf(process.pid).filter(({ pid }) => workingIn(pid) === workdir)
  expect(left).toEqual([])
  expect(coding.real.api.calls().some((call) => call.text.includes('kingfisher'))).toBe(false)
})

test('ten sessions at once: each does its own work in its own repository, and each waits', async () => {
  const repos = Array.from({ length: 10 }, (_, i) => coding.house.repo(`ten-${i}`))
  const launched = await Promise.all(
    repos.map((workdir, i) => {
      const write = { name: 'Write', input: { file_path: join(workdir, 'made.txt'), content: `by ${i}` } }
      const read = { name: 'Read', input: { file_path: join(workdir, 'a.txt') } }
      writeFileSync(join(workdir, 'a.txt'), 'a')
      const prompt = inline({ tools: [read] }, { tools: [write] }, { text: `done ${i}` })
      return coding.launch(prompt, { workdir, allowedTools: ['Read', 'Write'] })
    }),
  )
  for (const [i, { id }] of launched.entries()) {
    await coding.until(id, 'awaiting-input')
    expect(existsSync(join(repos[i]!, 'made.txt'))).toBe(true)
    expect(coding.said(id)).toContain(`done ${i}`)
  }
  await Promise.all(launched.map(({ id }) => coding.house.pool.kill(id)))
})

test('five busy sessions share a limit: together they spend at most one call each beyond it, and continue when it is raised', async () => {
  const shared = await openRealCoding({ budgets: { usdPerDay: 12 } })
  const read = { tools: [{ name: 'Read', input: { file_path: '/etc/hostname' } }] }
  const reads = Array.from({ length: 7 }, () => read)
  shared.real.api.script('spend-together', [
    { ...read, hold: 'all are there' },
    ...reads,
    { text: 'all read' },
  ])
  const launched = await Promise.all(
    Array.from({ length: 5 }, () => shared.launch('spend-together', { allowedTools: ['Read'] })),
  )
  // Whoever starts first must not be done before the last one begins.
  await vi.waitFor(() => expect(shared.real.api.calls()).toHaveLength(5), { timeout: 60_000 })
  shared.real.api.release('all are there')
  for (const { id } of launched) await shared.until(id, 'awaiting-budget')
  const spent = shared.real.api.calls().length
  expect(spent).toBeGreaterThanOrEqual(12)
  expect(spent).toBeLessThanOrEqual(12 + 5)
  const today = new Date().toISOString().slice(0, 10)
  // One that is held before its tool learns a moment later what the call cost that asked for it.
  await vi.waitFor(() => expect(shared.house.spend.total({}, today)).toBe(spent))
  for (const { id } of launched) {
    const { waiting } = shared.house.pool.resolve(id)
    await shared.house.approvals.answer(waiting!.approvalId!, { behavior: 'allow', text: '100', by: 'ada' })
  }
  for (const { id } of launched) await shared.until(id, 'awaiting-input')
  expect(shared.real.api.calls()).toHaveLength(5 * 9)
  await shared.close()
})

test.each([3, 5])(
  'three sub-agents side by side and a limit of %i calls: at most one call goes beyond it, and all is done when it is raised',
  async (budgetUsd) => {
    const read = { startDelayMs: 300, tools: [{ name: 'Read', input: { file_path: '/etc/hostname' } }] }
    const agents = [0, 1, 2].map((n) => {
      const steps = [{ ...read, startDelayMs: 300 + 150 * n }, read, read, { text: 'inner' }]
      const input = { description: 'Look', subagent_type: 'general-purpose', run_in_background: false }
      return { name: 'Agent', input: { ...input, prompt: inline(...steps) } }
    })
    const { id } = await coding.launch(inline({ tools: agents }, { text: 'outer' }), {
      budgetUsd,
      allowedTools: ['Read'],
    })
    const held = await coding.until(id, 'awaiting-budget')
    const calls = () => coding.real.api.calls().filter((call) => call.sdkSessionId === held.sdkSessionId)
    // What is under way comes to its end; nothing follows it.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    expect(calls().length).toBeLessThanOrEqual(budgetUsd + 1)
    console.log(`three sub-agents, a limit of ${budgetUsd} calls: ${calls().length} were made`)
    const more = { behavior: 'allow', text: '100', by: 'ada' } as const
    await coding.house.approvals.answer(held.waiting!.approvalId!, more)
    await coding.until(id, 'awaiting-input')
    expect(coding.said(id)).toContain('outer')
    // Its own two, and four of each sub-agent.
    expect(calls()).toHaveLength(14)
  },
)
