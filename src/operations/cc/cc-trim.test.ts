import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { longOutput, originalId, TrimmableTranscript } from '../../../test/support/trimmable-transcript.ts'
import { openApp } from '../../app.ts'
import { readEnvironment } from '../../store/config-file.ts'
import { perform } from '../all.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { trimByItself } from '../coding/trim-choice.ts'
import { bridgeWorld } from './bridge-world.ts'

const home = mkdtempSync(join(tmpdir(), 'rockpool-cc-trim-'))
const file = join(home, '.claude/projects/-code-shop', `${originalId}.jsonl`)
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const agent: Caller = { via: 'mcp', scopes: ['read', 'write'], agentId: 'main' }
let app: App

beforeAll(async () => {
  mkdirSync(join(home, '.rockpool'))
  writeFileSync(join(home, '.rockpool/rockpool.json'), '{"sessionSelection":{"resumeThreshold":0}}')
  const talk = new TrimmableTranscript({ cwd: home, timestamp: '2025-11-15T10:00:00.000Z' }).prompt(
    'Look at the harbour',
  )
  for (let i = 0; i < 20; i++) talk.call('Bash', { command: `cat ${i}` }, `${i} ${longOutput}`)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, talk.text())
  app = await openApp(readEnvironment({ HOME: home, CLAUDE_CONFIG_DIR: join(home, '.claude') }), {
    version: 'test',
  })
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

interface Trim {
  cuts: number
  copy?: { sessionId: string; filePath: string }
  cutList: Array<{ handle: string; what: string }>
  price: { resumeUsd: number; trimmed: { usd: number } }
}

test('the selection offers the copy of a cold session, and a launch continues in it only if the owner switched that on', async () => {
  const input = { task: 'Look at the harbour', repo: home, model: false }
  const selected = (await perform(app, 'cc.select', input, operator)) as {
    reason: string
    scores: Array<{ sessionId: string; price: unknown }>
  }
  expect(selected).toMatchObject({ action: 'resume', sessionId: originalId })
  expect(selected.reason).toMatch(
    /; its cache is cold, a trimmed copy \(--trim\) costs \$0\.\d\d instead of \$0\.\d\d$/,
  )
  const score = selected.scores.find(({ sessionId }) => sessionId === originalId)!
  expect(score.price).toMatchObject({ cache: 'cold', sure: 0.97, trimmed: { cuts: 15, offered: true } })
  expect(await trimByItself(app, originalId)).toBeUndefined()
  app.config.coding.trimWhenCold = 'light'
  expect(await trimByItself(app, originalId)).toBeUndefined()
  app.config.coding.trimWhenCold = 'hard'
  expect(await trimByItself(app, originalId)).toBe('hard')
  app.config.coding.trimWhenCold = 'off'
})

test('a dry run shows the cuts and the prices and writes nothing; then the copy is listed as a fork, and its cuts come back', async () => {
  const before = readFileSync(file)
  const dry = (await perform(app, 'cc.trim', { id: '1111', dryRun: true }, operator)) as Trim
  expect(dry).toMatchObject({ dryRun: true, level: 'normal', cuts: 15, price: { cache: 'cold' } })
  expect(dry.copy).toBeUndefined()
  expect(dry.price.trimmed.usd).toBeLessThan(dry.price.resumeUsd * 0.75)
  const info = await perform(app, 'cc.info', { id: '1111' }, operator)
  expect(info).toMatchObject({ price: { trimmed: { cuts: 15, usd: dry.price.trimmed.usd } } })
  expect(((await perform(app, 'cc.list', {}, operator)) as { total: number }).total).toBe(1)

  const { copy, cutList } = (await perform(app, 'cc.trim', { id: '1111', level: 'hard' }, operator)) as Trim
  expect(cutList).toHaveLength(18)
  expect(readFileSync(file).equals(before)).toBe(true)
  const made = await perform(app, 'cc.info', { id: copy!.sessionId }, operator)
  expect(made).toMatchObject({
    session: { title: 'Look at the harbour (trimmed)', forkedFrom: originalId },
    health: { verdict: 'sound' },
  })

  const [cut] = cutList
  const lost = await perform(app, 'sessions.lost', { handle: cut!.handle }, operator)
  expect(lost).toMatchObject({ sessionId: originalId, cut: { text: `0 ${longOutput}`, images: [] } })
  const world = bridgeWorld(app, { agentId: 'main', repoPath: home })
  expect(await world.recall(cut!.handle, 0)).toMatchObject({ text: `0 ${longOutput}` })

  // When Claude Code has deleted the original, the vault gives the cut back.
  await perform(app, 'vault.keep', {}, operator)
  rmSync(file)
  expect(await perform(app, 'sessions.lost', { handle: cut!.handle }, operator)).toEqual(lost)
  expect(existsSync(file)).toBe(false)
  await perform(app, 'vault.restore', { id: originalId }, operator)
})

test('an agent trims and recalls only what it may see, and a wrong handle is refused with a remedy', async () => {
  const handle = '11111111-2222.00000003-0000.0'
  await expect(perform(app, 'cc.trim', { id: '1111' }, agent)).rejects.toMatchObject({ code: 'not-found' })
  await expect(perform(app, 'sessions.lost', { handle }, agent)).rejects.toMatchObject({ code: 'not-found' })
  await expect(perform(app, 'sessions.lost', { handle: 'x' }, operator)).rejects.toMatchObject({
    code: 'input-invalid',
    hint: expect.stringContaining('Copy the handle') as string,
  })
})
