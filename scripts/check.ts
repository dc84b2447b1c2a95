// npm run check: format, lint, types, import layers, unused code. Prints what is wrong, or one line a check.
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { writeMethods } from './methods-file.ts'
import { writePluginTable } from './openclaw-plugin.ts'

type Outcome = { name: string; ok: boolean; output: string; seconds: number }

const node = process.execPath
const folders = ['src', 'test', 'bench', 'scripts', 'web', 'plugins']
const tsc = ['node_modules/typescript-7/bin/tsc', '--noEmit', '-p']

const checks: Record<string, () => Promise<Outcome>> = {
  format: () => run('format', ['node_modules/oxfmt/bin/oxfmt', '--check', ...folders, 'wasm']),
  lint: () => run('lint', ['node_modules/oxlint/bin/oxlint', '--type-aware', ...folders]),
  types: () => run('types', [...tsc, 'tsconfig.json']),
  web: () => run('types of web', [...tsc, 'web/tsconfig.json']),
  layers,
  unused: () => run('unused', ['node_modules/knip/bin/knip.js', '--no-progress']),
}

// `npm run check lint types` runs only those.
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(checks)
const unknown = wanted.filter((name) => !(name in checks))
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(', ')}. There are: ${Object.keys(checks).join(' ')}.`)
  process.exit(2)
}
await writeMethods()
await writePluginTable()
const outcomes = await Promise.all(wanted.map((name) => checks[name]!()))
let failed = false
for (const outcome of outcomes) {
  console.log(`${outcome.ok ? 'ok    ' : 'FAILED'} ${outcome.name} (${outcome.seconds.toFixed(1)} s)`)
  if (!outcome.ok) console.log(outcome.output)
  failed ||= !outcome.ok
}
process.exit(failed ? 1 : 0)

/** dependency-cruiser reports success even if it could parse no file, so this counts the modules that it saw. */
async function layers(): Promise<Outcome> {
  const outcome = await run('layers', [
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    'src',
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'json',
  ])
  let report: { summary: { violations: Violation[] }; modules: Array<{ source: string }> }
  try {
    report = JSON.parse(outcome.output)
  } catch {
    return { ...outcome, ok: false }
  }
  const files = globSync('src/**/*.ts').length
  const seen = report.modules.filter((module) => module.source.startsWith('src/')).length
  const lines = report.summary.violations.map((v) => `  ${v.rule.name}: ${v.from} -> ${v.to}`)
  if (seen < files) lines.push(`  only ${seen} of ${files} modules were seen`)
  return { ...outcome, name: `layers, ${seen} modules`, ok: lines.length === 0, output: lines.join('\n') }
}

type Violation = { rule: { name: string }; from: string; to: string }

function run(name: string, args: string[]): Promise<Outcome> {
  const started = performance.now()
  return new Promise((resolve) => {
    const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.on('close', (code) => {
      resolve({ name, ok: code === 0, output, seconds: (performance.now() - started) / 1000 })
    })
  })
}
