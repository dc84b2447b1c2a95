// Claude's usage limit with the real binary: a session is stopped in the middle of its work, the gateway restarts meanwhile, and after
// the reset the session continues once, with its context.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { codingJourneys } from '../support/coding-journeys.ts'
import { rateLimited } from '../support/messages-api.ts'
import type { Step } from '../support/messages-api.ts'

const here = codingJourneys()
const unified = 'anthropic-ratelimit-unified'

function limitUntil(seconds: number): Step {
  const reset = String(seconds)
  const headers = {
    [`${unified}-status`]: 'rejected',
    [`${unified}-reset`]: reset,
    [`${unified}-representative-claim`]: 'five_hour',
    [`${unified}-5h-status`]: 'rejected',
    [`${unified}-5h-utilization`]: '1.01',
    [`${unified}-5h-reset`]: reset,
    [`${unified}-7d-status`]: 'allowed',
    [`${unified}-7d-utilization`]: '0.42',
    [`${unified}-7d-reset`]: String(seconds + 86_400),
  }
  return { ...rateLimited(), headers }
}

test('a session that the limit stops continues once after the reset, with its context, although the gateway restarted', async () => {
  const { variables, stateDir } = here.claude
  delete variables['ANTHROPIC_API_KEY']
  variables['CLAUDE_CODE_OAUTH_TOKEN'] = 'sk-ant-oat01-test'
  writeFileSync(join(stateDir, 'rockpool.json'), JSON.stringify({ coding: { continueAfterLimit: true } }))
  const resetsAt = Math.floor(Date.now() / 1_000) + 45
  const first = await here.startGateway()
  const steps: Step[] = [
    { text: 'the heron is grey', tools: [{ name: 'Bash', input: { command: 'echo grey-heron' } }] },
    limitUntil(resetsAt),
  ]
  here.api.script('usage limit is reset', [{ text: 'continued' }])
  await here.launch(steps, '--name', 'heron', '--allowed-tools', 'Bash', '--json')
  const limited = await here.untilStored('heron', { lifecycle: 'suspended' })
  expect(limited.end).toMatchObject({
    reason: 'usage-limit',
    limit: { until: resetsAt * 1_000, window: 'five_hour' },
  })
  const status = (await here.run('status', '--json')).json() as { usage: object[]; coding: object }
  expect(status.coding).toMatchObject({ limited: [{ name: 'heron', until: resetsAt * 1_000 }] })
  expect(status.usage).toMatchObject([
    { window: 'five_hour', state: 'used up', resetsAt: resetsAt * 1_000 },
    { window: 'seven_day', usedPercent: 42, state: 'open' },
  ])
  const list = (await here.run('cc', 'list', '--json')).json() as { sessions: Array<{ state: string }> }
  expect(list.sessions[0]!.state).toBe('limited')
  first.child.kill('SIGKILL')
  await first.ended
  expect(here.stored('heron').lifecycle).toBe('suspended')
  const second = await here.startGateway()
  await vi.waitFor(() => expect(here.stored('heron').lastWords).toBe('continued'), 150_000)
  expect(Date.now()).toBeGreaterThan(resetsAt * 1_000)
  const asked = here.api.calls().filter(({ prompt }) => prompt.includes('usage limit is reset'))
  expect(asked).toHaveLength(1)
  // The work before the limit is in its context.
  expect(asked[0]!.text).toContain('the heron is grey')
  expect(asked[0]!.text).toContain('grey-heron')
  second.child.kill('SIGTERM')
  await second.ended
  const third = await here.startGateway()
  await vi.waitFor(() => expect(here.stored('heron').lifecycle).not.toBe('active'))
  expect(here.api.calls().filter(({ prompt }) => prompt.includes('usage limit is reset'))).toHaveLength(1)
  third.child.kill('SIGTERM')
  await third.ended
})
