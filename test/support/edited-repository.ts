// A git repository, and the transcripts of sessions that edited it as Claude Code writes them. Every edit really changes the file; a
// clock of its own moves on with every step, and commits have its time.
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openDiscovery } from '../../src/discovery/discovery.ts'
import { repoPathToSlug } from '../../src/discovery/repo-paths.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { Discovery } from '../../src/domain/discovered-session.ts'
import { silentLog } from '../../src/domain/log.ts'

export class EditedRepository {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-why-')))
  readonly configDir: string
  root: string
  seconds = 1_790_000_000
  #sessions = 0

  /** `configDir`: where Claude Code has its sessions. */
  constructor(name = 'shop', configDir?: string) {
    this.configDir = configDir ?? join(this.folder, 'claude')
    this.root = join(this.folder, name)
    mkdirSync(this.root)
    this.git('init', '-q', '-b', 'main')
    this.write('README.md', 'A shop.\n')
    this.commit('Begin')
  }

  /** Git as a person runs it, with the time of this world. */
  git(...args: string[]): string {
    const date = `${(this.seconds += 60)} +0000`
    return execFileSync('git', ['-c', 'commit.gpgsign=false', ...args], {
      cwd: this.root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: this.folder,
        GIT_AUTHOR_NAME: 'Ada',
        GIT_AUTHOR_EMAIL: 'ada@example.org',
        GIT_COMMITTER_NAME: 'Ada',
        GIT_COMMITTER_EMAIL: 'ada@example.org',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_DATE: date,
        GIT_EDITOR: 'true',
      },
    }).trim()
  }

  /** Resolves to the hash. */
  commit(subject: string, ...options: string[]): string {
    this.git('add', '-A')
    this.git('commit', '-q', '--allow-empty', '-m', subject, ...options)
    return this.git('rev-parse', 'HEAD')
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8')
  }

  /** A person changes a file. */
  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.root, file)), { recursive: true })
    writeFileSync(join(this.root, file), text)
  }

  /** `folder`: where it is started, if not in the repository. */
  session(prompt: string, folder?: string): EditingSession {
    const number = (++this.#sessions).toString(16).padStart(8, '0')
    const session = new EditingSession(this, `${number}-0000-4000-8000-00000000000a`, { folder })
    session.prompt(prompt)
    return session
  }

  discovery(): Discovery {
    return openDiscovery({
      configDirs: [this.configDir],
      agentHomes: [{ kind: 'codex', path: join(this.folder, 'codex') }],
      indexFile: join(this.folder, 'index.sqlite'),
      registries: [],
      clock: systemClock,
      log: silentLog,
    })
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export class EditingSession {
  readonly sessionId: string
  /** The transcript. */
  readonly path: string
  readonly #world: EditedRepository
  readonly #subagent: boolean
  readonly #folder: string | undefined
  #records = 0
  #last: string | null = null

  /** `path`: of a sub-agent. `folder`: where it is started, if not in the repository. */
  constructor(
    world: EditedRepository,
    sessionId: string,
    { path, folder }: { path?: string; folder?: string } = {},
  ) {
    this.#world = world
    this.sessionId = sessionId
    this.#subagent = path !== undefined
    this.#folder = folder
    const project = repoPathToSlug(folder ?? world.root)
    this.path = path ?? join(world.configDir, 'projects', project, `${sessionId}.jsonl`)
    mkdirSync(dirname(this.path), { recursive: true })
  }

  /** A sub-agent of this session. */
  subagent(id: string): EditingSession {
    const path = join(this.path.replace(/\.jsonl$/, ''), 'subagents', `agent-${id}.jsonl`)
    return new EditingSession(this.#world, this.sessionId, { path })
  }

  prompt(text: string): string {
    return this.#record('user', { message: { role: 'user', content: text } })
  }

  say(text: string): string {
    return this.#reply({ type: 'text', text })
  }

  /** Replaces a text; resolves to the uuid of the result. */
  edit(file: string, from: string, to: string): string {
    const filePath = join(this.#world.root, file)
    const originalFile = this.#world.read(file)
    if (!originalFile.includes(from)) throw new Error(`${from} is not in ${file}`)
    const changed = originalFile.replace(from, () => to)
    this.#world.write(file, changed)
    const input = { file_path: filePath, old_string: from, new_string: to }
    const structuredPatch = [
      { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: patchOf(originalFile, changed) },
    ]
    return this.call('Edit', input, 'The file has been updated.', {
      filePath,
      oldString: from,
      newString: to,
      originalFile,
      structuredPatch,
      userModified: false,
      replaceAll: false,
    })
  }

  /** Writes a whole file. */
  create(file: string, content: string): string {
    const filePath = join(this.#world.root, file)
    const originalFile = existsSync(filePath) ? this.#world.read(file) : null
    this.#world.write(file, content)
    const structuredPatch =
      originalFile === null
        ? []
        : [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: patchOf(originalFile, content) }]
    const type = originalFile === null ? 'create' : 'update'
    const result = { type, filePath, content, structuredPatch, originalFile }
    return this.call('Write', { file_path: filePath, content }, 'File written.', result)
  }

  /** Really runs a command where the session is. */
  run(command: string): string {
    const seconds = `${(this.#world.seconds += 30)} +0000`
    const who = {
      GIT_AUTHOR_NAME: 'Ada',
      GIT_AUTHOR_EMAIL: 'ada@example.org',
      GIT_COMMITTER_NAME: 'Ada',
      GIT_COMMITTER_EMAIL: 'ada@example.org',
    }
    const env = {
      PATH: process.env['PATH'],
      HOME: this.#world.folder,
      GIT_AUTHOR_DATE: seconds,
      GIT_COMMITTER_DATE: seconds,
      ...who,
    }
    const stdout = execFileSync('bash', ['-c', command], { cwd: this.#cwd, encoding: 'utf8', env })
    return this.call('Bash', { command }, stdout, { stdout, stderr: '', interrupted: false })
  }

  /** A call of a tool and its result; without one, a refusal. */
  call(name: string, input: object, content: string, toolUseResult?: object): string {
    const id = `toolu_${this.sessionId.slice(0, 8)}${this.#subagent ? 's' : 'm'}${this.#records}`
    this.#reply({ type: 'tool_use', id, name, input })
    const failed = toolUseResult === undefined ? { is_error: true } : {}
    const result = { tool_use_id: id, type: 'tool_result', content, ...failed }
    const message = { role: 'user', content: [result] }
    return this.#record('user', { message, toolUseResult: toolUseResult ?? `Error: ${content}` })
  }

  get #cwd(): string {
    return this.#folder ?? this.#world.root
  }

  #reply(block: object): string {
    const id = `msg_${this.sessionId.slice(0, 8)}${this.#records}`
    const usage = {
      input_tokens: 1_000,
      output_tokens: 100,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    }
    const message = { id, role: 'assistant', model: 'claude-sonnet-4-5-20250929', content: [block], usage }
    return this.#record('assistant', { message })
  }

  #record(type: string, fields: object): string {
    const uuid = `${this.sessionId.slice(0, 8)}-${(++this.#records).toString(16).padStart(4, '0')}-4000-8000-00000000000${this.#subagent ? 'b' : 'a'}`
    const timestamp = new Date((this.#world.seconds += 10) * 1_000).toISOString()
    const about = { sessionId: this.sessionId, cwd: this.#cwd, gitBranch: 'main', version: '2.1.325' }
    const record = {
      parentUuid: this.#last,
      isSidechain: this.#subagent,
      type,
      ...fields,
      uuid,
      timestamp,
      ...about,
    }
    appendFileSync(this.path, `${JSON.stringify(record)}\n`)
    this.#last = uuid
    return uuid
  }
}

/** The changed lines, with one line before and after them. */
function patchOf(before: string, after: string): string[] {
  const [from, to] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < from.length && start < to.length && from[start] === to[start]) start++
  let end = 0
  while (end < Math.min(from.length, to.length) - start && from.at(-1 - end) === to.at(-1 - end)) end++
  const around = (lines: string[]): string[] => lines.map((line) => ` ${line}`)
  return [
    ...around(from.slice(Math.max(0, start - 1), start)),
    ...from.slice(start, from.length - end).map((line) => `-${line}`),
    ...to.slice(start, to.length - end).map((line) => `+${line}`),
    ...around(from.slice(from.length - end, from.length - end + 1)),
  ]
}
