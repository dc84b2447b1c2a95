// Builds dist/: the program and the library bundled for a fast start, their types, and the dashboard; and the plugins for OpenClaw and Claude Code.
// Does nothing when no source has changed since the last build.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import type { RolldownBuild } from 'rolldown'
import { buildClaudePlugin } from './claude-plugin.ts'
import { writeMethods } from './methods-file.ts'
import { buildOpenClawPlugin } from './openclaw-plugin.ts'

const heavyBuiltins = ['node:crypto', 'node:fs/promises', 'node:timers/promises', 'node:v8', 'node:zlib']
/** What `rockpool sessions` loads, as one file; `cc list` and `search` load one or two more. */
const startRoots = [
  'main',
  'app',
  'cli/call-operation',
  'cli/diagnostics',
  'cli/json-text',
  'operations/all',
  'operations/perform-operation',
  'rpc/json-pieces',
  'operations/sessions/session-list',
]
const stamp = 'dist/.built-from'
const fingerprint = fingerprintOfSources()
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) process.exit(0)

rmSync('dist', { recursive: true, force: true })
await writeMethods()
await bundleProgram()
await writeCatalog()
copyFileSync('src/search/word-vectors.bin', 'dist/word-vectors.bin')
copyFileSync('src/discovery/scan.wasm', 'dist/scan.wasm')
for (const database of ['postgres', 'sqlite'])
  cpSync(`src/store/${database}/sql`, `dist/sql/${database}`, { recursive: true })
emitTypes()
await buildOpenClawPlugin()
await buildClaudePlugin()
if (existsSync('web/index.html')) await buildDashboard()
writeFileSync(stamp, fingerprint)

function fingerprintOfSources(): string {
  const hash = createHash('sha256')
  const sources = ['src/**/*', 'web/**/*', 'plugins/*/src/**/*', 'plugins/*/files/**/*', 'plugins/*/*.md']
  const settings = [
    'scripts/build.ts',
    'scripts/openclaw-plugin.ts',
    'scripts/claude-plugin.ts',
    'package.json',
    'tsconfig.json',
  ]
  const files = globSync([...sources, ...settings], { withFileTypes: true })
  for (const file of files
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .sort()) {
    // The build itself generates these two from the operations.
    const isGenerated = file.endsWith('rpc/methods.ts') || file.endsWith('src/table.json')
    if (!file.endsWith('.test.ts') && !isGenerated) hash.update(file).update(readFileSync(file))
  }
  return hash.digest('hex')
}

async function bundleProgram(): Promise<void> {
  const threads = ['search-worker', 'vault-worker']
  const program = await bundleOf(['main', 'index', 'sdk-session-store', ...threads])
  await program.write({
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'parts/[name]-[hash].js',
    sourcemap: false,
    codeSplitting: { groups: loadedTogether() },
  })
  // By themselves: as further entries of the program they would make rolldown put a file in front of each module that is loaded
  // later, and `rockpool sessions` would load ten of them.
  for (const entry of ['scan-worker', 'sessions-json-writer', 'statusline']) {
    const alone = await bundleOf([entry])
    await alone.write({ dir: 'dist', format: 'esm', sourcemap: false, codeSplitting: false })
  }
  for (const file of globSync('dist/**/*.js')) writeFileSync(file, oneByteText(readFileSync(file, 'utf8')))
}

function bundleOf(entries: string[]): Promise<RolldownBuild> {
  return rolldown({
    input: Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: isExternal,
    plugins: [{ name: 'plain-builtins', renderChunk: plainBuiltins }],
    // Much of what is loaded later by one command is loaded at once by another; that is as it should be.
    onLog: (level, log, next) => (log.code === 'INEFFECTIVE_DYNAMIC_IMPORT' ? undefined : next(level, log)),
  })
}

/**
 * A command loads a few large files faster than sixty small ones: Node takes about a millisecond for each that it has to
 * find. The schemas of the configuration stay apart: making them costs more than loading, and few commands need them.
 */
function loadedTogether(): Array<{
  name: string
  test: RegExp | ((id: string) => boolean)
  minShareCount?: number
}> {
  const start = modulesOf(startRoots)
  // The entry stays where it is: it finds the package and the dashboard beside itself.
  start.delete(resolve('src/main.ts'))
  const discovery = modulesOf(['compose/discovery', 'operations/cc/cc-list', 'operations/vault/keep-briefly'])
  const why = modulesOf(['operations/why/why-operations', 'why/open-repository'])
  const vault = modulesOf(['compose/vault'])
  const search = modulesOf(['compose/open-search', 'operations/search/search-sessions'])
  return [
    { name: 'start', test: (id) => start.has(id) || /\/node_modules\/zod\//.test(id) },
    { name: 'discovery', test: (id) => discovery.has(id) },
    { name: 'why', test: (id) => why.has(id) },
    { name: 'vault', test: (id) => vault.has(id) },
    { name: 'search', test: (id) => search.has(id) },
    { name: 'base', test: /src[\\/](domain|store)[\\/](?!config)/, minShareCount: 2 },
    { name: 'parts', test: /src[\\/](discovery|search|compose|coding|rpc)[\\/]/, minShareCount: 2 },
  ]
}

/**
 * An import of a part of Node makes a module of it, and for that loads all that it has: streams for one `existsSync`. And
 * parts that are heavy all by themselves are loaded when one of their functions is called.
 */
function plainBuiltins(code: string): string {
  const builtin = /^import (?:\* as )?(\w+|\{[^}]*\}) from "(node:[^"]+)";$/gm
  return code.replace(builtin, (_, names: string, id: string) => {
    const call = `process.getBuiltinModule("${id}")`
    const heavy = names.startsWith('{') && heavyBuiltins.includes(id)
    if (!heavy) return `const ${names.replaceAll(' as ', ': ')} = ${call};`
    const each = names.slice(1, -1).split(',')
    return each.map((name) => takenLater(name.trim(), call)).join('\n')
  })
}

/** One letter outside of Latin-1 makes V8 keep the whole file with two bytes for each letter. */
function oneByteText(code: string): string {
  return code.replaceAll(
    /[^\0-\xff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function takenLater(name: string, call: string): string {
  const [theirs, ours = theirs] = name.split(' as ') as [string, string?]
  // Only a function can wait; theirs begin with a small letter.
  if (!/^[a-z]/.test(theirs) || theirs === 'constants') return `const ${ours} = ${call}.${theirs};`
  return `const ${ours} = (...given) => ${call}.${theirs}(...given);`
}

/** These and all that they import. It follows the imports, so that there is no list to maintain. */
function modulesOf(roots: string[]): Set<string> {
  const found = new Set<string>()
  const add = (file: string): void => {
    if (found.has(file)) return
    found.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, path] of text.matchAll(/^(?:import|export) (?!type )[^'"]*?from '(\.[^']+)'/gm)) {
      add(resolve(dirname(file), path!))
    }
  }
  for (const root of roots) add(resolve('src', `${root}.ts`))
  return found
}

/** What `rockpool --help` and the completion show, made once from the operations themselves. */
async function writeCatalog(): Promise<void> {
  const program = (await import(resolve('dist/main.js'))) as { buildCatalog(): Promise<unknown> }
  writeFileSync('dist/catalog.json', JSON.stringify(await program.buildCatalog()))
}

/** Small libraries are bundled, because one file loads faster; large and optional ones are loaded when used. */
function isExternal(id: string): boolean {
  const bundled = ['zod', 'ws', 'json5', 'get-east-asian-width']
  if (id.startsWith('.') || id.startsWith('/')) return false
  if (id.startsWith('node:')) return true
  return !bundled.some((name) => id === name || id.startsWith(`${name}/`))
}

function emitTypes(): void {
  const tsc = 'node_modules/typescript-7/bin/tsc'
  const options = ['--noEmit', 'false', '--emitDeclarationOnly', '--declaration', '--outDir', 'dist/types']
  const project = ['-p', 'tsconfig.types.json']
  try {
    execFileSync(process.execPath, [tsc, ...project, ...options], { stdio: 'pipe' })
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
    process.stderr.write(`The type declarations have errors:\n${output}`)
    process.exit(1)
  }
}

async function buildDashboard(): Promise<void> {
  const { build } = await import('vite')
  await build({ root: 'web', logLevel: 'warn', configFile: 'web/vite.config.ts' })
}
