// A machine on which somebody has been working for a while: repositories, sessions of many days, some of them alive.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { identifyProcess } from '../src/store/process-identity.ts'
import type { ClaudeHome } from './claude-home.ts'
import { NativeTranscript } from './dashboard-house.ts'

export const seaStarsId = '11111111-2222-4333-8444-555555555555'
export const parserId = '44444440-2222-4333-8444-555555555555'
const dayMs = 86_400_000

export interface Demo {
  tidepool: string
  login: string
}

export function furnish(home: ClaudeHome): Demo {
  const tidepool = join(home.home, 'code/tidepool')
  const login = join(home.home, 'code/login')
  mkdirSync(login, { recursive: true })
  makeRepository(tidepool, home)
  seaStars(home, tidepool)
  smallOnes(home)
  history(home)
  return { tidepool, login }
}

function makeRepository(path: string, home: ClaudeHome): void {
  mkdirSync(join(path, 'docs'), { recursive: true })
  const git = (...words: string[]): void => {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false']
    execFileSync('git', [...who, ...words], { cwd: path, env: { ...home.variables }, stdio: 'ignore' })
  }
  writeFileSync(join(path, 'README.md'), '# Tidepool\n')
  writeFileSync(join(path, 'CLAUDE.md'), 'Count twice.\n')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'Count what lives in the pool')
  writeFileSync(join(path, 'pool.ts'), 'export const stars = 4\n')
  git('add', '.')
  git('commit', '-qm', 'Write the stars down')
  writeFileSync(join(path, 'pool.ts'), 'export const stars = 5\n')
}

const poolBefore =
  'import { tide } from "./tide"\n\nexport const stars = 4\nexport const crabs = 7\nexport default tide'
const poolAfter =
  'import { tide } from "./tide"\n\nexport const stars = 5\nexport const crabs = 7\nexport const urchins = 2\nexport default tide'

function seaStars(home: ClaudeHome, cwd: string): void {
  const native = new NativeTranscript(home, cwd, seaStarsId, Date.now() - 50 * 60_000)
  const log = 'northern pool: star, star, crab, star\n'.repeat(300)
  native.prompt('Count the sea stars in the northern pool and write the number down')
  native.answer(
    [
      { type: 'thinking', thinking: 'The pool is described in one file.'.repeat(40), signature: 'x' },
      { type: 'text', text: 'Let me **look** first:\n\n- the pool\n- its tide\n' },
      { type: 'tool_use', id: 't0', name: 'Bash', input: { command: 'grep -c star notes/*.log' } },
    ],
    { cache_creation_input_tokens: 18_000 },
  )
  native.result('t0', log)
  native.later(4 * 60_000)
  native.answer(
    [
      { type: 'text', text: 'There is one more than the file says.' },
      {
        type: 'tool_use',
        id: 't1',
        name: 'Edit',
        input: { file_path: join(cwd, 'pool.ts'), old_string: poolBefore, new_string: poolAfter },
      },
      {
        type: 'tool_use',
        id: 't2',
        name: 'Task',
        input: { subagent_type: 'Explore', description: 'Count the urchins', prompt: 'How many urchins?' },
      },
    ],
    { cache_read_input_tokens: 19_000, cache_creation_input_tokens: 9_000, output_tokens: 900 },
  )
  native.result('t1', 'The file was changed.')
  native.result('t2', 'Two urchins.')
  native.later(6 * 60_000)
  native.answer('There are **five**.', { cache_read_input_tokens: 28_000, output_tokens: 900 })
  native.later(8 * 60_000)
  native.compaction()
  native.prompt('And the crabs?')
  native.later(60_000)
  native.answer(
    [
      { type: 'tool_use', id: 't3', name: 'Read', input: { file_path: join(cwd, 'docs/crabs.md') } },
      { type: 'tool_use', id: 't4', name: 'Bash', input: { command: 'npm test -- crabs' } },
    ],
    { cache_read_input_tokens: 24_000, output_tokens: 700 },
  )
  native.result('t3', log)
  native.result('t4', '12 passed')
  native.later(28 * 60_000)
  native.answer('Seven crabs.', { cache_read_input_tokens: 36_000, output_tokens: 4_000 })
}

function smallOnes(home: ClaudeHome): void {
  const tasks: Array<[part: string, repo: string, minutesAgo: number]> = [
    ['parser', 'kelp', 20],
    ['index', 'anemone', 3 * 60],
    ['queue', 'kelp', 26 * 60],
    ['cache', 'anemone', 3 * 1440],
  ]
  tasks.forEach(([part, repo, minutesAgo], i) => {
    const id = `4444444${i}-2222-4333-8444-555555555555`
    const other = new NativeTranscript(
      home,
      join(home.home, 'code', repo),
      id,
      Date.now() - minutesAgo * 60_000,
    )
    other.prompt(`Repair the ${part} and test everything again`)
    other.answer('Repaired and tested.', { cache_read_input_tokens: 40_000 * i, output_tokens: 3_000 })
    other.prompt(`Now write down what was wrong with the ${part}`)
    other.answer('Written.', { cache_read_input_tokens: 41_000 * i, output_tokens: 1_000 })
  })
  beAlive(home, '44444441-2222-4333-8444-555555555555', process.pid, { status: 'busy' })
  const waitingFor = 'permission to run: npm publish'
  beAlive(home, parserId, process.ppid, { status: 'waiting', waitingFor })
}

/** As Claude Code says of itself that it runs; the process is one that really does. */
function beAlive(home: ClaudeHome, sessionId: string, pid: number, more: Record<string, string>): void {
  const procStart = identifyProcess(pid)?.startTime
  mkdirSync(join(home.configDir, 'sessions'), { recursive: true })
  const path = join(home.configDir, 'sessions', `${pid}.json`)
  writeFileSync(path, JSON.stringify({ pid, sessionId, procStart, ...more }))
}

/** A little of every second day, for the heat map. */
function history(home: ClaudeHome): void {
  for (let day = 2; day < 150; day += day % 3 === 0 ? 1 : 2) {
    const id = `5555${String(day).padStart(4, '0')}-2222-4333-8444-555555555555`
    const at = Date.now() - day * dayMs
    const old = new NativeTranscript(
      home,
      join(home.home, 'code', ['kelp', 'anemone', 'tidepool'][day % 3]!),
      id,
      at,
    )
    old.prompt(`Look after the pool on day ${day}`)
    old.answer('Done.', {
      cache_read_input_tokens: 30_000 * (day % 5),
      output_tokens: 2_000 * (1 + (day % 7)),
    })
  }
}
