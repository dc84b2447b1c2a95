import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sessionFolder, openSession } from '../../test/support/session-folder.ts'
import { all, cwd, said, talk, textsOf } from '../../test/support/transcript-folder.ts'
import { findDatabaseFault } from '../store/inspect-files.ts'
import { silentLog } from '../domain/log.ts'
import { VaultIndex } from '../store/sqlite/vault-index.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { examine, fix } from './doctor.ts'
import type { FindingKind } from './doctor.ts'

const key = 'agent:main:telegram:direct:7'

async function house() {
  const folder = sessionFolder(Date.now())
  const session = await openSession(folder.parts, key, { systemSent: true })
  await folder.transcripts.append(transcriptOf(session), talk(10), { cwd })
  const file = join(folder.dir, `${session.entry.sessionId}.jsonl`)
  chmodSync(folder.root, 0o700)
  for (const name of ['agents', 'agents/main']) chmodSync(join(folder.root, name), 0o700)
  const findings = (isResumable?: (id: string) => Promise<boolean>) =>
    all(examine({ paths: folder.paths, agents: [folder.parts], isResumable }))
  const kinds = async (): Promise<FindingKind[]> => (await findings()).map(({ kind }) => kind)
  return { ...folder, session, file, findings, kinds }
}

describe('the doctor', () => {
  test('finds nothing in a healthy house', async () => {
    const { findings } = await house()
    expect(await findings()).toEqual([])
  })

  test('removes the lock of a dead process, and leaves that of a living one', async () => {
    const { dir, findings, file } = await house()
    const dead = {
      v: 2,
      pid: 999_999_999,
      starttime: '1',
      bootId: 'other',
      host: 'x',
      pidNamespace: '',
      nonce: 'n',
      startedAt: 1,
      op: 'x',
    }
    const alive = { pid: process.pid, createdAt: new Date().toISOString() }
    writeFileSync(`${file}.lock`, JSON.stringify({ ...dead, host: hostname() }), { mode: 0o600 })
    writeFileSync(join(dir, 'other.jsonl.lock'), JSON.stringify(alive), { mode: 0o600 })
    const found = await findings()
    expect(found.map(({ kind, where }) => ({ kind, where }))).toEqual([
      { kind: 'lock', where: `${file}.lock` },
    ])
    expect((await fix(found)).failed).toEqual([])
    expect(readdirSync(dir).filter((name) => name.endsWith('.lock'))).toEqual(['other.jsonl.lock'])
  })

  test('finds folders in place of transcripts and archives, which are not listed', async () => {
    const { dir, findings, transcripts } = await house()
    const names = ['gone.jsonl', 'gone.jsonl.reset.2026-11-15T09-00-00.000Z']
    for (const name of names) mkdirSync(join(dir, name), { mode: 0o700 })
    expect(await transcripts.archives()).toEqual([])
    expect((await findings()).map(({ kind, where }) => ({ kind, where }))).toEqual(
      names.map((name) => ({ kind: 'transcript-damaged', where: join(dir, name) })),
    )
  })

  test('closes what others can read', async () => {
    const { file, root, findings } = await house()
    chmodSync(file, 0o644)
    chmodSync(root, 0o755)
    const found = await findings()
    expect(found.map(({ kind }) => kind)).toEqual(['mode', 'mode'])
    await fix(found)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await findings()).toEqual([])
  })

  test.each<[string, (text: string) => string]>([
    ['torn at the end', (text) => text.slice(0, -30)],
    ['without its header', (text) => text.slice(text.indexOf('\n') + 1)],
    ['with a broken line', (text) => text.replace('"q5"', '"q5')],
    ['with an old line repeated', (text) => `${text}${text.split('\n')[3]}\n`],
  ])('rewrites a transcript that is %s, and keeps the old one', async (_name, spoil) => {
    const { file, session, findings, transcripts } = await house()
    const spoiled = spoil(readFileSync(file, 'utf8'))
    writeFileSync(file, spoiled, { mode: 0o600 })
    const readable = await textsOf(transcripts, transcriptOf(session))
    const found = await findings()
    expect(found).toMatchObject([{ kind: 'transcript-damaged', where: file }])
    expect((await fix(found)).failed).toEqual([])
    expect(await findings()).toEqual([])
    expect(await textsOf(transcripts, transcriptOf(session))).toEqual(readable)
    const [archive] = await transcripts.archives()
    expect(readFileSync(join(file, '..', archive!.name), 'utf8')).toBe(spoiled)
    expect(JSON.parse(readFileSync(file, 'utf8').split('\n')[0]!)).toMatchObject({
      type: 'session',
      version: 3,
      id: session.entry.sessionId,
    })
    await transcripts.append(transcriptOf(session), [said('on')], { cwd })
    expect((await textsOf(transcripts, transcriptOf(session))).at(-1)).toBe('on')
  })

  test('names what stands in sessions.json and is no entry', async () => {
    const { dir, findings, sessions } = await house()
    await sessions.close()
    const path = join(dir, 'sessions.json')
    const entries = JSON.parse(readFileSync(path, 'utf8')) as object
    writeFileSync(path, JSON.stringify({ ...entries, 'agent:main:odd': 'text' }), { mode: 0o600 })
    const found = await findings()
    expect(found).toMatchObject([{ kind: 'entry-damaged', where: path }])
    expect(found[0]!.problem).toContain('agent:main:odd')
    expect(found[0]!.fix).toBeUndefined()
  })

  test('lists what could not be read and was set aside, until it is moved away', async () => {
    const { dir, findings } = await house()
    const aside = join(dir, 'sessions.json.corrupt-2026-03-01T12-00-00.000Z')
    writeFileSync(aside, '{', { mode: 0o600 })
    const found = await findings()
    expect(found).toMatchObject([{ kind: 'set-aside', where: aside }])
    expect(found[0]).not.toHaveProperty('fix')
  })

  test('archives a transcript that no session has, and says so first', async () => {
    const { dir, kinds, findings, transcripts } = await house()
    await transcripts.append({ sessionId: 'orphan' }, [said('x')], { cwd })
    expect(await kinds()).toEqual([])
    const before = (Date.now() - 7_200_000) / 1000
    utimesSync(join(dir, 'orphan.jsonl'), before, before)
    const found = await findings()
    expect(found).toMatchObject([{ kind: 'orphan', remedy: expect.stringContaining('archive') }])
    expect(existsSync(join(dir, 'orphan.jsonl'))).toBe(true)
    await fix(found)
    expect(existsSync(join(dir, 'orphan.jsonl'))).toBe(false)
  })

  test('brings back a transcript that was archived while its row was not changed', async () => {
    const { session, transcripts, findings } = await house()
    await transcripts.archive(transcriptOf(session), 'reset')
    const found = await findings()
    expect(found).toMatchObject([{ kind: 'transcript-missing', where: key }])
    await fix(found)
    expect(await findings()).toEqual([])
  })

  test('forgets a foreign file and a conversation that Claude has lost', async () => {
    const { sessions, findings, parts } = await house()
    await openSession(parts, 'agent:main:telegram:direct:8', { sessionFile: '/etc/x.jsonl' })
    await sessions.update(key, (entry) => ({
      ...entry!,
      sdkSessionId: 'gone',
      cliSessionIds: { 'claude-cli': 'gone' },
    }))
    const found = await findings(async () => false)
    expect(found.map(({ kind }) => kind).sort()).toEqual(['dangling-id', 'transcript-foreign'])
    expect((await fix(found)).failed).toEqual([])
    expect(await findings(async () => false)).toEqual([])
    expect(await sessions.get(key)).not.toHaveProperty('cliSessionIds')
  })

  test('removes an index with damaged texts, which SQLite itself does not notice', async () => {
    const { paths, findings } = await house()
    const index = VaultIndex.open(paths.vaultIndex, silentLog)
    const file = {
      session: 's',
      root: '/r',
      path: 'p',
      agent: 'claude',
      size: 1,
      mtime: 1,
      inode: 1,
      keptAt: 1,
    }
    const place = { pack: '1', offset: 0, settled: 0, chunks: '[]' }
    await index.write((rows) => rows.addFile({ ...file, ...place, about: '{"title":"a' }))
    await index.close()
    const found = await findings()
    const problem = 'is damaged and cannot be relied on'
    expect(found).toMatchObject([{ kind: 'index-damaged', where: paths.vaultIndex, problem }])
    expect((await fix(found)).failed).toEqual([])
    expect(await findings()).toEqual([])
  })

  test('sets a state database that cannot be read aside, and says what came of it', async () => {
    const { paths, findings } = await house()
    writeFileSync(paths.database, `not a database ${'x'.repeat(200)}`, { mode: 0o600 })
    const found = await findings()
    expect(found).toMatchObject([{ kind: 'store-unreadable', where: paths.database }])
    const { failed, reports } = await fix(found)
    expect({ failed, reports }).toEqual({
      failed: [],
      reports: [expect.stringContaining('Lost: coding sessions, what coding sessions said,')],
    })
    expect(await findings()).toMatchObject([{ kind: 'set-aside' }])
  })

  test('moves no database away that is sound and cannot be looked at now', async () => {
    const { sessions, paths, findings } = await house()
    await sessions.close()
    const database = paths.sessionDatabase('main')
    // As on a full disk: what SQLite needs beside it cannot be made.
    mkdirSync(`${database}-wal`, { mode: 0o700 })
    const found = await findings()
    expect(found).toMatchObject([
      { kind: 'store-unreadable', where: database, problem: expect.stringContaining('cannot be looked at') },
    ])
    expect(found[0]).not.toHaveProperty('fix')
    rmdirSync(`${database}-wal`)
    expect(await findDatabaseFault(database)).toBeUndefined()
  })

  test('removes what a killed process left', async () => {
    const { dir, findings } = await house()
    mkdirSync(dir, { recursive: true })
    appendFileSync(join(dir, 'sessions.json.999999999.00000000-0000-4000-8000-000000000000.tmp'), 'x', {
      mode: 0o600,
    })
    const found = await findings()
    expect(found.map(({ kind }) => kind)).toEqual(['leftover'])
    await fix(found)
    expect(await findings()).toEqual([])
  })
})
