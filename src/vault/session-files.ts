// Which files belong to a session: all that its program deletes together with it, and that a resume or a rewind needs. Of other
// agents than Claude Code, discovery knows the files.
import { readdirSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import { isFile, namesIn } from '../store/disk/foreign-file.ts'
import type { SessionToKeep } from './keep.ts'

/** The facts about a session of any agent that the vault needs: its transcript, below the directory of the program that made it.
 *  */
type KeepableSession = Pick<DiscoveredSession, 'agentKind' | 'sessionId' | 'filePath' | 'configDir' | 'slug'>

/** The slug of a session is the name of its plan. */
const planName = /^[a-z0-9-]+$/

export async function sessionToKeep(
  session: KeepableSession,
  discovery: Pick<Discovery, 'files'>,
): Promise<SessionToKeep> {
  const { sessionId, agentKind: agent, configDir: root } = session
  const files = agent === 'claude' ? claudeFiles(session) : await filesOfOthers(session, discovery)
  return { sessionId, agent, root, files, about: { ...session } }
}

/** The files that discovery names, the transcript first, and a folder of the same name beside the transcript. */
async function filesOfOthers(
  { sessionId, filePath, configDir }: KeepableSession,
  discovery: Pick<Discovery, 'files'>,
): Promise<string[]> {
  const folder = filePath.slice(0, filePath.length - extname(filePath).length)
  const files = [...(await discovery.files(sessionId)), ...(folder === filePath ? [] : filesBelow(folder))]
  // A restored file is put below the home of its agent.
  return files.filter((file) => file.startsWith(`${configDir}/`))
}

/** The transcript first. */
function claudeFiles({ sessionId, filePath, configDir, slug }: KeepableSession): string[] {
  // The folder is named as the file, whose letters may differ from the id's in case.
  const name = basename(filePath, '.jsonl')
  const folders = [
    join(dirname(filePath), name),
    join(configDir, 'file-history', sessionId),
    join(configDir, 'tasks', sessionId),
  ]
  const todos = namesIn(join(configDir, 'todos'))
    .filter((todo) => todo.startsWith(sessionId) && todo.endsWith('.json'))
    .map((todo) => join(configDir, 'todos', todo))
  const plan = slug !== undefined && planName.test(slug) ? join(configDir, 'plans', `${slug}.md`) : undefined
  return [filePath, ...folders.flatMap(filesBelow), ...todos, ...(plan && isFile(plan) ? [plan] : [])]
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/** Where the programs have files of sessions, below their directories. Beside them are settings, hooks and notes that the programs
 *  obey. */
const places: Readonly<Record<string, RegExp>> = {
  claude: new RegExp(
    [
      String.raw`^projects/(?:[^/]+/)?[^/]+\.jsonl$`,
      `^projects/[^/]+/(?:${uuid}|agent-[^/]+)/`,
      `^(?:file-history|tasks)/${uuid}/`,
      String.raw`^todos/${uuid}[^/]*\.json$`,
      String.raw`^plans/[a-z0-9-]+\.md$`,
    ].join('|'),
    'i',
  ),
  codex: /^(?:archived_)?sessions\//,
  gemini: /^tmp\/[^/]+\/(?:chats\/|\.project_root$)/,
  opencode: /^storage\/(?:message|part|project|session|session_diff)\/|^[^/]+\.db#[^/#]+$/,
  // Its directory has nothing but sessions.
  pi: /./,
}

/** Whether a path below the directory of an agent is the place of a session's file. */
export function isSessionPlace(agent: string, path: string): boolean {
  return Object.hasOwn(places, agent) && places[agent]!.test(path)
}

/** Regular files only: a link may lead anywhere. */
function filesBelow(folder: string): string[] {
  if (namesIn(folder).length === 0) return []
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
