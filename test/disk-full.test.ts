// A full disk: the update fails with a word about it, everything is as it was, and work goes on when there is room.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { makeRedactor } from '../src/domain/redact.ts'
import { openLog } from '../src/store/log-file.ts'
import { statePaths } from '../src/store/paths.ts'
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

test('a log on a full disk: the program goes on, and the next line that there is room for is whole', (ctx) => {
  if (process.getuid?.() !== 0) ctx.skip('mounting a small file system needs root')
  const root = mkdtempSync(join(tmpdir(), 'rockpool-full-'))
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', root]).status !== 0)
      ctx.skip('this machine does not mount')
    const file = join(root, 'logs', 'rockpool.log')
    const log = openLog({ level: 'info', file, redactor: makeRedactor() })
    log.info({}, 'first')
    fill(root)
    log.info({ text: 'x'.repeat(10_000) }, 'no room')
    expect(String(stderr.mock.lastCall?.[0])).toContain('no room')
    rmSync(join(root, 'filler'))
    log.info({}, 'last')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ msg: 'last' })
  } finally {
    stderr.mockRestore()
    // The log is never closed.
    spawnSync('umount', ['--lazy', root])
    rmSync(root, { recursive: true, force: true })
  }
})

function fill(root: string): void {
  spawnSync('dd', ['if=/dev/zero', `of=${join(root, 'filler')}`, 'bs=4096', 'count=100000'])
}
