// The MCP inspector's command line, as people use it, lists a session. It is large, so it is fetched into a folder of its
// own; where it cannot be had the test says so.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { peerProgram } from '../support/peer-program.ts'
import { makeHome, programFile } from '../support/program.ts'
import type { Home } from '../support/program.ts'

const run = promisify(execFile)
const inspector = peerProgram('@modelcontextprotocol/inspector@2.12.0', 'mcp-inspector')

let home: Home
beforeAll(() => {
  home = makeHome()
})
afterAll(() => home.remove())

test("the MCP inspector's command line lists the tools and a session", async (context) => {
  const program = 'path' in inspector ? inspector.path : context.skip(inspector.missing)
  await home.run(['sessions', 'patch', 'main', '--label', 'home'])
  const tools = await inspect(program, '--method', 'tools/list')
  expect(JSON.parse(tools)).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'sessions_list' })]),
  })
  const called = await inspect(
    program,
    '--method',
    'tools/call',
    '--tool-name',
    'sessions_list',
    '--tool-arg',
    'limit=1',
  )
  expect(JSON.parse(called)).toMatchObject({
    structuredContent: { sessions: [{ key: 'agent:main:main', label: 'home' }] },
  })
})

async function inspect(program: string, ...question: string[]): Promise<string> {
  const state = `ROCKPOOL_STATE_DIR=${home.env['ROCKPOOL_STATE_DIR']}`
  const args = ['--cli', '-e', state, process.execPath, programFile, 'mcp', '--scope', 'read', ...question]
  const env = { ...home.env, PATH: process.env['PATH'] ?? '' }
  return (await run(program, args, { env, timeout: 60_000, maxBuffer: 16 << 20 })).stdout
}
