import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { refuseNetworkFileSystem, secureStateDirectory } from './state-directory.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-state-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a missing directory is made for us alone', () => {
  const path = join(folder, 'a', 'state')
  expect(secureStateDirectory(path)).toEqual([])
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test.each([0o777, 0o755, 0o750])(
  'a directory of mode %o is closed to others, with a word about it',
  (mode) => {
    const path = join(folder, 'state')
    mkdirSync(path)
    chmodSync(path, mode)
    expect(secureStateDirectory(path)).toEqual([expect.stringContaining(`mode ${mode.toString(8)}`)])
    expect(statSync(path).mode & 0o777).toBe(0o700)
    expect(secureStateDirectory(path)).toEqual([])
  },
)

test("another user's directory is refused", (ctx) => {
  if (process.getuid?.() !== 0) ctx.skip('only root can give a directory to another user')
  chmodSync(folder, 0o755)
  const path = join(folder, 'state')
  mkdirSync(path)
  chownSync(path, 12345, 12345)
  const script = `import { refuseNetworkFileSystem, secureStateDirectory } from ${JSON.stringify(join(import.meta.dirname, 'state-directory.ts'))}
    process.setuid(54321)
    try { secureStateDirectory(${JSON.stringify(path)}) } catch (error) { console.log(error.code) }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(stdout.trim()).toBe('refused')
})

test('a network file system is refused, and a disk of this machine is not', () => {
  expect(() => refuseNetworkFileSystem('/net/home', 0x6969)).toThrow(/NFS/)
  expect(() => refuseNetworkFileSystem('/net/home', 0xff534d42)).toThrow(/CIFS/)
  refuseNetworkFileSystem('/home', 0xef53)
})

test('a place where no directory can be made is an error at once', (context) => {
  if (process.platform !== 'linux') context.skip('/proc is a part of Linux')
  expect(() => secureStateDirectory('/proc/rockpool/state')).toThrow(
    expect.objectContaining({
      code: 'disk-failed',
      message: expect.stringContaining('/proc/rockpool/state'),
    }),
  )
})
