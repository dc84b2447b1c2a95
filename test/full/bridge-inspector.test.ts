// The MCP inspector's command line calls the six tools of the bridge, as somebody would who tries them out. It is large, so
// it is fetched into a folder of its own; where it cannot be had the test says so.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

test("the MCP inspector's command line calls the six tools of the bridge and gets live answers", async (context) => {
  const program = 'path' in inspector ? inspector.path : context.skip(inspector.missing)
  const repo = join(home.dir, 'boats')
  execFileSync('git', ['init', '-q', '-b', 'trunk', repo])
  const slug = join(home.dir, 'claude', 'projects', repo.replace(/[^a-zA-Z0-9]/g, '-'))
  const sessionId = '11111111-2222-4333-8444-555555555555'
  const said = { role: 'user', content: 'Mend the sails' }
  mkdirSync(slug, { recursive: true })
  writeFileSync(
    join(slug, `${sessionId}.jsonl`),
    `${JSON.stringify({ type: 'user', uuid: 'a', parentUuid: null, sessionId, cwd: repo, message: said, timestamp: '2026-11-14T10:00:00.000Z' })}\n`,
  )
  await home.run(['memory', 'add', 'The sails are green.'])
  expect(await call(program, repo, 'openclaw_memory_search', 'query=sails')).toContain('The sails are green.')
  expect(await call(program, repo, 'openclaw_project_status')).toContain('trunk')
  expect(await call(program, repo, 'openclaw_session_list', 'include_native=true')).toContain(
    'Mend the sails',
  )
  expect(await call(program, repo, 'openclaw_session_info')).toContain('costAccumulatedUsd')
  // No chat stands behind this session: both say so instead of making something up.
  expect(await call(program, repo, 'openclaw_conversation_context')).toMatch(/conversation|chat/i)
  expect(await call(program, repo, 'openclaw_announce', 'message=Half done')).toMatch(/chat|announce/i)
})

async function call(program: string, repo: string, tool: string, ...args: string[]): Promise<string> {
  const variables = ['HOME', 'ROCKPOOL_STATE_DIR', 'CLAUDE_CONFIG_DIR'].flatMap((name) => [
    '-e',
    `${name}=${home.env[name]}`,
  ])
  const server = [process.execPath, programFile, 'mcp', '--bridge', '--repo', repo]
  const question = [
    '--method',
    'tools/call',
    '--tool-name',
    tool,
    ...args.flatMap((arg) => ['--tool-arg', arg]),
  ]
  const env = { ...home.env, PATH: process.env['PATH'] ?? '' }
  const options = { env, timeout: 60_000, maxBuffer: 16 << 20 }
  const { stdout } = await run(program, ['--cli', ...variables, ...server, ...question], options).catch(
    // A tool that says no gives an answer too.
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
  )
  return stdout
}
