// Runs every bench, or those that are named, and writes their sections of bench/RESULTS.md.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { basename } from 'node:path'
import type { BenchResult } from './result.ts'

const all = globSync('bench/*.ts')
  .map((file) => basename(file, '.ts'))
  .filter((name) => name !== 'run' && name !== 'result')
  .sort((a, b) => a.localeCompare(b))
const parts = chosenParts(process.argv.slice(2))

const page = 'bench/RESULTS.md'
const sections = readSections()
let missed = 0
for (const part of parts) {
  const { bench } = (await import(`./${part}.ts`)) as { bench: () => Promise<BenchResult[]> }
  console.log(`\n${part}`)
  const results = await bench().catch((error: unknown): BenchResult[] => [whatFailed(error)])
  for (const result of results) {
    console.log(
      `  ${result.ok ? 'ok    ' : 'MISSED'} ${result.name}: ${result.measured} (wanted ${result.wanted})`,
    )
  }
  missed += results.filter((result) => !result.ok).length
  sections.set(part, sectionOf(part, results))
  writeFileSync(page, pageOf(sections))
}
console.log(`\nbench: ${missed === 0 ? 'every figure reached' : `${missed} figures missed`}`)
process.exit(missed === 0 ? 0 : 1)

/** The parts to measure; `--help` and unknown names end the program. */
function chosenParts(names: string[]): string[] {
  const usage = `Usage: npm run bench [part …]\nWithout a part, all of them run: ${all.join(', ')}.`
  if (names.includes('--help') || names.includes('-h')) {
    console.log(usage)
    process.exit(0)
  }
  const unknown = names.filter((name) => !all.includes(name))
  if (unknown.length > 0) {
    console.error(`There is no part ${unknown.join(', ')}.\n${usage}`)
    process.exit(2)
  }
  return names.length === 0 ? all : all.filter((name) => names.includes(name))
}

/** A bench that fails must not stop the others. */
function whatFailed(error: unknown): BenchResult {
  const measured = (error instanceof Error ? error.message : String(error)).split('\n')[0]!
  return { name: 'the measuring itself', measured, wanted: 'an end', ok: false, how: 'it failed' }
}

/** What earlier runs measured stays until it is measured again. */
function readSections(): Map<string, string> {
  const text = existsSync(page) ? readFileSync(page, 'utf8') : ''
  const found = text.split(/^(?=## )/m).slice(1)
  return new Map(found.map((section) => [/^## (\S+)/.exec(section)![1]!, section.trimEnd()]))
}

function sectionOf(part: string, results: BenchResult[]): string {
  const when = `Measured on ${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]!.toFixed(1)} at the end.`
  const rows = results.map(
    (r) => `| ${r.ok ? '' : '**missed** '}${r.name} | ${r.measured} | ${r.wanted} | ${r.how} |`,
  )
  return [
    `## ${part}`,
    '',
    when,
    '',
    '| figure | measured | wanted | how |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function pageOf(parts: Map<string, string>): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}`
  const intro = `Written by \`npm run bench\`: ${machine}. Ratios are taken within one run; a busy machine makes them worse, not better.`
  const ordered = [...parts].sort(([a], [b]) => a.localeCompare(b)).map(([, text]) => text)
  return `${['# Measured', intro, ...ordered].join('\n\n')}\n`
}
