// Builds dist/: the program and the library bundled for a fast start, their types, and the dashboard.
// Does nothing when no source has changed since the last build.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { rolldown } from 'rolldown'

const stamp = 'dist/.built-from'
const fingerprint = fingerprintOfSources()
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) process.exit(0)

rmSync('dist', { recursive: true, force: true })
await bundleProgram()
await writeCatalog()
emitTypes()
if (existsSync('web/index.html')) await buildDashboard()
writeFileSync(stamp, fingerprint)

function fingerprintOfSources(): string {
  const hash = createHash('sha256')
  const files = globSync(['src/**/*', 'web/**/*', 'scripts/build.ts', 'package.json', 'tsconfig.json'], {
    withFileTypes: true,
  })
  for (const file of files
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`)
    .sort()) {
    if (!file.endsWith('.test.ts')) hash.update(file).update(readFileSync(file))
  }
  return hash.digest('hex')
}

async function bundleProgram(): Promise<void> {
  const entries = ['main', 'index', 'sdk-session-store', 'scan-worker', 'search-worker'].filter((name) =>
    existsSync(`src/${name}.ts`),
  )
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: isExternal,
    plugins: [{ name: 'plain-builtins', renderChunk: plainBuiltins }],
  })
  await bundle.write({
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'parts/[name]-[hash].js',
    sourcemap: false,
    codeSplitting: { groups: loadedTogether() },
  })
}

/** A command loads a few large files faster than sixty small ones. The schemas of the configuration stay apart: making
 *  them costs more than loading, and few commands need them. */
function loadedTogether(): Array<{ name: string; test: RegExp; minShareCount: number }> {
  return [
    { name: 'base', test: /src[\\/](domain|store)[\\/](?!config)/, minShareCount: 2 },
    { name: 'parts', test: /src[\\/](discovery|memory|assembly|coding|rpc)[\\/]/, minShareCount: 2 },
  ]
}

/** An import of a part of Node makes a module of it, and for that loads all that it has: streams for one `existsSync`. */
function plainBuiltins(code: string): string {
  const builtin = /^import (?:\* as )?(\w+|\{[^}]*\}) from "(node:[^"]+)";$/gm
  return code.replace(
    builtin,
    (_, names: string, id: string) =>
      `const ${names.replaceAll(' as ', ': ')} = process.getBuiltinModule("${id}");`,
  )
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
