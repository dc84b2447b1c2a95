// `why` about lines of sessions that only the vault still has: of another agent than Claude Code, and in an encrypted vault.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../src/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { perform } from '../../src/operations/all.ts'
import type { App } from '../../src/operations/app.ts'
import type { Caller } from '../../src/operations/operation.ts'

const id = '01a1e4c8-ef42-70d2-bd42-fae609cc165c'
const line = "export const anchor = 'two tons of iron, forged in the north'"
const operator: Caller = { via: 'cli', scopes: ['admin'] }
let [home, rollout] = ['', '']
let app: App

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-why-kept-')))
  const [repo, folder] = [join(home, 'shop'), join(home, '.codex/sessions/2026/09/21')]
  for (const path of [repo, folder]) mkdirSync(path, { recursive: true })
  writeFileSync(join(repo, 'anchor.ts'), `${line}\n`)
  const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd: repo, stdio: 'pipe' })
  git('init', '-q', '-b', 'main')
  git('add', '-A')
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '-q', '-m', 'Add the anchor')
  rollout = join(folder, `rollout-2026-09-21T10-00-00-${id}.jsonl`)
  writeFileSync(rollout, codexSession(repo))
})
afterEach(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

function codexSession(cwd: string): string {
  const timestamp = new Date(Date.now() - 60_000).toISOString()
  const item = (done: object): object => ({
    timestamp,
    type: 'event_msg',
    payload: { type: 'item_completed', item: done },
  })
  const changes = { [join(cwd, 'anchor.ts')]: { type: 'add', content: `${line}\n` } }
  return [
    { timestamp, type: 'session_meta', payload: { id, timestamp, cwd, cli_version: '0.166.0' } },
    { timestamp, type: 'turn_context', payload: { turn_id: id, cwd, model: 'gpt-5.5' } },
    item({ type: 'UserMessage', id: 'u1', content: [{ type: 'text', text: 'Forge an anchor' }] }),
    item({ type: 'FileChange', id: 'c1', status: 'completed', changes }),
  ]
    .map((record) => `${JSON.stringify(record)}\n`)
    .join('')
}

/** The answer about the line after the session was kept and its file deleted. */
async function answerAfterDeletion(config: object): Promise<unknown> {
  const state = join(home, 'state')
  mkdirSync(state, { mode: 0o700 })
  writeFileSync(join(state, 'rockpool.json'), JSON.stringify(config), { mode: 0o600 })
  const environment = { HOME: home, PATH: process.env['PATH'], ROCKPOOL_STATE_DIR: state }
  app = await openApp(readEnvironment(environment), { version: 'test' })
  await perform(app, 'vault.keep', {}, operator)
  rmSync(rollout)
  await app.discovery().refresh()
  return perform(app, 'why.ask', { target: 'anchor.ts:1', repo: join(home, 'shop') }, operator)
}

test('a session of Codex that only the vault has is named, with its prompt', async () => {
  expect(await answerAfterDeletion({})).toMatchObject({
    session: { sessionId: id, agentKind: 'codex' },
    confidence: 'exact',
    prompt: 'Forge an anchor',
  })
  // Its edits are in the index now.
  const again = perform(app, 'why.ask', { target: 'anchor.ts:1', repo: join(home, 'shop') }, operator)
  expect(await again).toMatchObject({ session: { sessionId: id } })
})

test('an answer says how many sessions of an encrypted vault could not be searched', async () => {
  const vault = { passphraseCommand: 'echo open sesame' }
  expect(await answerAfterDeletion({ vault })).toMatchObject({
    confidence: 'unknown',
    note: expect.stringMatching(/^1 session that only the vault has .* encrypted.*rockpool vault restore/),
  })
})
