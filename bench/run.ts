// npm run bench [part …]: runs every bench, prints a table, and writes bench/RESULTS.md.
import { globSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { basename } from 'node:path'
import type { BenchResult } from './result.ts'

const wanted = process.argv.slice(2)
const parts = globSync('bench/*.ts')
  .map((file) => basename(file, '.ts'))
  .filter((name) => name !== 'run' && name !== 'result')
  .filter((name) => wanted.length === 0 || wanted.includes(name))
  .sort((a, b) => a.localeCompare(b))

const sections: string[] = []
let missed = 0
for (const part of parts) {
  const { bench } = (await import(`./${part}.ts`)) as { bench: () => Promise<BenchResult[]> }
  console.log(`\n${part}`)
  const results = await bench()
  for (const result of results) {
    console.log(
      `  ${result.ok ? 'ok    ' : 'MISSED'} ${result.name}: ${result.measured} (wanted ${result.wanted})`,
    )
  }
  missed += results.filter((result) => !result.ok).length
  sections.push(sectionOf(part, results))
}
if (wanted.length === 0) writeFileSync('bench/RESULTS.md', page(sections))
console.log(`\nbench: ${missed === 0 ? 'every figure reached' : `${missed} figures missed`}`)
process.exit(missed === 0 ? 0 : 1)

function sectionOf(part: string, results: BenchResult[]): string {
  const rows = results.map(
    (r) => `| ${r.ok ? '' : '**missed** '}${r.name} | ${r.measured} | ${r.wanted} | ${r.how} |`,
  )
  return [`## ${part}`, '', '| figure | measured | wanted | how |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  )
}

function page(sections: string[]): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}`
  const intro = `Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${machine}. Ratios are taken within one run.`
  return ['# Measured', '', intro, '', ...sections].join('\n')
}
