// Who made the changes in a review: the sessions that worked in the same working tree since the reviewed one began, and the files
// that the reviewed session edited itself.
import { basename, dirname, join, relative } from 'node:path'
import { EditTable } from '../../discovery/edit-table.ts'
import { isInside, realPath, worktreesOf } from '../../discovery/repo-paths.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { titleText } from '../../domain/machine-text.ts'
import { plainLine } from '../../domain/text.ts'
import { mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { isElsewhere } from './which-machine.ts'

const maxName = 80

interface OtherSession {
  name: string
  id?: string
  claudeSessionId?: string
}

/** The sessions that the caller may see and that were active in this working tree since then; coding sessions come first. */
export async function otherSessions(
  app: App,
  session: CodingSession,
  { tree, since }: { tree: string; since: number },
  { agentId }: Caller,
): Promise<OtherSession[]> {
  const isHere = makeTreeTest(tree)
  const coding = app.storage.coding
    .list({ visibleTo: agentId })
    .filter(({ id, sdkSessionId }) => id !== session.id && !isSame(sdkSessionId, session.sdkSessionId))
    .filter(({ startedAt, lastActivityAt }) => startedAt !== undefined && lastActivityAt >= since)
    .filter((other) => !isElsewhere(app, other) && isHere(other.request.workdir))
  const listed = new Set([session, ...coding].map(({ sdkSessionId }) => sdkSessionId))
  const { sessions } = await app.discovery().list({ agentKind: 'all', repoPath: tree })
  const native = sessions
    .filter((one) => !listed.has(one.sessionId) && mayReadSession(one, agentId))
    .filter(({ lastModified, repoPath }) => lastModified.getTime() >= since && isHere(repoPath))
  return [
    ...coding.map(({ id, name, sdkSessionId }) => ({ id, name, claudeSessionId: sdkSessionId })),
    ...native.map(({ sessionId, title, firstMessage }) => ({
      name: plainLine(title ?? titleText(firstMessage), maxName) || sessionId,
      claudeSessionId: sessionId,
    })),
  ]
}

/** The files of the working tree that the session and its sub-agents edited since then, as far as their transcripts say: a command
 *  may have changed more. */
export async function editedFiles(
  app: App,
  { sdkSessionId }: CodingSession,
  { tree, since }: { tree: string; since: number },
): Promise<Set<string>> {
  if (sdkSessionId === undefined) return new Set()
  const transcripts = (await app.discovery().edits()).find({ sessionId: sdkSessionId })
  const edits = transcripts.flatMap(({ edits: packed }) => new EditTable(packed).edits)
  // A resumed conversation also has edits of earlier sessions. Their times are whole seconds.
  const own = edits.filter(({ seconds }) => seconds === 0 || (seconds + 1) * 1_000 > since)
  return new Set(own.map(({ file }) => relative(tree, join(realPath(dirname(file)), basename(file)))))
}

/** The commits that git reported to the session and its sub-agents. Git reports none for `commit --quiet`. */
export async function reportedCommits<C extends { commit: string }>(
  app: App,
  { sdkSessionId }: CodingSession,
  commits: readonly C[],
): Promise<C[]> {
  if (sdkSessionId === undefined || commits.length === 0) return []
  const transcripts = (await app.discovery().edits()).find({ sessionId: sdkSessionId })
  const reported = transcripts.flatMap(({ edits: packed }) => new EditTable(packed).commits)
  const shas = new Set(reported.map(({ sha }) => sha))
  return commits.filter(({ commit }) => shas.has(commit.slice(0, 7)))
}

function isSame(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && one === other
}

/** Whether a folder is in this working tree: one that is inside of another does not belong to that. */
function makeTreeTest(tree: string): (folder: string) => boolean {
  const others = worktreesOf(tree).filter((one) => one !== tree && isInside(one, tree))
  return (folder) => {
    const path = realPath(folder)
    return isInside(path, tree) && !others.some((other) => isInside(path, other))
  }
}
