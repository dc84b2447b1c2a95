// When `npm start`, `npm test` and the like install dependencies: at the first run, and when a dependency has changed.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const script = join(import.meta.dirname, '../scripts/with-setup.sh')
const described = { scripts: { test: 'vitest' }, dependencies: { zod: '4.6.7' } }

const npm = `#!/bin/sh
[ ! -f offline ] || exit 1
echo "$1" >> installations
echo "{ }" > package-lock.json
`
/** Builds nothing, at once. */
const node = `#!/bin/sh
[ "$1" = scripts/build.ts ] || exec '${process.execPath}' "$@"
`

/** A checkout whose `npm` writes one line for each installation, and fails while there is a file `offline`. */
function makeCheckout(): { dir: string; setUp: () => number | null; installations: () => number } {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-setup-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  for (const folder of ['scripts', 'bin', 'node_modules']) mkdirSync(join(dir, folder))
  copyFileSync(script, join(dir, 'scripts/with-setup.sh'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify(described))
  writeFileSync(join(dir, 'package-lock.json'), '{}')
  for (const [name, text] of Object.entries({ npm, node }))
    writeFileSync(join(dir, 'bin', name), text, { mode: 0o755 })
  const env = { PATH: `${join(dir, 'bin')}:${process.env['PATH']}` }
  const log = join(dir, 'installations')
  return {
    dir,
    setUp: () => spawnSync('sh', [join(dir, 'scripts/with-setup.sh'), 'setup'], { env }).status,
    installations: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0),
  }
}

test('dependencies are installed once, and again when one of them or the lock file changes, but not for a script', () => {
  const { dir, setUp, installations } = makeCheckout()
  const describe = (more: object): void =>
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ ...described, ...more }))
  const counts = [
    () => {},
    () => {},
    () => describe({ scripts: { test: 'vitest run' }, version: '2.0.0' }),
    () => describe({ devDependencies: { vitest: '4.1.12' } }),
    () => writeFileSync(join(dir, 'package-lock.json'), '{ "packages": {} }'),
  ].map((change) => {
    change()
    expect(setUp()).toBe(0)
    return installations()
  })
  expect(counts).toEqual([1, 1, 1, 2, 3])
})

test('an installation that failed is repeated, also after the change that caused it was taken back', () => {
  const { dir, setUp, installations } = makeCheckout()
  expect(setUp()).toBe(0)
  writeFileSync(join(dir, 'offline'), '')
  writeFileSync(join(dir, 'package.json'), '{ "dependencies": { "zod": "999.0.0" } }')
  expect(setUp()).not.toBe(0)
  rmSync(join(dir, 'offline'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify(described))
  expect(setUp()).toBe(0)
  expect(installations()).toBe(2)
})
