// Where Gemini CLI keeps its sessions: `<home>/tmp/<project>/chats/session-<minute>-<8 of the id>.jsonl` (older ones `.json`), with
// sub-agents in a folder named after their session. A resume may begin another file for the same session, so files are grouped.
import { basename, dirname, join } from 'node:path'
import { attempt } from '../../../domain/errors.ts'
import { parseRecord } from '../../../domain/json.ts'
import { isFile, readForeign } from '../../../store/disk/foreign-file.ts'
import { entriesOf, type Listing } from '../../list-files.ts'
import { newFacts } from '../../transcript-facts.ts'
import { EditTable } from '../../edit-table.ts'
import { UsageTable } from '../../usage-table.ts'
import { addAgentFile, agentHomes, filesBelow, foldersIn, isNoLink } from '../agent-files.ts'
import type { SessionAbout } from '../../../domain/agent-records.ts'
import type { OtherReader, AgentSource } from '../contract.ts'
import { RecordFacts } from '../record-facts.ts'
import { openByProcess } from '../running-programs.ts'
import { geminiRecords, readGeminiLog } from './gemini-records.ts'

const sessionFile = /^session-.*-([0-9a-zA-Z]+)\.jsonl?$/
const chatFile = /\.jsonl?$/
const headBytes = 4_096

export const geminiReader: OtherReader = {
  kind: 'gemini',
  program: 'Gemini CLI',
  homes: (environment) => agentHomes(environment, ['GEMINI_CLI_HOME'], ['.gemini'], '.gemini'),
  list(home, listing) {
    const projects = join(home, 'tmp')
    for (const project of entriesOf(projects, listing)) {
      const chats = join(projects, project.name, 'chats')
      if (project.isDirectory() && isNoLink(chats)) listProject(chats, home, listing)
    }
  },
  scan(source) {
    const log = readGeminiLog(pathsOf(source), aboutOf(source.path))
    const scanned = { facts: newFacts(), usage: new UsageTable(), edits: new EditTable() }
    const { facts } = scanned
    const counts = new RecordFacts(scanned)
    for (const record of geminiRecords(log).records) counts.take(record)
    facts.sessionId ??= basename(source.path).replace(chatFile, '')
    facts.lineCount = log.lines
    facts.damagedLines = log.damaged
    facts.offset = log.bytes
    return { ...scanned, tornTail: log.torn, mark: '' }
  },
  read: (source) => geminiRecords(readGeminiLog(pathsOf(source), aboutOf(source.path))),
  // Gemini CLI finds the folder of a project by the path in it.
  files: (source) => [...pathsOf(source), ...projectRoot(source.path)],
  live: (_homes, world) => openByProcess('gemini', world),
  watched: (home) =>
    foldersIn(join(home, 'tmp'))
      .map((path) => join(path, 'chats'))
      .filter(isNoLink)
      .map((path) => ({ path, oneFileEach: false })),
  resumeCommand: (sessionId) => ['gemini', '--resume', sessionId],
}

function pathsOf({ path, paths }: Pick<AgentSource, 'path' | 'paths'>): readonly string[] {
  return paths ?? [path]
}

function projectRoot(path: string): string[] {
  const [project = ''] = path.split('/chats/', 2)
  return [join(project, '.project_root')].filter(isFile)
}

function listProject(chats: string, home: string, listing: Listing): void {
  const all = filesBelow(chats, chatFile, 1, listing).sort()
  const groups = new Map<string, string[]>()
  for (const path of all) {
    const key = dirname(path) === chats ? (sessionFile.exec(basename(path))?.[1] ?? path) : path
    groups.set(key, [...(groups.get(key) ?? []), path])
  }
  for (const paths of [...groups.values()].flatMap(bySession))
    addAgentFile(
      { path: paths[0]!, paths: paths.length > 1 ? paths : undefined, agentKind: 'gemini', configDir: home },
      listing,
    )
}

/** Files with the same 8 characters are nearly always one session; the header of each tells. */
function bySession(paths: string[]): string[][] {
  if (paths.length === 1) return [paths]
  const sessions = new Map<string, string[]>()
  for (const path of paths) {
    const id = sessionIdIn(path) ?? path
    sessions.set(id, [...(sessions.get(id) ?? []), path])
  }
  return [...sessions.values()]
}

function sessionIdIn(path: string): string | undefined {
  const head = attempt(() => readForeign(path, headBytes).toString('utf8'), '')
  return /"sessionId"\s*:\s*"([^"]+)"/.exec(head)?.[1]
}

/** The folder of the project knows its path; older versions name it by a hash of the path, which does not lead back. */
function aboutOf(path: string): SessionAbout {
  const [project = '', inside = ''] = path.split('/chats/', 2)
  const cwd = attempt(
    () => readForeign(join(project, '.project_root'), headBytes).toString('utf8').trim(),
    '',
  )
  const owner = inside.includes('/') ? inside.slice(0, inside.indexOf('/')) : undefined
  return {
    cwd: cwd || pathInProjects(project),
    parent: owner === undefined ? undefined : { kind: 'subagent', id: owner },
  }
}

/** `projects.json` maps paths to the names of the folders. */
function pathInProjects(project: string): string | undefined {
  const file = join(dirname(dirname(project)), 'projects.json')
  const projects = parseRecord(attempt(() => readForeign(file, 1 << 20).toString('utf8'), ''))?.['projects']
  const found = Object.entries(projects ?? {}).find(([, name]) => name === basename(project))
  return found?.[0]
}
