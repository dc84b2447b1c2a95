// The usage of each file with what its costs are grouped by: the session, its repository, its agent, and the part of the costs.
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { CostParts } from '../domain/costs.ts'
import { titleText } from '../domain/machine-text.ts'
import { sessionIdOf } from './assemble.ts'
import type { FileUsage } from './cost.ts'
import type { KnownFile, UsageOfFile } from './native-index.ts'
import type { RegistryRow } from './registries.ts'

/** What costs are grouped by. The first message is known only where costs are listed by session. */
type NamedSession = Pick<DiscoveredSession, 'title' | 'repoPath' | 'agentId'> &
  Partial<Pick<DiscoveredSession, 'firstMessage'>>

interface UsageOwners {
  sessions: ReadonlyMap<string, NamedSession>
  /** Only these sessions; all when absent. */
  wanted: ReadonlySet<string> | undefined
  rows: ReadonlyMap<string, RegistryRow>
  /** The workspaces in which our agents answer chats. */
  workspaces: ReadonlySet<string>
}

/** The oldest file first, so that a message is charged to the session that had it first, not to a copy. Of files that began at the same
 *  moment, the first by name: the index has them in the order of their scan, which differs each time. */
export function* usageByFile(
  all: Iterable<UsageOfFile>,
  { sessions, wanted, rows, workspaces }: UsageOwners,
): Generator<FileUsage> {
  const files = [...all].sort(
    ({ known: a }, { known: b }) => beganAt(a) - beganAt(b) || (a.file.path < b.file.path ? -1 : 1),
  )
  for (const { known, usage, models } of files) {
    const sessionId = sessionIdOf(known)
    const session = sessions.get(sessionId)
    const row = rows.get(sessionId)
    if (wanted && !wanted.has(sessionId)) continue
    yield {
      usage,
      models,
      sessionId,
      sessionName: (session && (session.title ?? titleText(session.firstMessage ?? ''))) || sessionId,
      repoPath: session?.repoPath ?? known.listFacts.firstCwd ?? '',
      agentId: session?.agentId ?? '',
      agentKind: known.file.agentKind ?? 'claude',
      part: partOf(row, workspaces.has(known.listFacts.firstCwd ?? '')),
      partSince: row?.source === 'rockpool' && row.chat === undefined ? row.createdAt : undefined,
    }
  }
}

function beganAt({ listFacts: { firstTimestamp } }: KnownFile): number {
  return (firstTimestamp && Date.parse(firstTimestamp)) || 0
}

/** The part of the costs to which a session belongs. After a reset no row names the session of a chat; a session without a
 *  row in an agent's workspace was such a chat. */
function partOf(row: RegistryRow | undefined, isInWorkspace: boolean): keyof CostParts {
  if (row?.source === 'rockpool') return row.chat === undefined ? 'codingUsd' : 'chatsUsd'
  return row === undefined && isInWorkspace ? 'chatsUsd' : 'nativeUsd'
}
