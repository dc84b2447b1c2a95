// `sessions.compact` with the real Claude binary: as a command that asks the gateway, and said in a conversation.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeClaudeHome, testModel } from '../support/claude-home.ts'
import { inline, startMessagesApi } from '../support/messages-api.ts'
import { startProgram } from '../support/program.ts'
import type { Ran } from '../support/program.ts'

test('compact asks Claude for it: as a command through the gateway, and said in a conversation', async () => {
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, name: 'compact' })
  const config = { agents: { defaults: { model: testModel } }, claude: { maxRetries: 0 } }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  const { variables } = home
  const run = (args: string[]): Promise<Ran> => startProgram(args, variables).ended
  const gateway = startProgram(['up', '--port', '0', '--json'], variables)
  await gateway.line
  try {
    await run(['agent', '-m', `My name is Ada. ${inline({ text: 'Hello Ada.' })}`])
    const asked = (): number => api.requests.filter(({ kind }) => kind === 'summary').length
    const compacted = await run(['sessions', 'compact', 'main', '--json'])
    expect(JSON.parse(compacted.stdout)).toMatchObject({ compacted: true, claudeUnchanged: false })
    expect(asked()).toBe(1)
    await run(['agent', '-m', `And again. ${inline({ text: 'Yes, Ada.' })}`])
    expect((await run(['agent', '-m', '/compact'])).code).toBe(0)
    expect(asked()).toBe(2)
    const { entry } = JSON.parse((await run(['sessions', 'get', 'main', '--json'])).stdout) as {
      entry: object
    }
    expect(entry).toMatchObject({ compactionCount: 2 })
  } finally {
    gateway.child.kill('SIGTERM')
    await gateway.ended
    await api.close()
    home.remove()
  }
})
