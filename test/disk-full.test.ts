// A full disk: the update fails with a message, everything is unchanged, and work continues when there is space.
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { makeRedactor } from '../src/domain/redact.ts'
import { openLog } from '../src/store/log-file.ts'
import { statePaths } from '../src/store/paths.ts'
import { openCodingHouse } from './support/coding-house.ts'
import { openStoreOfKind } from './support/store-worker.ts'

test.for(['sqlite', 'files'] as const)('a full disk (%s)', async (kind, ctx) => {
  if (process.getuid?.() !== 0) ctx.skip('mounting a small file system needs root')
  const root = mkdtempSync(join(tmpdir(), 'rockpool-full-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', root], { stdio: 'pipe' })
  } catch {
    // The test says so below.
    rmSync(root, { recursive: true })
    ctx.skip('this machine does not mount')
  }
  const store = openStoreOfKind(kind, root)
  try {
    await store.update('k', () => ({ sessionId: 'a', updatedAt: 1 }))
    writeFileSync(join(root, 'filler'), Buffer.alloc(4_000))
    fill(root)
    const large = { sessionId: 'b', updatedAt: 2, text: 'x'.repeat(300_000) }
    await expect(store.update('k', () => large)).rejects.toMatchObject({
      code: 'disk-failed',
      hint: expect.stringContaining('space'),
    })
    expect(await store.get('k')).toEqual({ sessionId: 'a', updatedAt: 1 })
    expect(
      readdirSync(statePaths(root).sessions('main')).filter((name) => /\.tmp$|\.lock$/.test(name)),
    ).toEqual([])
    rmSync(join(root, 'filler'))
    expect(await store.update('k', () => large)).toEqual(large)
    await store.close()
    const again = openStoreOfKind(kind, root)
    expect(await again.get('k')).toEqual(large)
    await again.close()
  } finally {
    spawnSync('umount', [root])
    rmSync(root, { recursive: true, force: true })
  }
})

test('a log on a full disk: the program continues, and the next line that fits is whole', (ctx) => {
  if (process.getuid?.() !== 0) ctx.skip('mounting a small file system needs root')
  const root = mkdtempSync(join(tmpdir(), 'rockpool-full-'))
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', root]).status !== 0)
      ctx.skip('this machine does not mount')
    const file = join(root, 'logs', 'rockpool.log')
    const log = openLog({ level: 'info', file, redactor: makeRedactor() })
    log.info({ event: 'test' }, 'first')
    fill(root)
    log.info({ event: 'test', text: 'x'.repeat(10_000) }, 'no room')
    expect(String(stderr.mock.lastCall?.[0])).toContain('no room')
    rmSync(join(root, 'filler'))
    log.info({ event: 'test' }, 'last')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ msg: 'last' })
  } finally {
    stderr.mockRestore()
    // The log is never closed.
    spawnSync('umount', ['--lazy', root])
    rmSync(root, { recursive: true, force: true })
  }
})

test('coding sessions on a full disk: every command says so, and the end is stored when there is room', async (ctx) => {
  if (process.getuid?.() !== 0) ctx.skip('mounting a small file system needs root')
  const root = mkdtempSync(join(tmpdir(), 'rockpool-full-'))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', root]).status !== 0) {
    rmSync(root, { recursive: true })
    ctx.skip('this machine does not mount')
  }
  const house = openCodingHouse({ folder: root })
  const { pool } = house
  const isFull = { code: 'disk-failed', hint: expect.stringContaining('space') }
  try {
    const workdir = house.repo('full')
    const { id } = await house.launch('[[offline: wait 60000]]', { workdir })
    await vi.waitFor(() => expect(pool.resolve(id).lifecycle).toBe('active'))
    fillCompletely(root)
    await expect(pool.kill(id)).rejects.toMatchObject(isFull)
    // The process is gone, and no command says anything else than the row does.
    expect(pool.resolve(id)).toMatchObject({ status: 'running', lifecycle: 'active' })
    await expect(pool.kill(id)).rejects.toMatchObject(isFull)
    await expect(pool.respond(id, 'more', { userInitiated: true })).rejects.toMatchObject(isFull)
    await expect(pool.resume(id, 'more')).rejects.toMatchObject(isFull)
    rmSync(join(root, 'filler'))
    await vi.waitFor(() => expect(pool.resolve(id).lifecycle).toBe('ended'), { timeout: 10_000 })
    expect(await pool.kill(id)).toMatchObject({ killed: false })
    // Its repository is free again.
    const next = await house.launch('say', { workdir })
    await vi.waitFor(() => expect(pool.resolve(next.id).lifecycle).toBe('awaiting-input'))
  } finally {
    rmSync(join(root, 'filler'), { force: true })
    await house.close()
    spawnSync('umount', [root])
    rmSync(root, { recursive: true, force: true })
  }
})

/** Also the pages that a file of SQLite's could still grow by. */
function fillCompletely(root: string): void {
  fill(root)
  try {
    for (;;) appendFileSync(join(root, 'filler'), Buffer.alloc(512))
  } catch {
    // No byte is left: that was wanted.
  }
}

function fill(root: string): void {
  spawnSync('dd', ['if=/dev/zero', `of=${join(root, 'filler')}`, 'bs=4096', 'count=100000'])
}
