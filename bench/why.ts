// `rockpool why` on a repository of 5,000 commits with 2,000 sessions: how long an answer takes, and what the index of edits adds to
// the first scan and to the disk.
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { EditScan } from '../src/discovery/edit-scan.ts'
import { openDiscovery } from '../src/discovery/discovery.ts'
import { repoPathToSlug } from '../src/discovery/repo-paths.ts'
import { TranscriptScanner } from '../src/discovery/scan.ts'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { explainLines } from '../src/why/explain-lines.ts'
import { Repository } from '../src/why/repository.ts'
import { atMost, type BenchResult } from './result.ts'

const program = join(import.meta.dirname, '../bin/rockpool.js')
const [commits, sessions, files] = [5_000, 2_000, 300]
const firstSecond = 1_780_000_000

interface Made {
  folder: string
  repo: string
  configDir: string
  transcripts: string[]
  bytes: number
}

export async function bench(): Promise<BenchResult[]> {
  execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/build.ts')])
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-why-'))
  try {
    const made = makeWorld(folder)
    return [...benchScan(made), ...(await benchAnswers(made))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Every session edits some files, and some commits contain what it wrote. */
function makeWorld(folder: string): Made {
  const [repo, configDir] = [join(folder, 'repo'), join(folder, 'claude')]
  mkdirSync(repo)
  const texts = Array.from({ length: files }, (_, file) =>
    Array.from({ length: 120 }, (_, i) => lineOf(0, file, i)),
  )
  const transcripts = Array.from({ length: sessions }, (_, i) => {
    const id = `${i.toString(16).padStart(8, '0')}-0000-4000-8000-00000000000a`
    return join(configDir, 'projects', repoPathToSlug(repo), `${id}.jsonl`)
  })
  for (const path of transcripts) beginTranscript(path, repo)
  const stream: string[] = []
  for (let commit = 1; commit <= commits; commit++) {
    const changed =
      commit === 1 ? texts.map((_, file) => file) : [(commit * 7) % files, (commit * 13) % files]
    for (const file of commit === 1 ? [] : changed) {
      const path = transcripts[Math.floor((commit / commits) * (sessions - 1))]!
      editFile(path, repo, texts[file]!, file, commit)
    }
    stream.push(commitText(commit, changed, texts))
  }
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: repo })
  execFileSync('git', ['fast-import', '--quiet'], { cwd: repo, input: stream.join('') })
  execFileSync('git', ['reset', '-q', '--hard', 'main'], { cwd: repo })
  const bytes = transcripts.reduce((sum, path) => sum + statSync(path).size, 0)
  return { folder, repo, configDir, transcripts, bytes }
}

function lineOf(commit: number, file: number, line: number): string {
  return `  const value${commit}n${line} = computeSomething('file ${file}', ${(commit * 31 + line * 17) % 9973})`
}

function commitText(commit: number, changed: number[], texts: string[][]): string {
  const time = `${firstSecond + commit * 600} +0000`
  const about = `commit refs/heads/main\ncommitter Ada <ada@example.org> ${time}\ndata 8\nChange x\n`
  const contents = changed.map((file) => {
    const text = `${texts[file]!.join('\n')}\n`
    return `M 100644 inline src/file${file}.ts\ndata ${Buffer.byteLength(text)}\n${text}\n`
  })
  return `${about}${contents.join('')}\n`
}

function beginTranscript(path: string, repo: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(
    path,
    `${record(repo, 'user', 0, { message: { role: 'user', content: 'Change some values' } })}\n`,
  )
}

/** What else Claude Code records: in its recorded sessions there are 25 records for each edit. */
function otherRecords(repo: string, id: string, time: number): string[] {
  return Array.from({ length: 5 }, (_, i) => {
    const call = {
      type: 'tool_use',
      id: `${id}b${i}`,
      name: 'Bash',
      input: { command: 'npm test', description: 'Run the tests' },
    }
    const content = [
      { tool_use_id: `${id}b${i}`, type: 'tool_result', content: 'ok 1 - it works\n'.repeat(120) },
    ]
    return [
      record(
        repo,
        'assistant',
        time,
        reply(`${id}h${i}`, { type: 'thinking', thinking: 'Let me see. '.repeat(30) }),
      ),
      record(repo, 'assistant', time, reply(`${id}c${i}`, call)),
      record(repo, 'user', time, {
        message: { role: 'user', content },
        toolUseResult: { stdout: content[0]!.content },
      }),
      record(repo, 'attachment', time, {
        attachment: { type: 'total_tokens_reminder', content: 'x'.repeat(400) },
      }),
    ]
  }).flat()
}

/** Replaces ten lines, as Claude Code records it, between results of other tools. */
function editFile(path: string, repo: string, text: string[], file: number, commit: number): void {
  const originalFile = text.join('\n')
  const from = (commit * 11) % (text.length - 10)
  const removed = text.slice(from, from + 10)
  const added = removed.map((_, i) => lineOf(commit, file, i))
  text.splice(from, 10, ...added)
  const filePath = join(repo, `src/file${file}.ts`)
  const id = `toolu_${commit}x${file}`
  const input = { file_path: filePath, old_string: removed.join('\n'), new_string: added.join('\n') }
  const lines = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)]
  const structuredPatch = [{ oldStart: from, oldLines: 10, newStart: from, newLines: 10, lines }]
  const toolUseResult = {
    filePath,
    oldString: input.old_string,
    newString: input.new_string,
    originalFile,
    structuredPatch,
  }
  const read = { type: 'tool_use', id: `${id}r`, name: 'Read', input: { file_path: filePath } }
  const content = [{ tool_use_id: id, type: 'tool_result', content: 'The file has been updated.' }]
  const shown = [{ tool_use_id: `${id}r`, type: 'tool_result', content: originalFile }]
  const time = firstSecond + commit * 600 - 300
  appendFileSync(
    path,
    [
      ...otherRecords(repo, id, time),
      record(repo, 'assistant', time, reply(`${id}a`, read)),
      record(repo, 'user', time, {
        message: { role: 'user', content: shown },
        toolUseResult: { file: { content: originalFile } },
      }),
      record(
        repo,
        'assistant',
        time,
        reply(`${id}t`, { type: 'text', text: 'I will change the values. '.repeat(20) }),
      ),
      record(repo, 'assistant', time, reply(`${id}m`, { type: 'tool_use', id, name: 'Edit', input })),
      record(repo, 'user', time, { message: { role: 'user', content }, toolUseResult }),
      record(repo, 'assistant', time, reply(`${id}e`, { type: 'text', text: 'Done. '.repeat(200) })),
      '',
    ].join('\n'),
  )
}

function reply(id: string, block: object): object {
  const usage = {
    input_tokens: 10,
    output_tokens: 100,
    cache_read_input_tokens: 9_000,
    cache_creation_input_tokens: 300,
  }
  return { message: { id, role: 'assistant', model: 'claude-sonnet-4-5-20250929', content: [block], usage } }
}

let records = 0
function record(cwd: string, type: string, seconds: number, fields: object): string {
  const uuid = `${(++records).toString(16).padStart(8, '0')}-0000-4000-8000-00000000000b`
  const timestamp = new Date((seconds || firstSecond) * 1_000).toISOString()
  return JSON.stringify({
    parentUuid: null,
    isSidechain: false,
    type,
    ...fields,
    uuid,
    timestamp,
    cwd,
    gitBranch: 'main',
    version: '2.1.325',
  })
}

function benchScan({ transcripts, bytes }: Made): BenchResult[] {
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
  const how = `${(bytes / 1e6).toFixed(0)} MB in ${sessions} transcripts, 25 records for each edit`
  return [
    atMost(
      'the index of edits, share of the first scan',
      ((all - base) / base) * 100,
      10,
      '%',
      `processor time ${all.toFixed(0)} ms against ${base.toFixed(0)} ms without it, best of 7; ${how}`,
    ),
    atMost('the index of edits, share of the transcripts', (size / bytes) * 100, 3, '%', how),
  ]
}

async function benchAnswers({ folder, repo, configDir }: Made): Promise<BenchResult[]> {
  const state = join(folder, 'state')
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    CLAUDE_CONFIG_DIR: configDir,
    ROCKPOOL_STATE_DIR: state,
  }
  const ask = (line: number): { ms: number; isExact: boolean } => {
    const start = performance.now()
    const { stdout } = spawnSync(process.execPath, [program, 'why', `src/file7.ts:${line}`, '--json'], {
      cwd: repo,
      env,
      encoding: 'utf8',
    })
    const ms = performance.now() - start
    return { ms, isExact: (JSON.parse(stdout) as { confidence?: string }).confidence === 'exact' }
  }
  ask(1)
  const asked = Array.from({ length: 10 }, (_, i) => ask(5 + i * 9))
  const fresh = asked.map(({ ms }) => ms).sort((a, b) => a - b)
  const freshExact = asked.filter(({ isExact }) => isExact).length
  const discovery = openDiscovery({
    configDirs: [configDir],
    indexFile: join(state, 'index/discovery.sqlite'),
    registries: [],
    clock: systemClock,
    log: silentLog,
  })
  const stop = await discovery.watch(() => {})
  const warm: number[] = []
  let exact = 0
  for (let i = 0; i < 40; i++) {
    const start = performance.now()
    const repository = await Repository.open(repo, { PATH: process.env['PATH'], HOME: folder })
    const answer = await explainLines(
      { discovery, repository, mayRead: () => true },
      { file: `src/file${(i * 7) % files}.ts`, from: 3 * i + 1, to: 3 * i + 1 },
    )
    warm.push(performance.now() - start)
    if (answer.confidence === 'exact') exact++
  }
  await stop()
  await discovery.close()
  warm.sort((a, b) => a - b)
  const about = `${commits} commits, ${sessions} sessions`
  return [
    atMost(
      '`why file:line` in the gateway',
      warm[20]!,
      100,
      'ms',
      `${about}; median of 40 lines in 40 files, ${exact} of them exact, at worst ${warm.at(-1)!.toFixed(0)} ms`,
    ),
    atMost(
      '`why file:line` as a fresh command',
      fresh[5]!,
      400,
      'ms',
      `${about}; whole command, median of 10, ${freshExact} of them exact, at worst ${fresh.at(-1)!.toFixed(0)} ms`,
    ),
  ]
}
