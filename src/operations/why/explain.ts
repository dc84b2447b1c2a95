// Explains lines, files, commits and pull requests of a repository, for everybody who may ask: the command, the page, agents, and the
// sessions that use the bridge.
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { readPullRequest } from '../../discovery/github-status.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type {
  CommitAnswer,
  FileAnswer,
  LineAnswer,
  PullRequestAnswer,
  SessionLines,
} from '../../domain/why-answers.ts'
import { EditReader } from '../../why/edit-reader.ts'
import { explainCommit, explainPullRequest } from '../../why/explain-commit.ts'
import { explainLines, type WhyParts } from '../../why/explain-lines.ts'
import { linesOfSession, mapFile } from '../../why/living-lines.ts'
import type { App } from '../app.ts'

export interface Question {
  /** A file, file:line, file:line-line, or a commit. */
  target?: string
  pr?: number
  /** Where paths begin. */
  folder: string
  /** Of a file: also its lines. */
  text?: boolean
}

/** What the person or program that asks may see. */
export interface Access {
  mayRead: WhyParts['mayRead']
  /** Throws if this repository is not open to it. */
  checkRepository?: (root: string) => void
}

export type Answer = LineAnswer | CommitAnswer | PullRequestAnswer | FileAnswer

export async function explain(app: App, question: Question, access: Access): Promise<Answer> {
  const answer = await explainWith(app, readersOf(app), question, access)
  if (isComplete(answer) || !existsSync(app.paths.vault)) return answer
  // Sessions that Claude Code has deleted cost more to ask, and are few.
  const { openKeptWorld } = await import('./kept-edits.ts')
  await using kept = await openKeptWorld(app)
  return kept ? explainWith(app, kept, question, access) : answer
}

function isComplete(answer: Answer): boolean {
  if (answer.kind === 'line') return answer.confidence === 'exact'
  if (answer.kind === 'file') return answer.segments.every(({ confidence }) => confidence === 'exact')
  return answer.unknownLines === 0
}

type Readers = Pick<WhyParts, 'discovery' | 'reader'>

async function explainWith(
  app: App,
  readers: Readers,
  { target, pr, folder, text = false }: Question,
  access: Access,
): Promise<Answer> {
  if ((target === undefined) === (pr === undefined))
    throw new RockpoolError('usage', 'Name a file, file:line or a commit, or a pull request with --pr.', {
      hint: 'For example: `rockpool why src/login.ts:42`.',
    })
  if (pr !== undefined) {
    const parts = await partsFor(app, readers, folder, access)
    return explainPullRequest(
      parts,
      await readPullRequest(parts.repository.root, app.environment.variables, pr),
    )
  }
  const place = placeIn(target!, folder)
  const parts = await partsFor(app, readers, place?.path ?? folder, access)
  if (!place) return explainCommit(parts, target!)
  const file = parts.repository.relativePath(place.path)
  if (file === undefined)
    throw new RockpoolError('not-found', `${place.path} is not in ${parts.repository.root}.`)
  return place.lines ? explainLines(parts, { file, ...place.lines }) : mapFile(parts, file, text)
}

interface FilePlace {
  path: string
  lines?: { from: number; to: number }
}

/** The file and lines that a target names; undefined if it can only be a commit. */
function placeIn(target: string, folder: string): FilePlace | undefined {
  const whole = resolve(folder, target)
  if (existsSync(whole)) {
    if (statSync(whole).isFile()) return { path: whole }
    throw new RockpoolError('input-invalid', `${whole} is not a file.`, { hint: 'Name a file in it.' })
  }
  const lines = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/.exec(target)
  if (!lines) return undefined
  const path = resolve(folder, lines[1]!)
  const [from, to] = [Number(lines[2]), Number(lines[3] ?? lines[2])]
  if (!existsSync(path))
    throw new RockpoolError('not-found', `There is no file ${path}.`, {
      hint: 'Name it from the current directory.',
    })
  if (from < 1 || to < from)
    throw new RockpoolError('input-invalid', `${from}-${to} is not a range of lines.`, {
      hint: 'Lines are counted from 1, and the first one comes first.',
    })
  return { path, lines: { from, to } }
}

/** Nothing for a session whose folder is gone or is not in a repository. */
export async function livingLines(
  app: App,
  session: DiscoveredSession,
  mayRead: WhyParts['mayRead'],
): Promise<SessionLines> {
  const nothing = { aliveLines: 0, uncommittedLines: 0, commits: [], files: [], filesLeftOut: 0 }
  const none = { sessionId: session.sessionId, repo: '', ...nothing }
  if (!existsSync(session.repoPath)) return none
  const repository = await (await app.repositories()).open(session.repoPath).catch(() => undefined)
  if (!repository) return none
  if (!session.kept) return linesOfSession({ ...readersOf(app), repository, mayRead }, session)
  const { openKeptWorld } = await import('./kept-edits.ts')
  await using kept = await openKeptWorld(app)
  return linesOfSession({ ...(kept ?? readersOf(app)), repository, mayRead }, session)
}

async function partsFor(
  app: App,
  readers: Readers,
  path: string,
  { mayRead, checkRepository }: Access,
): Promise<WhyParts> {
  const repository = await (await app.repositories()).open(path)
  checkRepository?.(repository.root)
  return { ...readers, repository, mayRead }
}

/** Each edit is read once for a question. */
function readersOf(app: App): Readers {
  const discovery = app.discovery()
  return { discovery, reader: new EditReader(discovery) }
}
