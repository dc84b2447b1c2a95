// Coding sessions as people run them: the built program, the real Claude binary, a gateway that is killed. With five
// sessions, and every other command: test/full/coding-program.test.ts.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { codingJourneys, sleeping } from './support/coding-journeys.ts'
import { inline } from './support/messages-api.ts'
import type { Step } from './support/messages-api.ts'

const here = codingJourneys()
const waiting = { timeout: 60_000, interval: 50 }

/** Leaves two processes behind that are not below Claude any more. */
const detaching: Step = {
  tools: [
    { name: 'Bash', input: { command: 'setsid sleep 300 > /dev/null 2>&1 &\nsleep 300 > /dev/null 2>&1 &' } },
  ],
}

test('`cc launch --wait` runs in its own process, is answered from another terminal without any gateway, and leaves nothing behind', async () => {
  const touch = { tools: [{ name: 'Bash', input: { command: 'touch from-afar' } }] }
  const { child, ended } = here.begin([touch, { text: 'the heron is home' }], '--name', 'asker', '--wait')
  let said = ''
  child.stderr!.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await vi.waitFor(
    () =>
      expect(said).toMatch(
        /asker wants to run a command\n +touch from-afar[^]*asker waits for you\. Allow: rockpool cc approve [0-9a-f]{8}/,
      ),
    waiting,
  )
  expect(here.asked()).toMatchObject([{ shown: expect.stringMatching(/^touch from-afar\ndirectory: /) }])
  // Without a terminal, nothing that was not named is allowed.
  const unnamed = await here.run('cc', 'approve')
  expect(unnamed).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/Which request\? [0-9a-f]{8} \(asker, Bash\)/),
  })
  expect((await here.run('cc', 'approve', here.asked()[0]!.id)).code).toBe(0)
  const ran = await ended
  expect(ran.stdout).toContain('the heron is home')
  const earlier = here.stored('asker')
  expect(existsSync(join(earlier.request.workdir, 'from-afar'))).toBe(true)
  expect(here.isClaudeRunning()).toBe(false)
  expect(earlier).toMatchObject({ lifecycle: 'suspended', end: { reason: 'shutdown' } })
  const again = await here.run('cc', 'resume', 'asker', inline({ text: 'and it stays' }), '--wait', '--json')
  expect(again.json()).toMatchObject({ name: 'asker', claudeSessionId: earlier.sdkSessionId })
  expect(JSON.stringify(here.api.calls().at(-1)?.body.messages)).toContain('the heron is home')
})

test('`cc launch --wait` of a session that fails says why, what helps, and ends with 1', async () => {
  const broken = { status: 400, errorType: 'invalid_request_error', message: 'the tide is out' }
  const ran = await here.launch([broken], '--name', 'stranded', '--wait')
  expect(ran.stdout).toMatch(/the tide is out[\s\S]*`rockpool cc resume stranded`/)
  expect(ran.stdout).not.toMatch(/no output yet|send it again/)
  expect(ran.code).toBe(1)
})

test('`cc launch` starts a gateway; after a kill -9 any command finds its session, its processes end, it is reported once and resumed with its last message', async () => {
  const args = ['--name', 'sleeper', '--allowed-tools', 'Bash', '--origin-channel', 'telegram|-42', '--json']
  const ran = await here.launch([detaching, sleeping], ...args)
  const pid = Number(/started one in the background \(process (\d+)\)/.exec(ran.stderr)![1])
  const gateway = JSON.parse(readFileSync(join(here.claude.stateDir, 'gateway.json'), 'utf8')) as {
    process: { pid: number }
  }
  expect(gateway.process.pid).toBe(pid)
  const { id } = await here.untilStored('sleeper', {
    lifecycle: 'active',
    doing: expect.stringMatching(/^Bash.*python3/),
  })
  // It joins the turn: Claude has it, and writes it down only when its tool is done.
  await here.run('cc', 'respond', 'sleeper', inline({ text: 'the gap is minded' }))
  await vi.waitFor(() => expect(here.stored(id).given).toHaveLength(2), waiting)
  process.kill(pid, 'SIGKILL')
  // No gateway runs: the command itself finds what the dead one left.
  const resumed = await here.run('cc', 'resume', 'sleeper', inline({ text: 'awake' }), '--wait', '--json')
  expect(resumed.json()).toMatchObject({ lifecycle: 'awaiting-input', turns: 2 })
  expect(resumed.json()['output']).toMatch(/the gap is minded\n(.*\n)*awake/)
  expect(here.stored(id)).toMatchObject({ status: 'completed', lifecycle: 'suspended' })
  await vi.waitFor(() => expect(here.isClaudeRunning()).toBe(false), waiting)
  const told = here.noticesOf(id).filter((notice) => notice.includes('Rockpool stopped while it ran'))
  expect(told).toHaveLength(1)
})
