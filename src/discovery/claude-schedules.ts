// The schedules of Claude Code itself: the tasks that a session keeps in its repository, and jobs that it runs in the background.
// We only read them; Claude Code runs them while one of its sessions is open.
import { join } from 'node:path'
import { isRecord } from '../domain/json.ts'
import { namesIn, readForeign } from '../store/disk/foreign-file.ts'

export interface ClaudeSchedule {
  kind: 'task' | 'background job'
  /** The cron expression of a task, the state of a job. */
  times: string
  /** The repository. */
  where: string
  what: string
  sessionId?: string
}

const shownChars = 200
const maxBytes = 1_000_000

export function claudeSchedules(
  repositories: Iterable<string>,
  configDirs: Iterable<string>,
): ClaudeSchedule[] {
  return [...[...repositories].flatMap(tasksIn), ...[...configDirs].flatMap(jobsIn)]
}

function tasksIn(repository: string): ClaudeSchedule[] {
  const file = readJson(join(repository, '.claude', 'scheduled_tasks.json'))
  const tasks = isRecord(file) && Array.isArray(file['tasks']) ? file['tasks'] : []
  return tasks.filter(isRecord).map((task) => ({
    kind: 'task',
    times: text(task['cron']),
    where: repository,
    what: text(task['prompt']),
    sessionId: text(task['createdBySessionId']) || undefined,
  }))
}

function jobsIn(configDir: string): ClaudeSchedule[] {
  const folder = join(configDir, 'jobs')
  return namesIn(folder).flatMap((name) => {
    const job = readJson(join(folder, name, 'state.json'))
    if (!isRecord(job)) return []
    const what = text(job['name']) || text(job['intent'])
    const sessionId = text(job['sessionId']) || undefined
    return [{ kind: 'background job', times: text(job['state']), where: text(job['cwd']), what, sessionId }]
  })
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readForeign(path, maxBytes).toString('utf8'))
  } catch {
    // Claude Code is writing it, or it is of another version.
    return undefined
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, shownChars).toWellFormed() : ''
}
