// The list of every Claude Code session on the machine. In a file of its own: the command is used so often that it must not
// load the other operations.
import { z } from 'zod'
import type { App } from '../app.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { matching, sortSessions } from '../../discovery/filter.ts'
import { ownerCheck } from '../../coding/machines/owner.ts'
import type { DiscoveredSession, SessionFilter, SessionList } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'

// One of each: there are dozens of fields.
const text = z.string()
const number = z.number()
const flag = z.boolean()
const maybeText = text.optional()
const maybeNumber = number.optional()
const subagentTokens = () =>
  z.object({
    inputTokens: number,
    outputTokens: number,
    cacheReadTokens: number,
    cacheCreationTokens: number,
  })

// Built on first use (by the reference page and an agent's list of tools), so that a command does not wait for it.
export const discoveredSession = z.lazy(() =>
  z.object({
    sessionId: text,
    source: z.enum(['rockpool', 'openclaw', 'native-only']),
    agentId: maybeText,
    repoPath: text,
    branch: text,
    firstMessage: text,
    lastPrompt: maybeText,
    lastModified: text,
    createdAt: maybeText,
    messageCount: number,
    promptCount: number,
    replyCount: number,
    lineCount: number,
    fileSizeBytes: number,
    totalCostUsd: maybeNumber,
    totalTurns: maybeNumber,
    lastTask: maybeText,
    label: maybeText,
    slug: maybeText,
    isRunning: flag,
    originMarker: maybeText,
    totalInputTokens: number,
    totalOutputTokens: number,
    cacheReadTokens: number,
    cacheCreationTokens: number,
    contextTokens: number,
    lastAnswerTokens: maybeNumber,
    contextWindow: number,
    compactionCount: number,
    budgetUsedPct: maybeNumber,
    subagentCount: number,
    subagentTokens: subagentTokens(),
    costUsd: number,
    costGuessed: flag,
    reportedCostUsd: maybeNumber,
    model: maybeText,
    title: maybeText,
    tag: maybeText,
    forkedFrom: maybeText,
    archived: flag,
    status: z.enum(['busy', 'idle', 'waiting', 'stopped']),
    waitingFor: maybeText,
    pid: maybeNumber,
    lastUsageAt: maybeText,
    cacheTtlMinutes: number,
    warm: flag,
    cacheCreation5mTokens: number,
    cacheCreation1hTokens: number,
    apiErrorCount: number,
    damagedLines: number,
    overlongLines: number,
    entrypoint: maybeText,
    version: maybeText,
    permissionMode: maybeText,
    configDir: text,
    filePath: text,
  }),
)

export const listSessions = operation({
  name: 'cc.list',
  description: 'List every Claude Code session on this machine: running ones first, then the newest.',
  input: z.strictObject({
    repo: z.string().max(4_096).optional().describe('Only sessions of this repository and its worktrees.'),
    all: z.boolean().default(false).describe('Show all of them in the terminal, archived ones included.'),
    agent: z.string().max(100).optional().describe("Only this agent's."),
    source: z
      .enum(['rockpool', 'openclaw', 'native-only'])
      .optional()
      .describe('Only sessions that we, OpenClaw, or Claude Code alone keep.'),
    running: z.boolean().optional().describe('Only those that run now.'),
    archived: z.boolean().optional().describe('Only archived ones; `--no-archived`: none of them.'),
    search: z.string().max(500).optional().describe('Words in the title, prompts, branch, directory or id.'),
    limit: z.int().min(1).optional().describe('How many at most.'),
    offset: z.int().min(0).optional().describe('How many to skip.'),
    sort: z
      .enum(['recent', 'cost', 'tokens', 'messages', 'context', 'size'])
      .default('recent')
      .describe('By what.'),
  }),
  output: z.lazy(() =>
    z.object({
      total: z.number(),
      sessions: z.array(discoveredSession),
      unreadable: z
        .array(z.object({ path: text, reason: text }))
        .optional()
        .describe('Transcripts and folders that cannot be read; sessions in them are missing. At most 100.'),
    }),
  ),
  scope: 'read',
  forAgents: true,
  heavyParts: ['discovery'],
  command: {
    paths: ['repo'],
    examples: [
      'rockpool cc list',
      'rockpool cc list --repo . --search "login page"',
      'rockpool cc list --running --json',
      'rockpool cc list --sort cost --limit 10',
    ],
  },
  async run(app, input, caller) {
    const { repo, agent, source, running, archived, search, limit, offset, sort } = input
    const filter = { repoPath: repo, source, running, archived, search, limit, offset, sort }
    const found = await listEverySession(app, { ...filter, ...seenBy(caller, agent) })
    // Whose sessions those are is not known, so an agent does not hear of them.
    const unreadable = caller.agentId === undefined ? (found.unreadable ?? []).slice(0, 100) : []
    return {
      total: found.total,
      sessions: found.sessions.map(written),
      ...(unreadable.length > 0 ? { unreadable } : {}),
    }
  },
})

/** An agent sees its own sessions; a request for another agent's returns none. */
export function seenBy(caller: Caller, wanted: string | undefined): Pick<SessionFilter, 'agentId'> {
  if (caller.agentId === undefined) return { agentId: wanted }
  if (wanted === undefined || wanted === caller.agentId) return { agentId: caller.agentId }
  throw new RockpoolError('forbidden', `The sessions of ${JSON.stringify(wanted)} are not yours to see.`)
}

/** As it goes over a wire: times as text. */
export function written(session: DiscoveredSession): z.input<typeof discoveredSession> {
  return {
    ...session,
    lastModified: session.lastModified.toISOString(),
    createdAt: session.createdAt?.toISOString(),
    lastUsageAt: session.lastUsageAt?.toISOString(),
  }
}

/** Every session: those with a transcript, and coding sessions of ours without one: queued, starting, or failed at the start. */
export async function listEverySession(app: App, filter: SessionFilter): Promise<SessionList> {
  const unstarted = matching(unstartedSessions(app), filter)
  if (unstarted.length === 0) return app.discovery().list(filter)
  const { limit, offset = 0, ...which } = filter
  const { sessions, unreadable } = await app.discovery().list(which)
  const all = sortSessions([...unstarted, ...sessions], filter.sort ?? 'recent')
  const page = all.slice(offset, limit === undefined ? undefined : offset + limit)
  return { total: all.length, sessions: page, unreadable }
}

function unstartedSessions(app: App): DiscoveredSession[] {
  return (app.storage.existingCoding()?.list({ neverBegun: true }) ?? []).map((session) =>
    withoutTranscript(app, session),
  )
}

/** A coding session without a transcript as an entry of the list. */
export function withoutTranscript(
  app: Pick<App, 'storage' | 'clock'>,
  session: CodingSession,
): DiscoveredSession {
  const { id, name, request, createdAt, lastActivityAt } = session
  return {
    ...nothingCounted,
    ...stateOf(session, ownerCheck(app.storage.coding, app.clock)(session)),
    sessionId: id,
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

const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheCreationTokens: 0 }

const nothingCounted = {
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
  subagentTokens: noTokens,
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
