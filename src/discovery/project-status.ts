// The state of a project: git, GitHub, sessions, documents. It runs in any repository, so it trusts none of them, and it always
// answers: what could not be read is listed in `problems`.
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import { RockpoolError, errorText } from '../domain/errors.ts'
import { plainLine } from '../domain/text.ts'
import type { DocsStatus, ProjectStatus } from '../domain/project-status.ts'
import { gitIn, type Variables } from './git.ts'
import { readGitStatus } from './git-status.ts'
import { readGithubStatus } from './github-status.ts'
import { mayReadSession } from '../rights/rights.ts'

interface ProjectSources {
  discovery: Pick<Discovery, 'list'>
  variables: Variables
  clock: Clock
}

export interface ProjectStatusOptions {
  /** False leaves out `gh`, which uses the network. */
  github?: boolean
  timeoutMs?: number
}

export async function gatherProjectStatus(
  sources: ProjectSources,
  repoPath: string,
  agentId?: string,
  options: ProjectStatusOptions = {},
): Promise<ProjectStatus> {
  const path = await realDirectory(repoPath)
  const problems: string[] = []
  const [answer, github, sessions, docs] = await Promise.all([
    readGitStatus(gitIn(path, sources.variables, { timeoutMs: options.timeoutMs })),
    options.github === false
      ? undefined
      : readGithubStatus(path, sources.variables, problems, options.timeoutMs),
    listSessions(sources.discovery, path, problems),
    readDocs(path),
  ])
  return {
    repo: { path, name: plainLine(basename(path)), isGitRepo: answer.isGitRepo },
    git: answer.git,
    github,
    sessions: sessionsOf(sessions, agentId),
    docs,
    timestamp: new Date(sources.clock.now()).toISOString(),
    problems: [...answer.problems, ...problems],
  }
}

/** The real path of a directory. Names with quotes, line breaks or a leading `-` are valid. */
export async function realDirectory(path: string): Promise<string> {
  const shown = JSON.stringify(plainLine(path, 300))
  try {
    const real = await realpath(path)
    if ((await stat(real)).isDirectory()) return real
  } catch (error) {
    throw new RockpoolError('not-found', `There is no directory ${shown}.`, {
      hint: 'Give the path of a repository with --repo.',
      cause: error,
    })
  }
  throw new RockpoolError('input-invalid', `${shown} is not a directory.`, {
    hint: 'Give the path of a repository with --repo.',
  })
}

async function listSessions(
  discovery: Pick<Discovery, 'list'>,
  repoPath: string,
  problems: string[],
): Promise<DiscoveredSession[]> {
  try {
    return (await discovery.list({ repoPath })).sessions
  } catch (error) {
    problems.push(`sessions could not be read: ${errorText(error)}`)
    return []
  }
}

function sessionsOf(sessions: DiscoveredSession[], agentId: string | undefined): ProjectStatus['sessions'] {
  const newestFirst = sessions.toSorted((a, b) => b.lastModified.getTime() - a.lastModified.getTime())
  return {
    active: newestFirst.filter((session) => session.isRunning),
    recent: newestFirst.slice(0, 5),
    ownRecent: newestFirst.filter((session) => mayReadSession(session, agentId)).slice(0, 3),
  }
}

async function readDocs(path: string): Promise<DocsStatus> {
  const [names, claudeNames, specs] = await Promise.all([
    namesIn(path),
    namesIn(join(path, '.claude')),
    namesIn(join(path, '.specs')),
  ])
  const has = (rule: RegExp): boolean => names.some((name) => rule.test(name))
  const specFiles = specs.filter((name) => /\.md$/i.test(name)).sort()
  return {
    hasClaudeMd: names.includes('CLAUDE.md') || claudeNames.includes('CLAUDE.md'),
    hasSpecs: names.includes('.specs'),
    specFiles: specFiles.map((name) => plainLine(name)),
    hasTodo: has(/^todo(\.(md|txt))?$/i),
    hasReadme: has(/^readme(\.\w+)?$/i),
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch {
    return [] // It does not exist, or is not a folder.
  }
}
