// The files that belong to a session of Claude Code: all that Claude deletes together with it, and that a resume or a rewind
// needs.
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { isFile, namesIn } from '../store/disk/foreign-file.ts'
import type { SessionToKeep } from './keep.ts'

type ClaudeSession = Pick<DiscoveredSession, 'sessionId' | 'filePath' | 'configDir' | 'slug'>

/** The slug of a session is the name of its plan. */
const planName = /^[a-z0-9-]+$/

export function claudeSessionToKeep(session: DiscoveredSession): SessionToKeep {
  return {
    sessionId: session.sessionId,
    agent: 'claude',
    root: session.configDir,
    files: claudeFiles(session),
    about: JSON.parse(JSON.stringify(session)) as Record<string, unknown>,
  }
}

/** The transcript first. */
export function claudeFiles({ sessionId, filePath, configDir, slug }: ClaudeSession): string[] {
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

/** Regular files only: a link may lead anywhere. */
function filesBelow(folder: string): string[] {
  if (namesIn(folder).length === 0) return []
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
