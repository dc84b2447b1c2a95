// `rockpool why` on a repository of 5,000 commits with 2,000 sessions: how long an answer takes, and what the index of edits adds to
// the first scan and to the disk.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EditScan } from '../src/discovery/edit-scan.ts'
import { TranscriptScanner } from '../src/discovery/transcript-scanner.ts'
import { GatewayClient } from '../src/rpc/client.ts'
import { startProgram } from '../test/support/program.ts'
import { atMost, type BenchResult } from './result.ts'
import {
  commits,
  files,
  lines,
  makeLargeRepository,
  sessions,
  type LargeRepository,
} from './why/large-repository.ts'

const program = join(import.meta.dirname, '../bin/rockpool.js')
const about = `${commits} commits, ${sessions} sessions`

export async function bench(): Promise<BenchResult[]> {
  execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')])
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-why-'))
  try {
    const made = makeLargeRepository(folder)
    const env = {
      PATH: process.env['PATH']!,
      HOME: folder,
      CLAUDE_CONFIG_DIR: made.configDir,
      ROCKPOOL_STATE_DIR: join(folder, 'state'),
    }
    return [...benchScan(made), ...benchCommand(made, env), ...(await benchGateway(made, env))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function benchScan({ folder, configDir, transcripts, bytes }: LargeRepository): BenchResult[] {
  const methods = Object.getOwnPropertyDescriptors(EditScan.prototype)
  const nothing = { value: (): void => {}, configurable: true }
  const scan = (isIndexed: boolean): number => {
    Object.defineProperties(EditScan.prototype, isIndexed ? methods : { reply: nothing, result: nothing })
    const scanner = new TranscriptScanner()
    const start = process.cpuUsage()
    for (const path of transcripts) {
      const { edits } = scanner.scan(path)
      if (isIndexed) size += edits.pack().byteLength + edits.names().byteLength
    }
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1_000
  }
  let size = 0
  const [without, withEdits]: [number[], number[]] = [[], []]
  for (let round = 0; round < 7; round++) {
    without.push(scan(false))
    size = 0
    withEdits.push(scan(true))
  }
  Object.defineProperties(EditScan.prototype, methods)
  const [base, all] = [Math.min(...without), Math.min(...withEdits)]
  const added = all - base
  const command = Math.min(...Array.from({ length: 3 }, () => firstListMs(folder, configDir)))
  const how = `${(bytes / 1e6).toFixed(0)} MB in ${sessions} transcripts, 25 records for each edit`
  return [
    atMost(
      'the index of edits, added to the first scan',
      (added / (command - added)) * 100,
      10,
      '%',
      `${added.toFixed(0)} ms of the ${command.toFixed(0)} ms of processor time of the first \`cc list\`; the scanner alone takes ${all.toFixed(0)} ms in place of ${base.toFixed(0)} ms; best of 7 and of 3; ${how}`,
    ),
    atMost('the index of edits, share of the transcripts', (size / bytes) * 100, 3, '%', how),
  ]
}

/** The processor time of a list without an index. */
function firstListMs(folder: string, configDir: string): number {
  const state = mkdtempSync(join(folder, 'state-'))
  const timed = `TIMEFORMAT='%U %S'; time "$@" > /dev/null`
  const list = [process.execPath, program, 'cc', 'list', '--json', '--limit', '1']
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    CLAUDE_CONFIG_DIR: configDir,
    ROCKPOOL_STATE_DIR: state,
  }
  writeFileSync(join(state, 'rockpool.json'), JSON.stringify({ vault: { enabled: false } }))
  const { stderr } = spawnSync('bash', ['-c', timed, 'bash', ...list], { env, encoding: 'utf8' })
  const [, user, system] = /([\d.]+) ([\d.]+)\s*$/.exec(stderr)!
  return (Number(user) + Number(system)) * 1_000
}

/** Lines of all ages in different files. */
function targets(count: number, first: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const [file, line] = [(first + i * 7) % files, ((first + i) * 31) % lines]
    return `src/file${file}.ts:${line + 1}`
  })
}

interface Asked {
  ms: number
  confidence: string
}

/** The built program as a person runs it, without a gateway; the index is there. */
function benchCommand({ repo }: LargeRepository, env: Record<string, string>): BenchResult[] {
  const ask = (target: string): Asked => {
    const start = performance.now()
    const { stdout } = spawnSync(process.execPath, [program, 'why', target, '--json'], {
      cwd: repo,
      env,
      encoding: 'utf8',
    })
    const ms = performance.now() - start
    return { ms, confidence: (JSON.parse(stdout) as { confidence: string }).confidence }
  }
  ask('src/file0.ts:1')
  return [rowOf('`why file:line` as a fresh command', targets(20, 1).map(ask), 400)]
}

async function benchGateway({ repo }: LargeRepository, env: Record<string, string>): Promise<BenchResult[]> {
  const gateway = startProgram(['up', '--port', '0', '--json'], env)
  const { wsUrl, tokenFile, pid } = JSON.parse(await gateway.line) as Record<string, string>
  const client = new GatewayClient({ url: wsUrl!, token: readFileSync(tokenFile!, 'utf8').trim() })
  const askAll = async (wanted: string[]): Promise<Asked[]> => {
    const asked: Asked[] = []
    for (const target of wanted) {
      const start = performance.now()
      const answer = await client.call('why.ask', { target, repo })
      asked.push({
        ms: performance.now() - start,
        confidence: 'confidence' in answer ? answer.confidence : '',
      })
    }
    return asked
  }
  try {
    await askAll(targets(3, 2))
    await untilIdle(Number(pid))
    const wanted = targets(40, 5)
    return [
      rowOf('`why file:line` in the gateway, a file for the first time', await askAll(wanted), 100),
      rowOf('`why file:line` in the gateway, again', await askAll(wanted), 100),
    ]
  } finally {
    client.close()
    gateway.child.kill('SIGTERM')
    await gateway.ended
  }
}

const mostSettling = 300

/** A new gateway first fills its vault and its search index, which takes both cores. */
async function untilIdle(pid: number): Promise<void> {
  const ticks = (): number => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return Number(fields[11]) + Number(fields[12])
  }
  let [before, idleSeconds] = [ticks(), 0]
  for (let seconds = 0; seconds < mostSettling && idleSeconds < 3; seconds++) {
    await sleep(1_000)
    const now = ticks()
    idleSeconds = now - before < 10 ? idleSeconds + 1 : 0
    before = now
  }
}

function rowOf(name: string, asked: readonly Asked[], limit: number): BenchResult {
  const times = asked.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor((times.length - 1) * share)]!
  const exact = asked.filter(({ confidence }) => confidence === 'exact').length
  const how = `${about}; 95th percentile of ${times.length} lines of all ages, median ${at(0.5).toFixed(0)} ms, at worst ${at(1).toFixed(0)} ms; ${exact} lines are of a session`
  return atMost(name, at(0.95), limit, 'ms', how)
}
