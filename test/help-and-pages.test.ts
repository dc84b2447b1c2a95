// What the help and the pages show: all of it is there, it is what the code does, and it can be typed.
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { renderPage } from '../scripts/operations-page.ts'
import { allOperations } from '../src/operations/all.ts'
import { makeCatalog } from '../src/operations/catalog.ts'
import { allLocalCommands, findCommand } from '../src/cli/commands.ts'
import { commandGroups, commandsBelow, helpOrUnknown, shortDescriptions } from '../src/cli/help.ts'
import type { Host } from '../src/cli/host.ts'
import { parseCommand } from '../src/cli/parse-options.ts'

const catalog = await makeCatalog(await allLocalCommands())

test('docs/operations.md is up to date (`npm run docs` writes it)', async () => {
  expect(readFileSync('docs/operations.md', 'utf8')).toBe(await renderPage())
})

describe('the help', () => {
  test('shows every command in a group, and no group has a command that is not there', () => {
    for (const [noun, named] of Object.entries(commandGroups)) {
      const grouped = named.flatMap(({ words }) => words.map((word) => `${noun} ${word}`.trim()))
      const there = commandsBelow(noun, catalog).map(({ command }) => command)
      expect(grouped.toSorted()).toEqual(there.toSorted())
    }
    const first = new Set(catalog.map(({ command }) => command.split(' ', 1)[0]))
    expect(Object.keys(shortDescriptions).filter((word) => !first.has(word))).toEqual([])
  })

  test('of everything fits a terminal of 80 columns, a line a command, none of it cut', async () => {
    const text = await shown([], 80)
    expect(text).toContain('\n  cc  ')
    expect(text).not.toContain('…')
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(text.split('\n').filter((line) => line.startsWith('   '))).toEqual([])
  })

  test('of a noun is never wider than a narrow terminal', async () => {
    for (const line of (await shown(['cc'], 60)).split('\n')) expect(line.length).toBeLessThanOrEqual(60)
  })

  test('shows coding sessions under one name; the other one works, too', async () => {
    expect(catalog.filter(({ command }) => command.startsWith('coding'))).toEqual([])
    expect(await shown(['coding'], 80)).toBe(await shown(['cc'], 80))
    for (const { name } of (await allOperations()).filter((one) => one.name.startsWith('coding.'))) {
      const verb = name.slice('coding.'.length)
      expect(await findCommand(['coding', verb])).toMatchObject({ operation: { name } })
    }
  })
})

describe('can be typed', () => {
  test('every command has an example, and each example', async () => {
    for (const { name, command } of [...(await allOperations()), ...(await allLocalCommands())]) {
      if (!command?.hidden) expect([name, command?.examples?.length ?? 0]).not.toEqual([name, 0])
    }
    for (const entry of catalog) {
      const found = (await findCommand(entry.command.split(' ')))!
      const { command } = found.kind === 'local' ? found.command : found.operation
      for (const example of command?.examples ?? []) await type(example)
    }
  })

  test('every command line of the README and the pages', async () => {
    const lines = pages().flatMap((page) => commandLines(readFileSync(page, 'utf8')))
    expect(lines.length).toBeGreaterThan(25)
    for (const line of lines) await type(line)
  })

  test('every command that a page, an answer or an error names', async () => {
    for (const file of [...pages(), ...globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] })]) {
      const text = readFileSync(file, 'utf8')
      for (const [, words] of text.matchAll(/`rockpool ([a-z][a-z -]*[a-z])/g)) {
        const plain = words!.split(/ +-/, 1)[0]!.split(' ')
        const isNoun = catalog.some(({ command }) => command.startsWith(`${plain.join(' ')} `))
        if (plain[0] !== 'help' && !isNoun && !(await findCommand(plain)))
          throw new Error(`${file}: there is no \`rockpool ${words}\``)
      }
    }
  })
})

async function shown(args: string[], width: number): Promise<string> {
  let text = ''
  const terminal = { width, color: false, out: (more: string) => void (text += more) }
  // Of its host the help asks only for these.
  await helpOrUnknown(args, { terminal, now: () => 0, catalog: async () => catalog } as unknown as Host)
  return text
}

/** Throws what the command line would say about it. */
async function type(line: string): Promise<void> {
  const args = wordsOf(line.replace(/^(.*\s)?rockpool /, ''))
  const found = await findCommand(args)
  if (!found) throw new Error(`There is no such command: ${line}`)
  const given = found.kind === 'local' ? {} : found.given
  parseCommand(found.kind === 'local' ? found.command : found.operation, found.words, found.rest, given)
}

function wordsOf(line: string): string[] {
  const [command] = line.split(/ [|<>] /, 1)
  return [...command!.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!)
}

function pages(): string[] {
  return ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')]
}

/** What stands in a block of code and begins with the program's name. */
function commandLines(page: string): string[] {
  const blocks = [...page.matchAll(/^```(?:sh)?\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
    block!.split('\n'),
  )
  const inBlocks = blocks.filter((line) => /^(\$ |[A-Z_]+=\S+ )?rockpool /.test(line))
  return inBlocks.map((line) => line.replace(/ +#.*/, ''))
}
