import { expect, test } from 'vitest'
import { z } from 'zod'
import { nonBlankText } from '../operations/input-fields.ts'
import { allOperations } from '../operations/all.ts'
import { parseCommand } from './parse-options.ts'

const command = {
  name: 'shells.list',
  description: 'List shells.',
  input: z.strictObject({
    beach: z.string().max(5).optional(),
    limit: z.union([z.int().min(1), z.literal('all')]).optional(),
    port: z.int().max(65_535).optional(),
    size: z.enum(['small', 'large']).optional(),
    label: z.string().nullable().optional(),
  }),
  command: { positional: ['beach'] },
}

test('every command that takes something away accepts --yes', async () => {
  const removing = (await allOperations()).filter(({ name }) =>
    /\.(remove|delete|kill|rotate|purge)$/.test(name),
  )
  expect(removing.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'agents.remove',
      'coding.kill',
      'devices.remove',
      'rules.remove',
      'tokens.rotate',
    ]),
  )
  for (const operation of removing) {
    const given: Record<string, string> = { which: 'hook', channel: 'telegram' }
    const words = (operation.command?.positional ?? []).map((name) => given[name] ?? name)
    const { yes } = parseCommand(operation, operation.name, [...words, '--yes'])
    expect([operation.name, yes]).toEqual([operation.name, true])
  }
})

test('a value is read as what its field takes', () => {
  const { input } = parseCommand(command, 'shells list', [
    '12',
    '--limit',
    'all',
    '--port',
    '80',
    '--label',
    '',
  ])
  expect(input).toEqual({ beach: '12', limit: 'all', port: 80, label: null })
  expect(parseCommand(command, 'shells list', ['--limit', '3']).input).toEqual({ limit: 3 })
})

test('a number below zero after an option is its value: groups on Telegram have such numbers', () => {
  const shapes = { ...command, command: { shortFlags: { beach: 'b' } } }
  for (const args of [['-b', '-100'], ['--beach', '-100'], ['--beach=-100']]) {
    expect(parseCommand(shapes, 'shells list', [...args, '--port', '80']).input).toEqual({
      beach: '-100',
      port: 80,
    })
  }
  expect(() => parseCommand(shapes, 'shells list', ['--beach', '-x'])).toThrow(/ambiguous/)
  expect(() => parseCommand(shapes, 'shells list', ['-100'])).toThrow(/Unknown option/)
})

test.each([
  [['--port', '99999'], '--port "99999": at most 65535.'],
  [['--port', 'x'], '--port "x": a number is expected.'],
  [['--limit', '0'], '--limit "0": at least 1.'],
  [['--limit', 'x'], '--limit "x": a number or all is expected.'],
  [['--size', 'huge'], '--size "huge": small or large is expected.'],
  [['123456'], 'beach "123456": at most 5 characters.'],
  [['x'.repeat(90)], `beach "${'x'.repeat(80)}…": at most 5 characters.`],
])('%j is refused by the name that was typed, with what is wrong about it', (args, message) => {
  expect(() => parseCommand(command, 'shells list', args)).toThrow(
    expect.objectContaining({
      code: 'input-invalid',
      message,
      hint: '`rockpool shells list --help` shows what it takes.',
    }),
  )
})

test('where the last argument is a text, further words belong to it', () => {
  const search = { ...command, input: z.strictObject({ beach: z.string(), words: z.string() }) }
  const shape = { positional: ['beach', 'words'], joinsRest: true }
  const typed = (...args: string[]): unknown =>
    parseCommand({ ...search, command: shape }, 'find', args).input
  expect(typed('west', 'two', 'red  shells')).toEqual({ beach: 'west', words: 'two red  shells' })
  expect(typed('west', 'one')).toEqual({ beach: 'west', words: 'one' })
  expect(() => typed('west')).toThrow('Missing <words>. Usage: rockpool ')
})

test('what is wrong with a value is one sentence with one full stop', () => {
  const shells = { ...command, input: z.strictObject({ beach: nonBlankText() }) }
  const parse = (): unknown => parseCommand(shells, 'shells list', ['--beach', ' '])
  expect(parse).toThrow(/^--beach " ": It has no words\.$/)
})

test('a number that must be above a limit is not said to be allowed at it', () => {
  const shells = { ...command, input: z.strictObject({ beach: z.number().positive() }) }
  const parse = (): unknown => parseCommand(shells, 'shells list', ['--beach', '0'])
  expect(parse).toThrow(/^--beach "0": more than 0\.$/)
})

test('an address that is none is explained', () => {
  const shells = { ...command, input: z.strictObject({ beach: z.url() }) }
  const parse = (): unknown => parseCommand(shells, 'shells list', ['--beach', 'west'])
  expect(parse).toThrow('--beach "west": an address such as https://example.org is expected.')
})

test('a usage line has the option that is missing', () => {
  const move = { ...command, input: z.strictObject({ shell: z.string().optional(), to: z.string() }) }
  const parse = (): unknown => parseCommand({ ...move, command: { positional: ['shell'] } }, 'move', [])
  expect(parse).toThrow('Missing --to. Usage: rockpool move [shell] --to …')
})

test('an argument may be given by its name, but not in both ways', () => {
  expect(parseCommand(command, 'shells list', ['--beach', 'west']).input).toEqual({ beach: 'west' })
  expect(() => parseCommand(command, 'shells list', ['west', '--beach', 'east'])).toThrow(/occurs twice/)
})

test('an option with a value of its own needs none, and takes the next word only if that can be its value', () => {
  const shape = { positional: ['beach'], valueAlone: { size: 'small' } }
  const typed = (...args: string[]): unknown =>
    parseCommand({ ...command, command: shape }, 'find', args).input
  expect(typed('--size')).toEqual({ size: 'small' })
  expect(typed('--size', 'west')).toEqual({ size: 'small', beach: 'west' })
  expect(typed('--size', 'large', 'west')).toEqual({ size: 'large', beach: 'west' })
  expect(typed('west', '--size', '--port', '80')).toEqual({ size: 'small', beach: 'west', port: 80 })
})
