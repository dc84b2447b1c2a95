// A repository of 5,000 commits with 2,000 sessions, as Claude Code records them.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repoPathToSlug } from '../../src/discovery/repo-paths.ts'

export const [commits, sessions, files] = [5_000, 2_000, 300]
/** Of each file. */
export const lines = 120
const firstSecond = 1_780_000_000

export interface LargeRepository {
  folder: string
  repo: string
  configDir: string
  transcripts: string[]
  bytes: number
}

/** Every session edits some files, and some commits contain what it wrote. */
export function makeLargeRepository(folder: string): LargeRepository {
  const [repo, configDir] = [join(folder, 'repo'), join(folder, 'claude')]
  mkdirSync(repo)
  const texts = Array.from({ length: files }, (_, file) =>
    Array.from({ length: lines }, (_, i) => lineOf(0, file, i)),
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
