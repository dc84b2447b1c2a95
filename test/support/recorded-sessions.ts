// Sessions with large tool results, recorded by the real Claude binary against the scripted API: reads of long files, some of them
// twice, outputs of commands, pictures, edits, failures and parallel calls.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { repoPathToSlug } from '../../src/discovery/repo-paths.ts'
import { claudeBinary, testModel, type ClaudeHome } from './claude-home.ts'
import type { MessagesApi, Step } from './messages-api.ts'

const run = promisify(execFile)

/** One point. */
const picturePng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export interface RecordedSession {
  sessionId: string
  filePath: string
  /** Bytes of the last request before the session ended; a resume sends it again. */
  requestBytes: number
  /** A word of the last result and one of the first prompt: both must stay. */
  keptWords: [string, string]
}

/** Runs the binary once; resolves to its output. */
export async function runClaude(home: ClaudeHome, prompt: string, ...more: string[]): Promise<string> {
  const tools = ['--allowedTools', 'Read', 'Bash', 'Edit', 'Write']
  const args = ['-p', prompt, '--model', testModel, ...tools, ...more]
  const { stdout } = await run(claudeBinary, args, {
    cwd: home.project,
    env: home.variables,
    maxBuffer: 64 << 20,
  })
  return stdout.trim()
}

/** Session number `n`: its number decides how many calls it has, how long their results are, and of which kinds. */
export async function recordSession(home: ClaudeHome, api: MessagesApi, n: number): Promise<RecordedSession> {
  const sessionId = randomUUID()
  const turns = 1 + (n % 3)
  for (let turn = 0; turn < turns; turn++) {
    const key = `task-${n}-${turn}`
    api.script(key, stepsOf(home, n, turn))
    const which = turn === 0 ? ['--session-id', sessionId] : ['--resume', sessionId]
    await runClaude(home, `Please look at the harbour: ${key}, lighthouse-${n}`, ...which)
  }
  const filePath = join(
    home.configDir,
    'projects',
    repoPathToSlug(realpathSync(home.project)),
    `${sessionId}.jsonl`,
  )
  const last = api.calls().findLast((call) => call.sdkSessionId === sessionId)!
  const keptWords: [string, string] = [`lantern-${n}-${turns - 1}-end`, `lighthouse-${n}`]
  return { sessionId, filePath, requestBytes: JSON.stringify(last.body).length, keptWords }
}

function stepsOf(home: ClaudeHome, n: number, turn: number): Step[] {
  const folder = join(home.project, `s${n}`)
  mkdirSync(folder, { recursive: true })
  const calls = 12 + ((n * 7) % 18)
  const steps = Array.from({ length: calls }, (_, i): Step => stepOf(folder, { n, turn, i }))
  const end = join(folder, `end-${turn}.txt`)
  writeFileSync(end, `lantern-${n}-${turn}-end\n`)
  return [...steps, { tools: [{ name: 'Read', input: { file_path: end } }] }, { text: `Done with ${n}.` }]
}

function stepOf(folder: string, { n, turn, i }: { n: number; turn: number; i: number }): Step {
  const lines = 150 + ((n * 31 + i * 57) % 450)
  // Every fifth file is read again later.
  const file = join(folder, `file-${i % 5 === 0 ? 0 : i}.txt`)
  writeFileSync(file, `line of ${file}, "quoted" and \\escaped ünï 🦐\n`.repeat(lines))
  const read = { name: 'Read', input: { file_path: file } }
  const thinking = i % 4 === 0 ? `Thinking about ${i}` : undefined
  switch ((n + i) % 7) {
    case 1:
      return { thinking, tools: [{ name: 'Bash', input: { command: `seq 1 ${lines * 8}` } }] }
    case 2:
      return { thinking, text: `Reading ${i}`, tools: [read, { name: 'Bash', input: { command: 'false' } }] }
    case 3: {
      const picture = join(folder, `picture-${i}.png`)
      writeFileSync(picture, picturePng)
      return { tools: [{ name: 'Read', input: { file_path: picture } }] }
    }
    case 4: {
      const path = join(folder, `new-${turn}-${i}.txt`)
      return { tools: [{ name: 'Write', input: { file_path: path, content: `made in turn ${turn}` } }] }
    }
    default:
      return { thinking, tools: [read] }
  }
}
