// The plugin in the oldest Claude Code that it supports: which events arrive, and what `claude-plugin status` says is missing there.
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Mail } from '../../src/domain/mail.ts'
import { makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { openClaudeTerminal, type ClaudeTerminal } from '../support/claude-terminal.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { peerProgram } from '../support/peer-program.ts'
import { startProgram, type Running } from '../support/program.ts'
import { noTerminal } from '../support/terminal.ts'

const version = '2.1.200'
const patience = { timeout: 30_000, interval: 100 }
/** Why the tests cannot run here. */
let missing = noTerminal
let api: MessagesApi
let home: ClaudeHome
let gateway: Running
let terminal: ClaudeTerminal

beforeAll(async () => {
  const found = peerProgram(`@anthropic-ai/claude-code@${version}`, 'claude')
  if ('missing' in found) missing ??= found.missing
  if (missing !== undefined || !('path' in found)) return
  // The package is a link to the program of the platform.
  const binary = join(dirname(found.path), '../@anthropic-ai/claude-code-linux-x64/claude')
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'oldest' })
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify({ claude: { binary } }))
  await rockpool('claude-plugin', 'install', '--yes')
  gateway = startProgram(['up', '--port', '0', '--json'], home.variables)
  await gateway.line
  terminal = await openClaudeTerminal(home, '', binary)
})

beforeEach((ctx) => {
  if (missing !== undefined) ctx.skip(missing)
})

afterAll(async () => {
  terminal?.close()
  gateway?.child.kill('SIGTERM')
  await gateway?.ended
  await api?.close()
  home?.remove()
})

async function rockpool<Output>(...args: string[]): Promise<Output> {
  const ran = await startProgram([...args, '--json'], home.variables).ended
  if (ran.code !== 0) throw new Error(ran.stdout + ran.stderr)
  return ran.json() as unknown as Output
}

test('the status says what is missing in that version', async () => {
  const status = await rockpool<{ claudeVersion: string; missing: string[] }>('claude-plugin', 'status')
  expect(status.claudeVersion).toBe(version)
  expect(status.missing).toEqual([
    expect.stringContaining(`Claude Code ${version} may not report what resuming a session costs`),
  ])
})

test('a permission is allowed from outside, and the terminal says so', async () => {
  const tools = [{ name: 'Bash', input: { command: 'mkdir by-page' } }]
  api.script('make it', [{ tools }, { text: 'It is done.' }])
  await terminal.prompt('make it')
  const asked = await vi.waitFor(async () => {
    const { approvals } = await rockpool<{ approvals: Array<{ id: string }> }>('approvals', 'list')
    expect(approvals).toHaveLength(1)
    return approvals[0]!
  }, patience)
  await rockpool('approvals', 'answer', asked.id)
  await terminal.shows('It is done.')
  expect(existsSync(join(home.project, 'by-page'))).toBe(true)
})

test('a message wakes the idle session, and another one reaches it while it works', async () => {
  const received = (body: string) =>
    api.requested(({ kind, text }) => kind === 'messages' && text.includes(`> ${body}`), 30_000)
  const session = api.calls().at(-1)!.sdkSessionId!
  const { id } = await rockpool<Mail>('mail', 'send', session, 'wake up')
  await received('wake up')
  await vi.waitFor(
    async () => expect((await rockpool<Mail>('mail', 'read', id)).state).toBe('read'),
    patience,
  )
  api.script('work now', [
    { hold: 'busy', tools: [{ name: 'Bash', input: { command: 'ls' } }] },
    { text: 'Worked.' },
  ])
  await terminal.prompt('work now')
  await api.requested(({ prompt }) => prompt.includes('work now'))
  await rockpool('mail', 'send', session, 'while you work')
  api.release('busy')
  await received('while you work')
  await terminal.shows('Worked.')
})
