// The MCP inspector's command line, as people use it, lists a session. It is large, so it is fetched into a folder of its
// own; where it cannot be had the test says so.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeHome, programFile } from '../program.ts'
import type { Home } from '../program.ts'

const run = promisify(execFile)
const inspector = '@modelcontextprotocol/inspector@2.12.0'

let home: Home
let folder: string
let lack: string | undefined
beforeAll(async () => {
  home = makeHome()
  folder = mkdtempSync(join(tmpdir(), 'rockpool-inspector-'))
  const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', inspector]
  lack = await run('npm', args, { timeout: 240_000 }).then(
    () => undefined,
    (error: unknown) => `${inspector} cannot be installed here: ${String(error).slice(0, 200)}`,
  )
}, 300_000)
afterAll(() => {
  home.remove()
  rmSync(folder, { recursive: true, force: true })
})

test("the MCP inspector's command line lists the tools and a session", async (context) => {
  if (lack !== undefined) context.skip(lack)
  await home.run(['sessions', 'patch', 'main', '--label', 'home'])
  const tools = await inspect('--method', 'tools/list')
  expect(JSON.parse(tools)).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'sessions_list' })]),
  })
  const called = await inspect(
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

async function inspect(...question: string[]): Promise<string> {
  const program = join(folder, 'node_modules', '.bin', 'mcp-inspector')
  const state = `ROCKPOOL_STATE_DIR=${home.env['ROCKPOOL_STATE_DIR']}`
  const args = ['--cli', '-e', state, process.execPath, programFile, 'mcp', '--scope', 'read', ...question]
  const env = { ...home.env, PATH: process.env['PATH'] ?? '' }
  return (await run(program, args, { env, timeout: 60_000, maxBuffer: 16 << 20 })).stdout
}
