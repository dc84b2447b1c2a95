// Every file of a real state directory with 50 changed bytes, as a person meets it: no command shows the error of a parser, the
// doctor always answers, and after `doctor --fix` every command works again. The damaged original is kept where there is no other
// source of what it held.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMessagesApi } from '../support/messages-api.ts'
import { startProgram } from '../support/program.ts'

let folder: string
let sound: string
let api: Awaited<ReturnType<typeof startMessagesApi>>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-damage-'))
  sound = join(folder, 'sound')
  mkdirSync(sound, { mode: 0o700 })
  api = await startMessagesApi()
  for (const words of [
    ['agent', '--message', 'hello there'],
    ['agent', '--message', 'a second message about flaky tests'],
    ['sessions', 'patch', 'main', '--label', 'home'],
    ['memory', 'add', 'the deploy key is in the drawer'],
    ['cc', 'launch', 'do a thing', '--wait'],
    ['schedules', 'add', 'weekdays 9:00', 'stand-up'],
    ['search', 'flaky'],
    ['vault', 'keep'],
  ])
    expect(await run(sound, words), words.join(' ')).toMatchObject({ code: 0 })
  // The schedule has started a gateway.
  await run(sound, ['down'])
})
afterAll(async () => {
  await api.close()
  rmSync(folder, { recursive: true, force: true })
})

const looks = [
  ['sessions', '--json'],
  ['status'],
  ['sessions', 'history', 'main'],
  ['cc', 'list'],
  ['search', 'flaky'],
  ['schedules', 'list'],
  ['vault', 'status'],
]
const ofParsers =
  /SyntaxError|TypeError|RangeError|in JSON at|Unexpected (token|end)|malformed|not a database|"code":"internal"|^ +at /m

test('whichever file is damaged: clear errors, a doctor that answers, and a repair after which every command works', async () => {
  const files = filesIn(join(sound, '.rockpool'))
  expect(files.length).toBeGreaterThan(8)
  for (const [index, file] of files.entries())
    for (const seed of [index + 1, index + 101]) await expectRepair(file, seed)
})

async function expectRepair(file: string, seed: number): Promise<void> {
  const home = join(folder, 'damaged')
  rmSync(home, { recursive: true, force: true })
  cpSync(sound, home, { recursive: true, preserveTimestamps: true })
  const path = join(home, '.rockpool', file)
  spoil(path, seed)
  for (const words of [...looks, ['doctor']]) {
    const { text, code } = await run(home, words)
    expect.soft(text, `${file} (seed ${seed}): ${words.join(' ')}`).not.toMatch(ofParsers)
    if (words[0] === 'doctor') expect.soft(code, `${file} (seed ${seed}): doctor\n${text}`).toBe(0)
  }
  const repaired = await run(home, ['doctor', '--fix'])
  expect.soft(repaired.code, `${file} (seed ${seed}): doctor --fix\n${repaired.text}`).toBe(0)
  for (const words of looks) {
    const { text, code } = await run(home, words)
    expect.soft(code, `${file} (seed ${seed}), repaired: ${words.join(' ')}\n${text}`).toBe(0)
  }
}

function spoil(path: string, seed: number): void {
  const bytes = readFileSync(path)
  let state = seed
  const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
  for (let i = 0; i < 50; i++) {
    const at = Math.floor(random() * bytes.length)
    bytes[at] = bytes[at]! ^ (1 + Math.floor(random() * 255))
  }
  writeFileSync(path, bytes)
}

/** Ours only: what Claude keeps there for itself, and what is empty, is left out. */
function filesIn(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) =>
    relative(root, join(root, name)),
  )
  return names.filter((name) => {
    const stats = statSync(join(root, name))
    return stats.isFile() && stats.size > 0 && !name.startsWith('claude/tmp/')
  })
}

async function run(home: string, words: string[]): Promise<{ code: number | null; text: string }> {
  const env = {
    HOME: home,
    PATH: process.env['PATH']!,
    ANTHROPIC_BASE_URL: api.url,
    ANTHROPIC_API_KEY: 'sk-test',
  }
  const { code, stdout, stderr } = await startProgram(words, { ...env, NO_COLOR: '1' }).ended
  return { code, text: stdout + stderr }
}
