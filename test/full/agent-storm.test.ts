// Many crashes and many interruptions with the real Claude binary: nothing is left running, nothing grows.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { identifyProcess, isSameProcess } from '../../src/store/disk/process-identity.ts'
import { descendantsOf } from '../support/descendants.ts'
import type { TestAgent } from '../support/claude-agent.ts'
import { makeTestAgent, prompt, take } from '../support/claude-agent.ts'
import { makeClaudeHome } from '../support/claude-home.ts'
import { inline } from '../support/messages-api.ts'

let t: TestAgent
beforeAll(async () => void (t = await makeTestAgent()))
afterAll(() => t.close())

const sleeping = inline(
  { tools: [{ name: 'Bash', input: { command: 'python3 -c "import time; time.sleep(300)"' } }] },
  { text: 'never' },
)

test('12 crashes of a Rockpool with 4 working sessions each leave no process after 5 seconds', async () => {
  for (let round = 0; round < 12; round++) {
    const home = makeClaudeHome({ apiUrl: t.api.url, name: 'storm' })
    const script = join(home.root, 'storm.ts')
    writeFileSync(
      script,
      `import { makeTestAgent, prompt } from ${JSON.stringify(join(import.meta.dirname, '../support/claude-agent.ts'))}
       const place = JSON.parse(process.argv[2])
       const t = await makeTestAgent({}, { api: place.api, home: { ...place.home, remove: () => {} } })
       const open = (key) => t.open({ key, askPermission: async () => ({ behavior: 'allow' }) })
       const conversations = await Promise.all(['a', 'b', 'c', 'd'].map(open))
       console.log(conversations.map((conversation) => conversation.pid).join(' '))
       await Promise.all(conversations.map((c) => c.turn(prompt(place.text), () => {})))`,
    )
    const place = JSON.stringify({ api: { url: t.api.url }, home, text: sleeping })
    const rockpool = spawn(process.execPath, [script, place], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(rockpool.stdout, 'data')) as [Buffer]
    const roots = line
      .toString()
      .trim()
      .split(' ')
      .map((pid) => identifyProcess(Number(pid))!)
    // Not always in the middle of the tools: now and then while they start.
    if (round % 3 > 0) {
      await expect
        .poll(() => roots.every((root) => descendantsOf(root.pid).length >= 2), { timeout: 30_000 })
        .toBe(true)
    }
    const tree = [...roots, ...roots.flatMap((root) => descendantsOf(root.pid))]
    rockpool.kill('SIGKILL')
    await expect.poll(() => tree.filter(isSameProcess), { timeout: 5_000, interval: 50 }).toEqual([])
    home.remove()
  }
})

test('100 interruptions leave the conversation usable, and nothing open', async () => {
  const conversation = await t.open({ key: 'interrupted' })
  await take(conversation, inline({ text: 'warm' }))
  const openFiles = (): number => readdirSync('/proc/self/fd').length
  const before = openFiles()
  for (let round = 0; round < 100; round++) {
    const { promise: began, resolve } = Promise.withResolvers<void>()
    const slow = inline({ text: 'one two three four five six seven', chunkSize: 4, chunkDelayMs: 20 })
    const turn = conversation.turn(prompt(`${round} ${slow}`), (event) => {
      if (event.type === 'text-delta') resolve()
    })
    await began
    await conversation.interrupt()
    expect(['interrupted', 'completed']).toContain((await turn).end.kind)
  }
  expect((await take(conversation, inline({ text: 'Still here.' }))).text).toBe('Still here.')
  expect(openFiles()).toBeLessThanOrEqual(before + 5)
})
