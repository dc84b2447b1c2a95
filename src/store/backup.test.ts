import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { sessionFolder, openSession } from '../../test/support/session-folder.ts'
import { cwd, said, talk, textsOf } from '../../test/support/transcript-folder.ts'
import { backUpState, restoreState } from './backup.ts'
import { Database } from './sqlite/database.ts'
import { FileTranscripts } from './transcripts/transcript-file.ts'
import { transcriptOf } from './transcripts/transcript-paths.ts'

const key = 'agent:main:telegram:direct:7'

async function house() {
  const folder = sessionFolder()
  const session = await openSession(folder.parts, key, { label: 'work' })
  await folder.transcripts.append(transcriptOf(session), talk(10), { cwd })
  writeFileSync(join(folder.root, 'rockpool.json'), '{}', { mode: 0o644 })
  mkdirSync(join(folder.root, 'index'))
  writeFileSync(join(folder.root, 'index', 'search.sqlite'), 'rebuilt when needed')
  const destination = `${folder.root}-backups`
  return { ...folder, session, destination, file: join(folder.dir, `${session.entry.sessionId}.jsonl`) }
}

/** A moment of its own for each step: names are made from it. */
function later(clock: { now(): number; set(now: number): void }): void {
  clock.set(clock.now() + 60_000)
}

test('a backup holds everything but what can be rebuilt, and only we can read it', async () => {
  const { root, destination, clock, file } = await house()
  symlinkSync('/etc/passwd', join(root, 'link'))
  appendFileSync(file, '{"type":"mess')
  const { folder, warnings } = await backUpState(root, destination, clock)
  expect(warnings).toEqual([expect.stringContaining('link was left out')])
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(names).toContain('rockpool.json')
  expect(names.filter((name) => /index|link|-wal|\.lock/.test(name))).toEqual([])
  for (const name of names) {
    const stats = statSync(join(folder, name))
    expect(stats.mode & 0o077).toBe(0)
    if (name.endsWith('.jsonl')) expect(readFileSync(join(folder, name), 'utf8')).toMatch(/\}\n$/)
  }
  rmSync(destination, { recursive: true })
})

test('a place where no folder can be made is an error at once', async (context) => {
  if (process.platform !== 'linux') context.skip('/proc is a part of Linux')
  const { root, clock } = await house()
  await expect(backUpState(root, '/proc/rockpool', clock)).rejects.toMatchObject({
    code: 'disk-failed',
    message: expect.stringContaining('/proc/rockpool'),
  })
})

test('a database is copied as of one moment while others write to it', async () => {
  const { root, destination, clock, sessions, parts } = await house()
  const over = new AbortController()
  const writing = (async () => {
    for (let n = 0; !over.signal.aborted; n++) await openSession(parts, `agent:main:telegram:direct:n${n}`)
  })()
  const { folder } = await backUpState(root, destination, clock)
  over.abort()
  await writing
  const copy = Database.open(join(folder, 'agents/main/sessions/sessions.sqlite'), [], { readOnly: true })
  expect(copy.read((queries) => queries.get('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' })
  await copy.close()
  expect(await sessions.get(key)).toBeDefined()
  rmSync(destination, { recursive: true })
})

test('a restored state is the one that was backed up, and the one before stays', async () => {
  const { root, destination, clock, sessions, transcripts, session } = await house()
  const { folder } = await backUpState(root, destination, clock)
  await transcripts.append(transcriptOf(session), [said('after the backup')], { cwd })
  await sessions.close()
  later(clock)
  const { movedTo } = await restoreState(folder, root, clock)
  const restored = new FileTranscripts({ agentId: 'main', dir: join(root, 'agents/main/sessions') })
  expect(await textsOf(restored, transcriptOf(session))).toHaveLength(10)
  const before = new FileTranscripts({ agentId: 'main', dir: join(movedTo!, 'agents/main/sessions') })
  expect(await textsOf(before, transcriptOf(session))).toHaveLength(11)
  const copy = Database.open(join(root, 'agents/main/sessions/sessions.sqlite'), [], { readOnly: true })
  expect(copy.read((queries) => queries.get('SELECT count(*) AS n FROM session'))).toEqual({ n: 1 })
  await copy.close()
  rmSync(destination, { recursive: true })
  rmSync(movedTo!, { recursive: true })
})

test.each([
  ['out of the state and back into the backup', (folder: string) => `../${basename(folder)}/rockpool.json`],
  ['through a folder of its own', (folder: string) => `agents/../../${basename(folder)}/rockpool.json`],
  ['that is absolute', (folder: string) => join(folder, 'rockpool.json')],
  ['that is not in its shortest form', () => './rockpool.json'],
])('a backup whose manifest has a path %s writes nothing', async (_what, pathIn) => {
  const { root, destination, clock } = await house()
  const { folder } = await backUpState(root, destination, clock)
  const manifest = JSON.parse(readFileSync(join(folder, 'backup.json'), 'utf8'))
  const config = manifest.files.find(({ path }: { path: string }) => path === 'rockpool.json')
  config.path = pathIn(folder)
  chmodSync(join(folder, 'backup.json'), 0o600)
  writeFileSync(join(folder, 'backup.json'), JSON.stringify(manifest))
  const beside = (): string[] => readdirSync(dirname(root)).filter((name) => name.startsWith(basename(root)))
  const before = beside()
  await expect(restoreState(folder, root, clock)).rejects.toMatchObject({ code: 'damaged' })
  expect(beside()).toEqual(before)
  rmSync(destination, { recursive: true })
})

test('a backup that is incomplete or was changed is refused, and nothing is touched', async () => {
  const { root, destination, clock } = await house()
  const { folder } = await backUpState(root, destination, clock)
  writeFileSync(join(folder, 'rockpool.json'), '{"x":1}')
  await expect(restoreState(folder, root, clock)).rejects.toMatchObject({ code: 'damaged' })
  const manifest = JSON.parse(readFileSync(join(folder, 'backup.json'), 'utf8'))
  manifest.files[0].path = '../../outside'
  chmodSync(join(folder, 'backup.json'), 0o600)
  writeFileSync(join(folder, 'backup.json'), JSON.stringify(manifest))
  await expect(restoreState(folder, root, clock)).rejects.toMatchObject({ code: 'damaged' })
  rmSync(join(folder, 'backup.json'))
  await expect(restoreState(folder, root, clock)).rejects.toMatchObject({ code: 'not-found' })
  expect(existsSync(join(root, 'rockpool.json'))).toBe(true)
  await expect(backUpState(root, join(root, 'inner'), clock)).rejects.toMatchObject({ code: 'refused' })
  rmSync(destination, { recursive: true })
})

test.each([
  ['names no file of a machine', [], 'refused'],
  ['has something else in place of a file', [null], 'schema-newer'],
])('a backup that %s is refused, and the state stays where it is', async (_what, files, code) => {
  const { root, destination, clock } = await house()
  mkdirSync(destination)
  writeFileSync(join(destination, 'backup.json'), JSON.stringify({ rockpool: 1, createdAt: 'now', files }))
  await expect(restoreState(destination, root, clock)).rejects.toMatchObject({ code })
  expect(existsSync(join(root, 'rockpool.json'))).toBe(true)
  rmSync(destination, { recursive: true })
})
