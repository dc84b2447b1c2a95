import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { makeRedactor } from '../domain/redact.ts'
import { openLog } from './log-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-log-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const linesOf = (file: string): Array<Record<string, unknown>> =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

test('a line is one JSON object without secrets, also in nested fields, errors and fields of a child', () => {
  const file = join(folder, 'logs', 'rockpool.log')
  const redactor = makeRedactor()
  redactor.know('gateway-token', 'very-secret-value')
  const log = openLog({ level: 'info', file, redactor })
  log
    .child({ token: 'very-secret-value', agentId: 'main' })
    .error(
      { event: 'test', deep: { list: ['very-secret-value'] }, error: new Error('at very-secret-value') },
      'very-secret-value',
    )
  const text = readFileSync(file, 'utf8')
  expect(text).not.toContain('very-secret-value')
  expect(linesOf(file)[0]).toMatchObject({
    agentId: 'main',
    token: '[redacted:gateway-token]',
    msg: '[redacted:gateway-token]',
  })
})

test('text from outside cannot make a line of its own', () => {
  const file = join(folder, 'x.log')
  openLog({ level: 'info', file, redactor: makeRedactor() }).info(
    { event: 'test', id: 'a\n[ERROR] fake \u001b[31m' },
    'x\ny',
  )
  expect(readFileSync(file, 'utf8').match(/\n/g)).toHaveLength(1)
  expect(readFileSync(file, 'utf8')).not.toContain('\u001b')
})

test('lines below the level are not written, and nothing is made before the first line', () => {
  const file = join(folder, 'x.log')
  const log = openLog({ level: 'warn', file, redactor: makeRedactor() })
  log.info({ event: 'test' }, 'no')
  expect(readdirSync(folder)).toEqual([])
  log.warn({ event: 'test' }, 'yes')
  expect(linesOf(file).map((line) => line['msg'])).toEqual(['yes'])
})

test('the file is ours alone whatever the umask, is rotated at its size, and five old ones are kept', () => {
  const file = join(folder, 'x.log')
  const before = process.umask(0)
  const log = openLog({ level: 'info', file, redactor: makeRedactor(), rotateAtBytes: 1_000 })
  for (let i = 0; i < 80; i++) log.info({ event: 'test' }, 'x y '.repeat(40))
  process.umask(before)
  expect(readdirSync(folder).sort()).toEqual(['x.log', ...[1, 2, 3, 4, 5].map((n) => `x.log.${n}`)])
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
})

test('a log that cannot be written, or is a link, ends nothing and follows nothing: its lines go to stderr', () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => stderr.mockRestore())
  const elsewhere = join(folder, 'elsewhere')
  writeFileSync(elsewhere, 'as it was')
  symlinkSync(elsewhere, join(folder, 'x.log'))
  for (const file of [join(folder, 'x.log'), join(elsewhere, 'x.log')]) {
    openLog({ level: 'info', file, redactor: makeRedactor() }).info({ event: 'test' }, `not in ${file}`)
    expect(String(stderr.mock.lastCall?.[0])).toContain(`not in ${file}`)
  }
  expect(readFileSync(elsewhere, 'utf8')).toBe('as it was')
})
