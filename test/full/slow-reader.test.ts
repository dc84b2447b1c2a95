// A command whose answer is read slowly, as by a pager. Takes seconds of waiting, so it is not in the default run.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeHome, programFile } from '../support/program.ts'

test('a slow reader gets all of a long answer', () => {
  const reader = makeHome()
  const projects = join(reader.env['CLAUDE_CONFIG_DIR']!, 'projects', '-p')
  mkdirSync(projects, { recursive: true })
  for (let n = 100; n < 250; n++) {
    const sessionId = `00000${n}-0000-4000-8000-000000000000`
    const message = { role: 'user', content: `Question ${n}` }
    const record = { type: 'user', uuid: `u${n}`, sessionId, cwd: '/p', message }
    writeFileSync(join(projects, `${sessionId}.jsonl`), `${JSON.stringify(record)}\n`)
  }
  // A pipe holds 64 KB; and this is longer than a command waits for what its libraries left behind.
  const slowly = `"${process.execPath}" "${programFile}" cc list --json | (sleep 4; cat)`
  const output = execFileSync('sh', ['-c', slowly], { env: reader.env, encoding: 'utf8' })
  expect(output.length).toBeGreaterThan(100_000)
  expect((JSON.parse(output) as { sessions: object[] }).sessions).toHaveLength(150)
  reader.remove()
})
