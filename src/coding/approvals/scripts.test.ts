import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { scriptsIn } from './scripts.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'rockpool-scripts-'))
  mkdirSync(join(dir, 'sub'))
  const files = ['build.sh', 'x.js', 'x.py', 'run', 'Makefile', 'package.json', 'sub/build.sh', 'sub/a b.sh']
  for (const file of [...files, 'README.md', 'other.mk', 'setup.js']) writeFileSync(join(dir, file), file)
  execFileSync('mkfifo', [join(dir, 'pipe.sh')])
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const found = async (command: string, at = dir): Promise<string[]> =>
  (await scriptsIn(command, at))
    .filter(({ path }) => path.startsWith(dir))
    .map(({ path }) => path.slice(dir.length + 1))

test.each([
  ['sh build.sh', ['build.sh']],
  ['bash -x build.sh arg', ['build.sh']],
  ['./run now', ['run']],
  ['/bin/sh ./build.sh', ['build.sh']],
  ['FAST=1 timeout 5 sh build.sh', ['build.sh']],
  ['echo a; node x.js && python3 x.py', ['x.js', 'x.py']],
  ['node --require ./setup.js x.js', ['setup.js', 'x.js']],
  ['cd sub && sh build.sh', ['sub/build.sh']],
  ['cd sub\nsh "a b.sh"', ['sub/a b.sh']],
  ["sh sub/'a b.sh'", ['sub/a b.sh']],
  ['(cd sub; . ./build.sh)', ['sub/build.sh']],
  ["bash -c 'sh build.sh'", ['build.sh']],
  ['echo $(sh build.sh)', ['build.sh']],
  ['make all', ['Makefile']],
  ['make -f other.mk', ['other.mk', 'Makefile']],
  ['npm test', ['package.json']],
  ['cat README.md', []],
  ['git status', []],
  ['sh missing.sh', []],
  ['sh pipe.sh', []],
])('%s', async (command, scripts) => {
  expect(await found(command)).toEqual(scripts)
})

test('a package is also found from a directory below it', async () => {
  expect(await found('npm run build', join(dir, 'sub'))).toContain('package.json')
})

test('a changed script has another hash', async () => {
  const [before] = await scriptsIn('sh build.sh', dir)
  writeFileSync(join(dir, 'build.sh'), 'rm -rf .')
  const [after] = await scriptsIn('sh build.sh', dir)
  expect(after!.sha256).not.toBe(before!.sha256)
})
