import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openMediaFiles, outgoingFile, sessionMediaFolder } from './media-files.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-media-'))
})
afterEach(() => rmSync(root, { recursive: true }))

async function* bytes(...chunks: Array<string | Buffer>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

test('whatever a sender calls a file, it gets a random name with an ending from the list', async () => {
  const media = openMediaFiles(root)
  const names = [
    '../../x.sh',
    'a\r\nb',
    'x'.repeat(400),
    'CON',
    '.bashrc',
    '/etc/passwd',
    'ok.png\0.sh',
    'x.html',
  ]
  for (const name of names) {
    const kept = await media.keep(bytes('hello'), { name })
    expect(kept.path).toMatch(new RegExp(`^${root}/inbound/[0-9a-f-]{36}\\.(bin|png)$`))
    expect(statSync(kept.path).mode & 0o777).toBe(0o600)
    expect(kept.name ?? '').not.toMatch(/[\r\n\0/]/)
    expect((kept.name ?? '').length).toBeLessThanOrEqual(120)
  }
})

test('the first bytes decide what a file is, and a picture that is none is handed on as unknown', async () => {
  const media = openMediaFiles(root)
  const png = Buffer.from('89504e470d0a1a0a00', 'hex')
  expect(await media.keep(bytes(png), { name: 'x.txt' })).toMatchObject({
    mimeType: 'image/png',
    kind: 'image',
  })
  expect(await media.keep(bytes('<svg onload=alert(1)>'), { mimeType: 'image/png' })).toMatchObject({
    mimeType: 'application/octet-stream',
    kind: 'file',
  })
  expect(await media.keep(bytes('{}'), { mimeType: 'application/json; charset=utf-8' })).toMatchObject({
    mimeType: 'application/json',
  })
})

test('a file over the limit is refused and leaves nothing behind', async () => {
  const media = openMediaFiles(root, { limitBytes: 10 })
  await expect(media.keep(bytes('12345', '67890', '1'), {})).rejects.toThrow(/larger than/)
  expect(readdirSync(join(root, 'inbound'))).toEqual([])
})

test('only what really is in the folder may leave', async () => {
  const folder = sessionMediaFolder(root, 'main', 'agent:main:telegram:direct:501')
  const other = sessionMediaFolder(root, 'main', 'agent:main:telegram:direct:502')
  mkdirSync(folder, { recursive: true })
  mkdirSync(other, { recursive: true })
  writeFileSync(join(folder, 'chart.png'), 'x')
  writeFileSync(join(other, 'secret.txt'), 'x')
  symlinkSync('/etc/passwd', join(folder, 'link'))
  symlinkSync('/etc', join(folder, 'etc'))
  symlinkSync(other, join(folder, 'other'))
  expect(await outgoingFile(folder, join(folder, 'chart.png'))).toMatchObject({
    kind: 'image',
    name: 'chart.png',
  })
  for (const path of [
    '/etc/passwd',
    join(folder, 'link'),
    join(folder, 'etc', 'passwd'),
    join(folder, 'other', 'secret.txt'),
    join(folder, '..', basename(other), 'secret.txt'),
    `${folder}-evil`,
    folder,
    '~/.ssh/id_rsa',
    'file:///etc/passwd',
    '\\\\host\\share',
    'chart.png\0',
  ]) {
    await expect(outgoingFile(folder, path), path).rejects.toThrow(/cannot be sent/)
  }
})
