import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { originalId, TrimmableTranscript } from '../../../test/support/trimmable-transcript.ts'
import { openApp } from '../../app.ts'
import { readEnvironment } from '../../store/config-file.ts'
import { perform } from '../all.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

const home = mkdtempSync(join(tmpdir(), 'rockpool-cc-handoff-'))
const recorded = join(import.meta.dirname, '../../../test/fixtures/agents')
const codexId = '01a1e4c8-ef42-70d2-bd42-fae609cc165c'
const codexFile = `2026/11/16/rollout-2026-11-16T14-35-36-${codexId}.jsonl`
const claudeFile = join(home, '.claude/projects/-code-shop', `${originalId}.jsonl`)
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const agent: Caller = { via: 'mcp', scopes: ['read', 'write'], agentId: 'main' }
let app: App

beforeAll(async () => {
  const rollout = join(home, '.codex/sessions', codexFile)
  cpSync(join(recorded, 'codex/home/sessions', codexFile), rollout)
  // The folder of the session must exist.
  writeFileSync(rollout, readFileSync(rollout, 'utf8').replaceAll('/home/dev/projects/demo', home))
  const talk = new TrimmableTranscript({ cwd: home, timestamp: '2025-11-15T10:00:00.000Z' })
  talk.prompt('Look at the harbour').call('Bash', { command: 'ls' }, 'boats.md')
  mkdirSync(join(claudeFile, '..'), { recursive: true })
  writeFileSync(claudeFile, talk.call('WebSearch', { query: 'boats' }, 'many boats').text())
  app = await openApp(readEnvironment({ HOME: home, CLAUDE_CONFIG_DIR: join(home, '.claude') }), {
    version: 'test',
  })
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

interface Handed {
  sessionId?: string
  filePath?: string
  resume: string
  turns: number
  leftOut: Array<{ what: string; count: number }>
  price: { tokens: number; model?: string; usd?: number }
}

function handOver(id: string, to: string, more: object = {}): Promise<Handed> {
  return perform(app, 'cc.handoff', { id, to, ...more }, operator) as Promise<Handed>
}

/** Who said what, as the reader of the new session reads it. */
async function spoken(id: string): Promise<string[]> {
  const { records } = await app.discovery().conversation(id)
  return records.flatMap((record) => {
    if (record.kind === 'prompt' || record.kind === 'answer') return [`${record.kind} ${record.text}`]
    return record.kind === 'tool-call' ? [`${record.name} ${JSON.stringify(record.input)}`] : []
  })
}

test('the search finds what was said in a session of another agent', async () => {
  const question = { query: 'mentioned it in the README' }
  const { hits } = (await perform(app, 'sessions.search', question, operator)) as { hits: object[] }
  expect(hits[0]).toMatchObject({
    sessionId: codexId,
    title: 'List the files, then add a greeting',
    snippet: expect.stringContaining('Added greet.js'),
  })
})

test('a session of Codex becomes a session of Claude Code, and stays as it was', async () => {
  const before = readFileSync(join(home, '.codex/sessions', codexFile))
  const handed = await handOver(codexId, 'claude')
  expect(await spoken(handed.sessionId!)).toEqual([
    'prompt List the files, then add a greeting',
    'Bash {"command":"ls -1"}',
    expect.stringMatching(/^answer I called the tool apply_patch with .*greet\.js/),
    'Bash {"command":"false && echo no; exit 3"}',
    'answer Added greet.js and mentioned it in the README.',
  ])
  const listed = await app.discovery().get(handed.sessionId!)
  expect(listed).toMatchObject({ agentKind: 'claude', repoPath: home, branch: 'main', costUsd: 0 })
  expect(handed.leftOut.map(({ what, count }) => `${count} ${what}`)).toEqual([
    '1 reasoning',
    '1 tool calls in their own form',
  ])
  expect(handed.resume).toBe(`cd ${home} && claude --resume ${handed.sessionId}`)
  expect(readFileSync(join(home, '.codex/sessions', codexFile)).equals(before)).toBe(true)
})

test.each(['codex', 'pi'])('a session of Claude Code becomes a session of %s', async (to) => {
  const { sessionId, price } = await handOver(originalId, to)
  const said = await spoken(sessionId!)
  expect(said[0]).toBe('prompt Look at the harbour')
  expect(said[1]).toBe(to === 'codex' ? 'exec_command {"cmd":"ls"}' : 'bash {"command":"ls"}')
  expect(said[2]).toContain('many boats')
  expect(await app.discovery().get(sessionId!)).toMatchObject({ agentKind: to, repoPath: home })
  expect(price.tokens).toBeGreaterThan(16_000)
})

test('a brief has the task, the changed files and the last answer; a dry run writes nothing', async () => {
  const count = (await app.discovery().ids()).size
  const { turns } = await handOver(codexId, 'claude', { brief: true, dryRun: true })
  expect(turns).toBe(2)
  expect((await app.discovery().ids()).size).toBe(count)
  const { sessionId } = await handOver(codexId, 'claude', { brief: true })
  const [brief] = await spoken(sessionId!)
  expect(brief).toContain('The task:\nList the files, then add a greeting')
  expect(brief).toContain(`- ${home}/greet.js`)
  expect(brief).toContain('The last answer:\nAdded greet.js')
})

test('nothing is handed over to the same agent, or by an agent that does not own the session', async () => {
  await expect(handOver(codexId, 'codex')).rejects.toMatchObject({ code: 'refused' })
  await expect(perform(app, 'cc.handoff', { id: codexId, to: 'pi' }, agent)).rejects.toMatchObject({
    code: 'not-found',
  })
})
