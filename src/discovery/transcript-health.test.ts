import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import type { SessionState } from '../domain/coding-state.ts'
import { readChain } from '../store/transcripts/claude-chain.ts'
import { repairTranscript } from './repair.ts'
import { checkHealth, sessionHealth } from './transcript-health.ts'

const project = 'projects/-home-dev-projects-demo'
const fixtures = join(import.meta.dirname, '../../test/fixtures/claude-code')
const folder = mkdtempSync(join(tmpdir(), 'rockpool-xray-'))
afterAll(() => rmSync(folder, { recursive: true }))

const numbered = (digits: string): string => `${digits.padStart(8, '0')}-0000-4000-8000-00000000000a`
const fixture = (id: string): string => join(fixtures, project, `${id}.jsonl`)
const recorded = readdirSync(join(fixtures, project))
  .filter((name) => name.endsWith('.jsonl'))
  .map((name) => name.slice(0, -6))

/** What the SDK itself reaches in a session, by uuid. */
function reachedBySdk(configDir: string, ids: string[]): Record<string, string[]> {
  const program = `import { getSessionMessages } from '@anthropic-ai/claude-agent-sdk'
    const found = {}
    for (const id of ${JSON.stringify(ids)}) found[id] = (await getSessionMessages(id)).map((message) => message.uuid)
    console.log(JSON.stringify(found))`
  const env = { PATH: '/usr/bin:/bin', HOME: folder, CLAUDE_CONFIG_DIR: configDir }
  const args = ['--input-type=module', '-e', program]
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' }))
}

/** A transcript of these records; each follows the one before unless it says otherwise. */
function write(name: string, records: Array<Record<string, unknown>>, end = ''): string {
  const file = join(folder, 'made', project, `${name}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  let parentUuid: unknown = null
  const lines = records.map((record) => {
    const line = { parentUuid, isSidechain: false, sessionId: name, cwd: '/a', ...record }
    parentUuid = record['uuid']
    return JSON.stringify(line)
  })
  writeFileSync(file, `${lines.join('\n')}\n${end}`)
  return file
}

const prompt = (uuid: string, more: object = {}): Record<string, unknown> => ({
  type: 'user',
  uuid,
  message: { role: 'user', content: `prompt ${uuid}` },
  ...more,
})
const reply = (uuid: string, more: object = {}): Record<string, unknown> => ({
  type: 'assistant',
  uuid,
  message: { id: `msg_${uuid}`, role: 'assistant', content: [{ type: 'text', text: `reply ${uuid}` }] },
  ...more,
})
const call = (uuid: string, id: string, more: object = {}): Record<string, unknown> => ({
  type: 'assistant',
  uuid,
  message: {
    id: `msg_${uuid}`,
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 'Bash', input: {} }],
  },
  ...more,
})
const result = (uuid: string, id: string, more: object = {}): Record<string, unknown> => ({
  type: 'user',
  uuid,
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
  ...more,
})

test('what the SDK shows of a recorded session is what we reach', async () => {
  const bySdk = reachedBySdk(fixtures, recorded)
  for (const id of recorded) {
    const { reached } = await readChain(fixture(id))
    expect(
      bySdk[id]!.filter((uuid) => !reached.has(uuid)),
      id,
    ).toEqual([])
  }
})

test('recorded sessions are sound, but for the torn one, the one that its budget stopped and the one with two writers', async () => {
  const verdicts = await Promise.all(
    recorded.map(async (id) => [id, await checkHealth(id, fixture(id))] as const),
  )
  const notSound = verdicts.filter(([, health]) => health.verdict !== 'sound').map(([id]) => id)
  expect(notSound.sort()).toEqual([numbered('d'), numbered('18'), numbered('1d')])
  expect(await checkHealth('x', fixture(numbered('18')))).toMatchObject({
    verdict: 'degraded',
    records: 6,
    reachable: 4,
    twoWriters: true,
    branchPoints: 1,
  })
  expect(await checkHealth('x', fixture(numbered('1d')))).toMatchObject({ tornLines: 1, verdict: 'degraded' })
})

test('a tool that still runs or waits for permission is no damage; without a result it is one afterwards', async () => {
  const file = write('asks', [prompt('a'), call('b', 'toolu_1')])
  const asks = { sessionId: 'asks', agentKind: 'claude', filePath: file } as const
  const healthIn = (state: SessionState) => sessionHealth(discoveredSession({ ...asks, state }))
  for (const state of ['working', 'needs you'] as const)
    expect(await healthIn(state)).toMatchObject({ verdict: 'sound', findings: [] })
  expect(await healthIn('stopped')).toMatchObject({
    verdict: 'degraded',
    findings: ['1 tool call without a result'],
  })
})

test('parallel tool calls are one way, not two', async () => {
  expect(await checkHealth('x', fixture(numbered('2')))).toMatchObject({
    records: 15,
    reachable: 15,
    branchPoints: 0,
  })
})

test('a missing parent, a circle and an orphaned result are found', async () => {
  const cut = write('cut', [prompt('a'), reply('b'), prompt('c', { parentUuid: 'gone' }), reply('d')])
  expect(await checkHealth('cut', cut)).toMatchObject({
    brokenLinks: 1,
    records: 4,
    reachable: 2,
    reachableShare: 0.5,
  })
  const circle = write('circle', [prompt('a', { parentUuid: 'b' }), reply('b')])
  expect(await checkHealth('circle', circle)).toMatchObject({ brokenLinks: 1, reachable: 2 })
  const orphan = write('orphan', [prompt('a'), result('b', 'toolu_gone'), reply('c')])
  expect(await checkHealth('orphan', orphan)).toMatchObject({ orphanedToolResults: 1, verdict: 'broken' })
  const empty = write('empty', [])
  expect(await checkHealth('empty', empty)).toMatchObject({ verdict: 'broken', records: 0 })
})

test('a repaired fork holds both branches of two writers, and the original is as it was', async () => {
  const configDir = join(folder, 'two')
  cpSync(join(fixtures, project), join(configDir, project), { recursive: true })
  const original = join(configDir, project, `${numbered('18')}.jsonl`)
  const before = readFileSync(original)
  const repaired = await repairTranscript(numbered('18'), original)
  expect(readFileSync(original)).toEqual(before)
  expect(repaired).toMatchObject({ left: 0, health: { verdict: 'sound', records: 6, reachable: 6 } })
  expect(reachedBySdk(configDir, [repaired.sessionId])[repaired.sessionId]).toHaveLength(6)
  expect(readFileSync(repaired.filePath, 'utf8')).toContain(
    '"customTitle":"What does this project do? (repaired)"',
  )
})

test('a repaired fork joins cut chains, drops orphaned results and torn lines, and answers lost calls', async () => {
  const file = write(
    'wild',
    [
      prompt('a'),
      call('b', 'toolu_1'),
      result('c', 'toolu_1'),
      prompt('d', { parentUuid: 'gone' }),
      result('e', 'toolu_unknown'),
      call('f', 'toolu_2'),
      prompt('g'),
      reply('h'),
    ],
    '{"type":"assistant","uui',
  )
  const repaired = await repairTranscript('wild', file)
  expect(repaired.health).toMatchObject({ verdict: 'sound', reachableShare: 1, findings: [] })
  expect(repaired.left).toBe(1)
  const lines = readFileSync(repaired.filePath, 'utf8').trim().split('\n')
  const uuids = lines.map((line) => JSON.parse(line).uuid as string | undefined)
  expect(uuids.slice(0, 5)).toEqual(['a', 'b', 'c', 'd', 'f'])
  expect(JSON.parse(lines[5]!).message.content[0]).toMatchObject({ tool_use_id: 'toolu_2', is_error: true })
  expect(uuids.slice(6)).toEqual(['g', 'h', undefined])
})

test('a session that is not damaged gets no repaired copy', async () => {
  const file = write('whole', [prompt('a'), reply('b')])
  const folder = dirname(file)
  const before = readdirSync(folder)
  await expect(repairTranscript('whole', file)).rejects.toMatchObject({ code: 'refused' })
  expect(readdirSync(folder)).toEqual(before)
})

test('a file without a conversation is not repaired', async () => {
  await expect(repairTranscript('none', write('none', []))).rejects.toMatchObject({ code: 'damaged' })
})
