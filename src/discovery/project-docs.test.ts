import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listDocs, readDoc } from './project-docs.ts'

let folder: string
let repo: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-docs-'))
  repo = join(folder, 'repo')
  write('repo/README.md', '# Pool\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

test('documents are found at the top and where documents are kept; code and secrets are none', async () => {
  for (const path of ['CLAUDE.md', '.specs/tides.md', 'docs/a/b/deep.md', '.env', 'src/x.md', 'main.ts'])
    write(`repo/${path}`, 'text')
  const docs = await listDocs(repo)
  expect(docs.map(({ path }) => path)).toEqual([
    'CLAUDE.md',
    'README.md',
    '.specs/tides.md',
    'docs/a/b/deep.md',
  ])
  expect(docs[1]).toMatchObject({ bytes: 7, changedAt: expect.any(Number) as number })
})

test('a document is read as it is, and of a very long one the beginning', async () => {
  expect(await readDoc(repo, 'README.md')).toMatchObject({ text: '# Pool\n', isCut: false })
  write('repo/docs/long.md', 'é'.repeat(200_000))
  const long = await readDoc(repo, 'docs/long.md')
  expect(long).toMatchObject({ isCut: true, bytes: 400_000 })
  expect(long.text).toBe('é'.repeat(131_072))
})

test('nothing outside of the repository is read, however it is named or linked', async () => {
  write('secret.md', 'secret')
  write('outside/secret.md', 'secret')
  symlinkSync(join(folder, 'secret.md'), join(repo, 'link.md'))
  symlinkSync('README.md', join(repo, 'alias.md'))
  symlinkSync(join(folder, 'outside'), join(repo, 'docs'))
  const names = [
    '../secret.md',
    'link.md',
    'alias.md',
    'docs/secret.md',
    './README.md',
    'a//b.md',
    '/etc/hosts.txt',
    'x\0.md',
  ]
  for (const name of [...names, 'main.ts', '.git/config', ''])
    await expect(readDoc(repo, name), name).rejects.toMatchObject({ code: 'not-found' })
  expect((await listDocs(repo)).map(({ path }) => path)).toEqual(['README.md'])
})

test('a folder, or one that is not there, is no document', async () => {
  mkdirSync(join(repo, 'folder.md'))
  await expect(readDoc(repo, 'folder.md')).rejects.toMatchObject({ code: 'not-found' })
  await expect(listDocs(join(folder, 'nowhere'))).rejects.toMatchObject({ code: 'not-found' })
})
