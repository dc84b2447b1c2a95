import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { attachWorkspaceFile, copyForSending } from './outgoing-files.ts'

test('a file of the workspace can be sent; nothing outside of it, whatever a link says', async () => {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-attach-'))
  const workspace = join(root, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(root, 'secret.txt'), 'secret')
  writeFileSync(join(workspace, 'chart.png'), 'picture')
  symlinkSync(join(root, 'secret.txt'), join(workspace, 'link.txt'))
  const attach = (path: string) =>
    attachWorkspaceFile(join(root, 'media'), { cwd: workspace, places: [workspace] }, path, {
      agentId: 'main',
      key: 'k',
    })
  const sent = await attach('chart.png')
  expect('path' in sent && readFileSync(sent.path, 'utf8')).toBe('picture')
  expect('path' in sent && basename(sent.path)).toBe('chart.png')
  for (const path of ['../secret.txt', 'link.txt', '/etc/passwd', 'missing.png', '.']) {
    expect(await attach(path)).toHaveProperty('refused')
  }
  rmSync(root, { recursive: true })
})

test('the copy of a file that everybody may write is ours alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-outgoing-'))
  const file = join(folder, 'tide.txt')
  writeFileSync(file, 'low at six')
  chmodSync(file, 0o666)
  const copy = await copyForSending(join(folder, 'media'), file)
  expect(statSync(copy).mode & 0o777).toBe(0o600)
  rmSync(folder, { recursive: true })
})
