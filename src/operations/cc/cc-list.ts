// The list of every Claude Code session on the machine. Its own file, so that the most frequent command loads nothing else.
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { ownerCheck } from '../../coding/machines/owner.ts'
import { havingWords, matching, sortSessions } from '../../discovery/filter.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { once } from '../../domain/lazy-parts.ts'
import { sessionState } from '../../domain/coding-state.ts'
import { agentKinds } from '../../domain/agent.ts'
import { sessionRecord, sessionSorts, sessionSources } from '../../domain/discovered-session.ts'
import type {
  DiscoveredSession,
  SessionFilter,
  SessionList,
  SessionRecord,
} from '../../domain/discovered-session.ts'
import type { App } from '../app.ts'
import { visibleTo } from '../perform-operation.ts'
import { operation } from '../operation.ts'
import { goneSessions } from '../vault/kept-sessions.ts'
import { agentField, flag, pathField, shownInTerminal } from '../input-fields.ts'

// Built at its first use: the command without options does not need it.
const listInput = once(() =>
  z.strictObject({
    repo: pathField().describe(
      'Only sessions of this repository and its worktrees: a path, or the name in the list.',
    ),
    all: flag('Show all of them in the terminal, including archived ones.'),
    agent: agentField().describe("Only this agent's sessions."),
    agentKind: z.enum(agentKinds).optional().describe('Only sessions of this program.'),
    source: z.enum(sessionSources).optional().describe('Only sessions of this registry, or of none.'),
    running: z.boolean().optional().describe('Only running sessions.'),
    archived: z.boolean().optional().describe('Only archived sessions; `--no-archived`: only the others.'),
    search: z.string().max(500).optional().describe('Words in the title, prompts, branch, directory or id.'),
    limit: z.int().min(1).optional().describe('How many at most.'),
    offset: z.int().min(0).optional().describe('How many to skip.'),
    sort: z.enum(sessionSorts).default('recent').describe('How to sort the sessions that do not run.'),
  }),
)

const withoutOptions = { all: false, sort: 'recent' as const }
export const listSessions = operation({
  name: 'cc.list',
  description:
    'List every session of Claude Code and other coding agents on this machine: running ones first, then the newest.',
  get input() {
    return listInput()
  },
  output: z.lazy(() =>
    z.object({
      total: z.number(),
      archivedLeftOut: z.number().optional().describe('How many archived sessions `--no-archived` left out.'),
      sessions: z.array(sessionRecord),
      unreadable: z
        .array(z.object({ path: z.string(), reason: z.string() }))
        .optional()
        .describe('Transcripts and folders that cannot be read; sessions in them are missing. At most 100.'),
    }),
  ),
  scope: 'read',
  isCostly: true,
  largeOutput: true,
  forAgents: true,
  heavyParts: ['discovery'],
  command: {
    paths: ['repo'],
    examples: [
      'rockpool cc list',
      'rockpool cc list --repo . --search "login page"',
      'rockpool cc list --running --json',
      'rockpool cc list --agent-kind codex',
      'rockpool cc list --sort cost --limit 10',
    ],
  },
  withoutOptions: {
    program: withoutOptions,
    person: { ...withoutOptions, archived: false, limit: shownInTerminal },
  },
  async run(app, input, caller) {
    const {
      repo,
      agent,
      agentKind = 'all' as const,
      source,
      running,
      archived,
      search,
      limit,
      offset,
      sort,
    } = input
    const filter = { agentKind, repoPath: repo, source, running, archived, search, limit, offset, sort }
    const found = await listEverySession(app, { ...filter, ...visibleTo(caller, agent) })
    // Nothing tells whose sessions these are, so agents do not see them.
    const unreadable = caller.agentId === undefined ? (found.unreadable ?? []).slice(0, 100) : []
    return {
      total: found.total,
      archivedLeftOut: found.archivedLeftOut,
      sessions: found.sessions.map(toRecord),
      unreadable: unreadable.length > 0 ? unreadable : undefined,
    }
  },
})

/** A session as JSON, with times as text. */
export function toRecord(session: DiscoveredSession): SessionRecord {
  return {
    ...session,
    lastModified: session.lastModified.toISOString(),
    createdAt: session.createdAt?.toISOString(),
    lastUsageAt: session.lastUsageAt?.toISOString(),
  }
}

/** Every session with a transcript, and those that no scan finds: sessions that only the vault still has, and our coding
 *  sessions that are queued, starting, with the offline agent, or failed before Claude wrote anything. */
export async function listEverySession(app: App, filter: SessionFilter): Promise<SessionList> {
  const candidates = mayHaveNoTranscript(app)
  if (candidates.length === 0 && !existsSync(app.paths.vault)) return app.discovery().list(filter)
  const { limit, offset = 0, ...which } = filter
  const end = limit === undefined ? undefined : offset + limit
  const { sessions, ...found } = await app.discovery().list({ ...which, limit: end })
  const gone = await goneSessions(app)
  const present = await app.discovery().ids()
  const kept = new Set(gone.map(({ sessionId }) => sessionId))
  const isFound = (id: string | undefined): boolean => id !== undefined && (present.has(id) || kept.has(id))
  const missing = candidates.filter(({ sdkSessionId }) => !isFound(sdkSessionId))
  const others = [...missing.map((session) => withoutTranscript(app, session)), ...gone]
  const own = havingWords(matching(others, filter), filter.search)
  const all = own.length === 0 ? sessions : sortSessions([...own, ...sessions], filter.sort ?? 'recent')
  return { ...found, total: found.total + own.length, sessions: all.slice(offset, end) }
}

/** Claude reports its id before it writes the transcript. A session with a machine may have its transcript there. */
function mayHaveNoTranscript(app: App): CodingSession[] {
  const coding = app.storage.existingCoding()
  const withoutClaude = coding?.list({ withoutClaude: true }) ?? []
  const running = coding?.list({ running: true }) ?? []
  const known = new Set(withoutClaude.map(({ id }) => id))
  return [...withoutClaude, ...running.filter(({ id, machine }) => !known.has(id) && !machine)]
}

/** A coding session without a transcript, as far as it is known. */
export function withoutTranscript(
  app: Pick<App, 'storage' | 'clock'>,
  session: CodingSession,
): DiscoveredSession {
  const { id, name, request, createdAt, lastActivityAt } = session
  return {
    ...nothingCounted,
    ...stateOf(session, ownerCheck(app.storage.coding, app.clock)(session)),
    sessionId: id,
    state: sessionState(session),
    source: 'rockpool',
    agentId: request.agentId,
    repoPath: request.workdir,
    firstMessage: request.prompt.slice(0, 200).toWellFormed(),
    lastTask: request.prompt.slice(0, 200).toWellFormed(),
    lastModified: new Date(lastActivityAt),
    createdAt: new Date(createdAt),
    label: request.label,
    title: name,
    model: request.model,
    permissionMode: request.permissionMode,
  }
}

function stateOf(
  session: CodingSession,
  isOwned: boolean,
): Pick<DiscoveredSession, 'isRunning' | 'status' | 'waitingFor'> {
  const isOpen = session.lifecycle !== 'ended' && session.lifecycle !== 'suspended' && isOwned
  if (!isOpen) return { isRunning: false, status: 'stopped' }
  if (session.lifecycle === 'queued')
    return { isRunning: true, status: 'waiting', waitingFor: 'its turn in the queue' }
  return { isRunning: true, status: session.waiting ? 'waiting' : 'busy', waitingFor: session.waiting?.for }
}

const nothingCounted = {
  agentKind: 'claude' as const,
  branch: '',
  messageCount: 0,
  promptCount: 0,
  replyCount: 0,
  lineCount: 0,
  fileSizeBytes: 0,
  totalInputTokens: 0,
  totalOutputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
  contextTokens: 0,
  contextWindow: 0,
  compactionCount: 0,
  subagentCount: 0,
  subagentTokens: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheCreationTokens: 0 },
  costUsd: 0,
  costGuessed: false,
  archived: false,
  cacheTtlMinutes: 0 as const,
  warm: false,
  cacheCreation5mTokens: 0,
  cacheCreation1hTokens: 0,
  apiErrorCount: 0,
  damagedLines: 0,
  overlongLines: 0,
  configDir: '',
  filePath: '',
}
