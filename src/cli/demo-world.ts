// The world of `rockpool demo`: a temporary folder with repositories, conversations and a state directory. Nothing outside of it is
// read or changed.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readEnvironment } from '../store/config-file.ts'
import type { Environment } from '../store/config-file.ts'
import { sampleConversations, sampleRepos } from './demo-samples.ts'
import type { SampleConversation } from './demo-samples.ts'

export interface DemoFolder {
  root: string
  environment: Environment
  repoPath: (name: string) => string
}

export function makeDemoFolder(own: Environment, now: number): DemoFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-demo-')))
  const repoPath = (name: string): string => join(root, 'code', name)
  const folder: DemoFolder = { root, environment: environmentIn(root, own), repoPath }
  // The offline agent answers, also on a machine where Claude is logged in: the demo costs nothing.
  const config = { claude: { credential: 'none' }, coding: { maxSessions: 20, perRepo: { running: 5 } } }
  write(folder.environment.configFile, JSON.stringify(config, null, 2))
  for (const [name, files] of Object.entries(sampleRepos)) makeRepo(repoPath(name), files)
  for (const conversation of sampleConversations) writeConversation(folder, conversation, now)
  return folder
}

/** Only what programs need to run: no credential, no address of a gateway, no real home. */
function environmentIn(root: string, { variables }: Environment): Environment {
  const home = join(root, 'home')
  mkdirSync(home, { recursive: true })
  const { PATH, LANG, TERM, TZ } = variables
  const folders = {
    HOME: home,
    ROCKPOOL_STATE_DIR: join(root, 'state'),
    CLAUDE_CONFIG_DIR: join(root, 'claude'),
    OPENCLAW_STATE_DIR: join(root, 'openclaw'),
  }
  return { ...readEnvironment({ PATH, LANG, TERM, TZ, ...folders }), machineDir: join(root, 'machine') }
}

export function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function makeRepo(path: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) write(join(path, name), text)
  const who = ['-c', 'user.name=Demo', '-c', 'user.email=demo@example.com', '-c', 'commit.gpgsign=false']
  try {
    for (const words of [
      ['init', '-q', '-b', 'main'],
      ['add', '.'],
      ['commit', '-qm', 'Begin'],
    ])
      execFileSync('git', [...who, ...words], { cwd: path, stdio: 'ignore' })
  } catch {
    // Without git the sessions have a folder without branches.
  }
}

const turnMs = 90_000

/** As Claude Code would have written it. */
function writeConversation(
  { environment, repoPath }: DemoFolder,
  sample: SampleConversation,
  now: number,
): void {
  const cwd = repoPath(sample.repo)
  const sessionId = randomUUID()
  const records: object[] = []
  let parentUuid: string | null = null
  let at = now - sample.hoursAgo * 3_600_000
  const add = (type: string, message: object): void => {
    const uuid = randomUUID()
    const place = { cwd, sessionId, gitBranch: sample.branch, version: '2.1.0', userType: 'external' }
    const timestamp = new Date((at += turnMs / 3)).toISOString()
    records.push({ parentUuid, isSidechain: false, ...place, type, uuid, timestamp, message })
    parentUuid = uuid
  }
  for (const [index, { prompt, tool, answer }] of sample.turns.entries()) {
    add('user', { role: 'user', content: prompt })
    const answers = (content: object[]): void =>
      add('assistant', assistantMessage(sample.model, content, index))
    if (tool) {
      const id = `toolu_${randomUUID().slice(0, 8)}`
      answers([{ type: 'tool_use', id, name: tool.name, input: tool.input }])
      add('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: tool.result }] })
    }
    answers([{ type: 'text', text: answer }])
  }
  records.push({ type: 'custom-title', customTitle: sample.title, sessionId })
  const file = join(
    environment.claudeConfigDir!,
    'projects',
    cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'),
    `${sessionId}.jsonl`,
  )
  write(file, `${records.map((record) => JSON.stringify(record)).join('\n')}\n`)
}

function assistantMessage(model: string, content: object[], turn: number): object {
  const usage = {
    input_tokens: 40,
    output_tokens: 650,
    cache_creation_input_tokens: 9_000,
    cache_read_input_tokens: 24_000 + 18_000 * turn,
  }
  const id = `msg_${randomUUID().slice(0, 12)}`
  return { id, type: 'message', role: 'assistant', model, content, stop_reason: 'end_turn', usage }
}
