import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdName, openMachineFolder } from './held-name.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-held-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('a name is held by one holder, and free again after release', async () => {
  const release = await holdName(folder, 'telegram-1')
  await expect(holdName(folder, 'telegram-1')).rejects.toMatchObject({ code: 'locked' })
  await (
    await holdName(folder, 'telegram-2')
  )()
  await release()
  await (
    await holdName(folder, 'telegram-1')
  )()
})

test('a process that was killed holds nothing any more', async () => {
  const script = `import { holdName } from ${JSON.stringify(new URL('held-name.ts', import.meta.url).href)}
    await holdName(${JSON.stringify(folder)}, 'bot'); console.log('held'); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await expect(holdName(folder, 'bot')).rejects.toMatchObject({ code: 'locked' })
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  await (
    await holdName(folder, 'bot')
  )()
})

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-machine-'))
})
afterEach(() => rmSync(root, { recursive: true }))

test('the folder is made for us alone, and closed when it was open', () => {
  const path = openMachineFolder(join(root, 'ours'))
  expect(statSync(path).mode & 0o777).toBe(0o700)
  chmodSync(path, 0o777)
  openMachineFolder(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a link or a file in its place is refused', () => {
  mkdirSync(join(root, 'elsewhere'))
  symlinkSync(join(root, 'elsewhere'), join(root, 'link'))
  writeFileSync(join(root, 'file'), '')
  for (const name of ['link', 'file']) {
    expect(() => openMachineFolder(join(root, name))).toThrow(/is no folder/)
  }
})
