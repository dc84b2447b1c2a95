// The scripts that a shell command would run. An approval covers their content: a changed script needs another approval. What
// only the shell knows (variables, wildcards, a `cd` inside of a script) is not followed.
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import type { Script } from '../../domain/coding-session.ts'

/** Interpreters take the script as an argument. */
const interpreters =
  /^(?:\.|source|(?:ba|da|z|k|fi)?sh|node|deno|bun|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|Rscript|osascript)$/
/** These read their instructions from a file that the command does not name. */
const implied: ReadonlyArray<[program: RegExp, files: readonly string[]]> = [
  [/^g?make$/, ['GNUmakefile', 'makefile', 'Makefile']],
  [/^just$/, ['justfile', 'Justfile', '.justfile']],
  [/^rake$/, ['Rakefile', 'rakefile']],
  [/^(?:npm|pnpm|yarn|bun)$/, ['package.json']],
]
const maxBytes = 5_000_000
const maxNesting = 3

/** The scripts that exist, in the order in which the command names them. */
export async function scriptsIn(command: string, directory: string): Promise<Script[]> {
  const found: Script[] = []
  // One after the other: a long command may name more paths than files can be open at once.
  for (const path of new Set(candidates(command, directory))) {
    const script = await readScript(path)
    if (script) found.push(script)
  }
  return found
}

/** Paths that would be run if they exist. */
function candidates(command: string, directory: string, nesting = 0): string[] {
  const paths: string[] = []
  let here = directory
  for (const words of simpleCommands(command)) {
    const [first = '', second = ''] = words
    if (first === 'cd') here = resolve(here, second)
    else paths.push(...candidatesOf(words, here, nesting))
  }
  return paths
}

/** `timeout 5 sh build.sh` runs a script, too, so every word is checked and not only the first. */
function candidatesOf(words: string[], here: string, nesting: number): string[] {
  const paths = words.filter((word) => word.includes('/')).map((word) => resolve(here, word))
  const at = words.findIndex((word) => interpreters.test(basename(word)))
  if (at >= 0) paths.push(...argumentsOf(words.slice(at + 1), here, nesting))
  for (const [program, files] of implied) {
    const used = words.findIndex((word) => program.test(basename(word)))
    if (used >= 0) paths.push(...impliedFiles(words.slice(used + 1), here, files))
  }
  return paths
}

/** Options may name files as well (`--require ./setup.js`), and `-c` a whole command. */
function argumentsOf(words: string[], here: string, nesting: number): string[] {
  const paths: string[] = []
  for (const [n, word] of words.entries()) {
    const before = words[n - 1] ?? ''
    if (/^-[a-z]*c$/.test(before)) {
      if (nesting < maxNesting) paths.push(...candidates(word, here, nesting + 1))
    } else if (!word.startsWith('-')) {
      paths.push(resolve(here, word))
      if (!before.startsWith('-')) break
    }
  }
  return paths
}

/** In the directory that `-C` names, or the file that `-f` names; `npm` also looks in the directories above. */
function impliedFiles(words: string[], here: string, files: readonly string[]): string[] {
  const valueOf = (...options: string[]): string | undefined =>
    words[words.findIndex((word) => options.includes(word)) + 1 || words.length]
  const named = valueOf('-f', '--file', '--makefile')
  const folder = resolve(here, valueOf('-C', '--directory', '--prefix') ?? '.')
  const folders = files.includes('package.json') ? withParents(folder) : [folder]
  return [
    ...(named === undefined ? [] : [resolve(folder, named)]),
    ...folders.flatMap((each) => files.map((file) => resolve(each, file))),
  ]
}

function withParents(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...withParents(above)]
}

/** The words of each simple command, without quotes. */
function simpleCommands(command: string): string[][] {
  const commands: string[][] = [[]]
  for (const [token, single, double, separator] of command.matchAll(shellTokens)) {
    if (separator !== undefined) commands.push([])
    else if (/\s/.test(token[0]!) && single === undefined && double === undefined) commands.at(-1)!.push('')
    else appendTo(commands.at(-1)!, single ?? double?.replaceAll(/\\(.)/gs, '$1') ?? token.replace(/^\\/, ''))
  }
  return commands.map((words) => words.filter((word) => word !== ''))
}

const shellTokens = /'([^']*)'|"((?:\\.|[^"\\])*)"|([;&|\n()`]+|\$\()|\\.|[^\S\n]+|[^\s'"\\;&|()`$]+|\$/gs

function appendTo(words: string[], text: string): void {
  if (words.length === 0) words.push(text)
  else words[words.length - 1] += text
}

/** Undefined for anything but a regular file. Opened without waiting: a named pipe would block for ever. */
async function readScript(path: string): Promise<Script | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (!file) return undefined
  try {
    const stat = await file.stat()
    const { size, mtimeMs } = stat
    if (!stat.isFile()) return undefined
    const content = size > maxBytes ? `${size} bytes, changed at ${mtimeMs}` : await file.readFile()
    return { path, sha256: createHash('sha256').update(content).digest('hex') }
  } catch {
    // An unreadable script cannot be compared; the command fails by itself.
    return undefined
  } finally {
    await file.close()
  }
}
