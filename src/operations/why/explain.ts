// Explains lines, files, commits and pull requests of a repository, for everybody who may ask: the command, the page, agents, and
// the sessions that use the bridge.
import { existsSync, lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import type { DiscoveredSession, EditLookup } from '../../domain/discovered-session.ts'
import { attempt, RockpoolError } from '../../domain/errors.ts'
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
import type { Repository } from '../../why/repository.ts'
import { readForeign } from '../../store/disk/foreign-file.ts'
import type { App } from '../app.ts'
import { goneSessions } from '../vault/kept-sessions.ts'

interface Question {
  /** A file, file:line, file:line-line, or a commit. */
  target?: string
  pr?: number
  /** Where paths begin. */
  folder: string
  /** Of a file: also its lines. */
  text?: boolean
}

/** The rights of the person or program that asks. */
export interface Access {
  mayRead: WhyParts['mayRead']
  /** Throws if this repository is not open to it. */
  checkRepository?: (root: string) => Promise<void>
}

type Answer = LineAnswer | CommitAnswer | PullRequestAnswer | FileAnswer

/** `note`: the sessions that could not be searched. */
type NotedAnswer = Answer & { note?: string }

export async function explain(app: App, question: Question, access: Access): Promise<NotedAnswer> {
  const readers = readersOf(app)
  const answer = await explainWith(app, readers, question, access)
  // Sessions that Claude Code has deleted cost more to ask, and are few.
  const gone = isComplete(answer) ? [] : await goneSessions(app)
  if (gone.length === 0) return answer
  const { notSearched, openKeptWorld } = await import('./kept-edits.ts')
  await using kept = await openKeptWorld(app, readers, gone)
  return kept
    ? explainWith(app, kept, question, access)
    : { ...answer, note: notSearched(gone.filter(access.mayRead)) }
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
    const { readPullRequest } = await import('../../discovery/github-status.ts')
    return explainPullRequest(
      parts,
      await readPullRequest(parts.repository.root, app.environment.variables, pr),
    )
  }
  const place = placeIn(target!, folder)
  const parts = await partsFor(app, readers, place?.path ?? folder, access)
  const { repository } = parts
  if (!place && (await repository.resolve(target!)) !== undefined) return explainCommit(parts, target!)
  const path = place?.path ?? resolve(folder, target!)
  const file = repository.relativePath(path)
  if (!existsSync(path)) throw await missing(repository, target!, file)
  if (!place || file === undefined)
    throw new RockpoolError('not-found', `${path} is not in ${repository.root}.`)
  if (isBinary(path))
    throw new RockpoolError('input-invalid', `${file} is not a text file, so it has no lines.`, {
      hint: `\`git log -- ${file}\` shows its commits; ask about one with \`rockpool why <commit>\`.`,
    })
  return place.lines ? explainLines(parts, { file, ...place.lines }) : mapFile(parts, file, text)
}

/** What is neither a file nor a commit may be a file that was removed. */
async function missing(
  repository: Repository,
  target: string,
  file: string | undefined,
): Promise<RockpoolError> {
  const removal = file === undefined ? undefined : await repository.removal(file)
  if (removal !== undefined)
    return new RockpoolError('not-found', `${file} was removed by commit ${removal.slice(0, 10)}.`, {
      hint: `\`git log -- ${file}\` shows its commits; ask about one with \`rockpool why <commit>\`.`,
    })
  return new RockpoolError(
    'not-found',
    `There is no file and no commit ${JSON.stringify(target)} in ${repository.root}.`,
    { hint: 'Name a file from the current directory, file:line, or a commit that `git log` shows.' },
  )
}

/** As git decides it. */
function isBinary(path: string): boolean {
  return attempt(() => readForeign(path, 8_000, { noLink: true }).includes(0), false)
}

interface FilePlace {
  path: string
  lines?: { from: number; to: number }
}

/** The file and lines that a target names; undefined if it can only be a commit. */
function placeIn(target: string, folder: string): FilePlace | undefined {
  const whole = resolve(folder, target)
  if (existsSync(whole)) return { path: fileAt(whole) }
  const lines = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/.exec(target)
  if (!lines) return undefined
  const path = fileAt(resolve(folder, lines[1]!))
  const [from, to] = [Number(lines[2]), Number(lines[3] ?? lines[2])]
  if (from < 1 || to < from)
    throw new RockpoolError('input-invalid', `${target} names no range of lines.`, {
      hint: 'Lines are counted from 1, and the first one comes first.',
    })
  return { path, lines: { from, to } }
}

/** The path, unless something else than a file is there. A link may lead out of the repository, so it is not followed. */
function fileAt(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isFile() !== false) return path
  if (stat.isSymbolicLink())
    throw new RockpoolError('input-invalid', `${path} is a link, and links are not followed.`, {
      hint: 'Name the file that it leads to.',
    })
  throw new RockpoolError('input-invalid', `${path} is not a file.`, { hint: 'Name a file in it.' })
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
  const readers = readersOf(app)
  if (!session.kept) return linesOfSession({ ...readers, repository, mayRead }, session)
  const { openKeptWorld } = await import('./kept-edits.ts')
  await using kept = await openKeptWorld(app, readers, await goneSessions(app))
  return linesOfSession({ ...(kept ?? readers), repository, mayRead }, session)
}

async function partsFor(
  app: App,
  readers: Readers,
  path: string,
  { mayRead, checkRepository }: Access,
): Promise<WhyParts> {
  const repository = await (await app.repositories()).open(path)
  await checkRepository?.(repository.root)
  return { ...readers, repository, mayRead }
}

/** The files are checked once, and each edit is read once for a question. */
function readersOf(app: App): Readers {
  const discovery = app.discovery()
  let edits: Promise<EditLookup> | undefined
  return {
    discovery: { known: (ids) => discovery.known(ids), edits: () => (edits ??= discovery.edits()) },
    reader: new EditReader(discovery),
  }
}
