// Damaged files in credentials/, as a person meets them: every command works or says what is wrong, the doctor finds the file, and
// `doctor --fix` sets it aside as it is.
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeHome, type Home } from './support/program.ts'

let home: Home
let folder: string

beforeEach(async () => {
  home = makeHome()
  folder = join(home.dir, 'state', 'credentials')
  await home.type(['tokens', 'add', 'grafana'])
  await home.type(['devices', 'add', 'https://ntfy.sh/my-topic'])
  writeFileSync(join(folder, 'gateway-token'), `${'t'.repeat(43)}\n`, { mode: 0o600 })
})
afterEach(() => home.remove())

const names = ['gateway-token', 'hook-token', 'tokens.json', 'devices.json']
const reads = [['tokens', 'list'], ['devices', 'list'], ['sessions'], ['mail', 'list']]
const ofPrograms = /EISDIR|SyntaxError|TypeError|in JSON|"code":"internal"|^ +at /m

test.each(names)('a damaged %s is reported and set aside as it is', async (name) => {
  const bytes = Buffer.from([0x7b, 0x00, 0xff, 0xc3, 0x28, 0x0a])
  writeFileSync(join(folder, name), bytes, { mode: 0o600 })
  await expectRepair(name)
  const [aside] = asideOf(name)
  expect(readFileSync(join(folder, aside!))).toEqual(bytes)
})

test.each(names)('a folder in place of %s is reported and set aside', async (name) => {
  rmSync(join(folder, name), { force: true })
  mkdirSync(join(folder, name), { mode: 0o700 })
  await expectRepair(name)
  const [aside] = asideOf(name)
  expect(statSync(join(folder, aside!)).isDirectory()).toBe(true)
})

test('an empty token of the gateway is reported, because nothing could call the gateway', async () => {
  writeFileSync(join(folder, 'gateway-token'), '', { mode: 0o600 })
  await expectRepair('gateway-token')
})

async function expectRepair(name: string): Promise<void> {
  for (const words of reads) {
    const { stdout, stderr } = await home.type([...words, '--json'])
    expect(stdout + stderr, words.join(' ')).not.toMatch(ofPrograms)
  }
  const where = join(folder, name)
  expect(await findings()).toMatchObject([{ kind: 'credentials-damaged', where, fixable: true }])
  await home.type(['doctor', '--fix'])
  expect(await findings()).toMatchObject([{ kind: 'set-aside' }])
  for (const words of reads) expect(await home.type(words), words.join(' ')).toMatchObject({ code: 0 })
}

async function findings(): Promise<unknown> {
  const { code, stdout } = await home.type(['doctor', '--json'])
  expect(code).toBe(0)
  return (JSON.parse(stdout) as { findings: unknown }).findings
}

function asideOf(name: string): string[] {
  return readdirSync(folder).filter((each) => each.startsWith(`${name}.corrupt-`))
}
