// Coding sessions at full size, with the real Claude binary: ten at once, five with one limit, and what else may go wrong.
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findTranscript } from '../../src/agent/resume.ts'
import { descendantsOf } from '../../src/store/process-identity.ts'
import { inline, overloaded } from '../messages-api.ts'
import type { Step } from '../messages-api.ts'
import { openRealCoding } from '../real-coding.ts'
import type { RealCoding } from '../real-coding.ts'

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

const workingIn = (pid: number): string | undefined => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // It has just ended.
    return undefined
  }
}
test('a plan that is rejected ends the turn, and nothing of it is done', async () => {
  const workdir = house.repo('plan')
  const plan: Step = { tools: [{ name: 'ExitPlanMode', input: { plan: '1. delete it all' } }] }
  const { id } = await launch(inline(plan, { text: 'went on' }), { workdir, permissionMode: 'plan' })
  const asked = await until(id, 'awaiting-plan')
  await house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'deny', by: 'ada' })
  expect(await until(id, 'awaiting-input')).toMatchObject({ status: 'running' })
  expect(said(id)).not.toContain('went on')
})

test("the origin stands in Claude's transcript as a tag, also after `/clear`, and never on what was somebody else's", async () => {
  const { id } = await launch(inline({ text: 'mine' }), { agentId: 'scribe' })
  const tagsOf = (sdkSessionId: string): string[] =>
    readFileSync(findTranscript(real.home.configDir, sdkSessionId)!, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; tag?: string })
      .flatMap(({ type, tag }) => (type === 'tag' ? [tag!] : []))
  const { sdkSessionId } = await until(id, 'awaiting-input')
  await vi.waitFor(() => expect(tagsOf(sdkSessionId!)).toEqual(['rockpool:scribe']))
  await say(id, '/clear')
  const cleared = await say(id, inline({ text: 'still mine' }))
  await vi.waitFor(() => expect(tagsOf(cleared.sdkSessionId!)).toEqual(['rockpool:scribe']))
  const theirs = await real.open({ key: 'theirs' })
  await theirs.turn({ text: inline({ text: 'not yours' }), uuid: crypto.randomUUID() }, () => {})
  const resume = { sdkSessionId: theirs.sdkSessionId!, fork: false }
  await theirs.close()
  const resumed = await launch(inline({ text: 'I only go on' }), { resume })
  await until(resumed.id, 'awaiting-input')
  await house.pool.kill(resumed.id)
  expect(tagsOf(resume.sdkSessionId)).toEqual([])
})

test('a limit that nobody raises ends the session before another call is made', async () => {
  const workdir = house.repo('limit')
  writeFileSync(join(workdir, 'a.txt'), 'a')
  const read: Step = { tools: [{ name: 'Read', input: { file_path: join(workdir, 'a.txt') } }] }
  real.api.script('spend-and-stop', [read])
  const { id } = await launch('spend-and-stop', { workdir, budgetUsd: 1 })
  const held = await until(id, 'awaiting-budget')
  await house.approvals.answer(held.waiting!.approvalId!, { behavior: 'deny', by: 'ada' })
  expect(await until(id, 'ended')).toMatchObject({ status: 'failed', end: { reason: 'budget' } })
  expect(real.api.calls().filter((call) => call.text.includes('spend-and-stop'))).toHaveLength(1)
})

test('an error of the API is a failure with its reason, told once, and the session can be resumed', async () => {
  const { id } = await launch(inline({ text: 'fine so far' }))
  await until(id, 'awaiting-input')
  await house.pool.respond(id, inline(overloaded), { userInitiated: true })
  const failed = await until(id, 'ended')
  expect(failed).toMatchObject({ status: 'failed', end: { reason: 'turn-failed' } })
  expect(failed.end!.message).toMatch(/overloaded/i)
  const told = house.delivered.filter(({ reply }) => reply.text?.startsWith(`❌ [${failed.name}]`))
  expect(told).toHaveLength(1)
  const resumed = await house.pool.resume(id, inline({ text: 'back again' }))
  await until(resumed.id, 'awaiting-input')
  expect(real.api.calls().at(-1)!.text).toContain('fine so far')
})

test('a kill while Claude is only being started leaves no process', async () => {
  const workdir = house.repo('killed-early')
  const { id } = await launch(inline({ text: 'kingfisher' }), { workdir })
  await until(id, 'starting')
  await house.pool.kill(id)
  expect(house.pool.resolve(id)).toMatchObject({ status: 'killed', lifecycle: 'ended' })
  const left = descendantsOf(process.pid).filter(({ pid }) => workingIn(pid) === workdir)
  expect(left).toEqual([])
  expect(real.api.calls().some((call) => call.text.includes('kingfisher'))).toBe(false)
})

test('ten sessions at once: each does its own work in its own repository, and each waits', async () => {
  const repos = Array.from({ length: 10 }, (_, i) => house.repo(`ten-${i}`))
  const launched = await Promise.all(
    repos.map((workdir, i) => {
      const write = { name: 'Write', input: { file_path: join(workdir, 'made.txt'), content: `by ${i}` } }
      const read = { name: 'Read', input: { file_path: join(workdir, 'a.txt') } }
      writeFileSync(join(workdir, 'a.txt'), 'a')
      const prompt = inline({ tools: [read] }, { tools: [write] }, { text: `done ${i}` })
      return launch(prompt, { workdir, allowedTools: ['Read', 'Write'] })
    }),
  )
  for (const [i, { id }] of launched.entries()) {
    await until(id, 'awaiting-input')
    expect(existsSync(join(repos[i]!, 'made.txt'))).toBe(true)
    expect(said(id)).toContain(`done ${i}`)
  }
  await Promise.all(launched.map(({ id }) => house.pool.kill(id)))
})

test('five sessions at work share a limit: together they spend at most one call each beyond it, and go on when it is raised', async () => {
  const shared = await openRealCoding({ budgets: { usdPerDay: 12 } })
  const read = { tools: [{ name: 'Read', input: { file_path: '/etc/hostname' } }] }
  shared.real.api.script('spend-together', [...Array.from({ length: 8 }, () => read), { text: 'all read' }])
  const launched = await Promise.all(
    Array.from({ length: 5 }, () => shared.launch('spend-together', { allowedTools: ['Read'] })),
  )
  for (const { id } of launched) await shared.until(id, 'awaiting-budget')
  const spent = shared.real.api.calls().length
  expect(spent).toBeGreaterThanOrEqual(12)
  expect(spent).toBeLessThanOrEqual(12 + 5)
  const today = new Date().toISOString().slice(0, 10)
  expect(shared.house.spend.total({}, today)).toBe(spent)
  for (const { id } of launched) {
    const { waiting } = shared.house.pool.resolve(id)
    await shared.house.approvals.answer(waiting!.approvalId!, { behavior: 'allow', text: '100', by: 'ada' })
  }
  for (const { id } of launched) await shared.until(id, 'awaiting-input')
  expect(shared.real.api.calls()).toHaveLength(5 * 9)
  await shared.close()
})
