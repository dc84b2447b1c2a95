// Searches the messages of every session and all notes: by word, by substring, by meaning, by regular expression.
import { z } from 'zod'
import { withoutMarker } from '../../discovery/prompt-text.ts'
import { realPath, worktreesOf } from '../../discovery/repo-paths.ts'
import { subagentIdIn } from '../../discovery/list-files.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { plainLine } from '../../domain/text.ts'
import type { SearchFilter, SearchHit, SearchQuestion } from '../../domain/search.ts'
import type { App } from '../app.ts'
import { parseTime, sinceField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'

// Built on first use, so that a search does not wait for it.
const searchHit = z.lazy(() =>
  z.object({
    sessionId: z.string(),
    source: z.enum(['rockpool', 'native', 'memory']),
    repoPath: z.string().describe('Empty when it belongs to no repository.'),
    role: z.enum(['user', 'assistant', 'tool', 'memory']),
    line: z.number(),
    messageId: z.string().optional().describe('Of the message in its transcript, to fork after it.'),
    snippet: z.string(),
    score: z.number(),
    at: z.number(),
    matches: z.array(z.tuple([z.number(), z.number()])),
    by: z.array(z.enum(['words', 'pieces', 'meaning', 'regex'])),
    path: z.string(),
    subagent: z.string().optional().describe('The sub-agent that wrote the message.'),
    sessionKey: z.string().optional(),
    agentId: z.string().optional(),
    branch: z.string().optional(),
    channel: z.string().optional(),
    title: z.string().optional(),
    costUsd: z.number().optional(),
  }),
)

export const searchOutput = z.lazy(() =>
  z.object({
    tookMs: z.number(),
    total: z.number(),
    hits: z.array(searchHit),
    notes: z.array(z.string()),
  }),
)

export type SearchOutput = z.output<typeof searchOutput>

const words = z.string().min(1).max(4_096)

export const searchSessions = operation({
  name: 'sessions.search',
  description: 'Search the messages of every session and all notes.',
  input: z.strictObject({
    query: words.describe('Words; "quotes" make a phrase, a star at the end a beginning.'),
    repo: z
      .string()
      .max(4_096)
      .optional()
      .describe('Only this repository, with its worktrees, or this folder.'),
    near: z.string().max(4_096).optional().describe('Rank messages of this repository a little higher.'),
    agent: z.string().max(100).optional().describe("Only this agent's."),
    channel: z.string().max(100).optional().describe('Only messages of this channel.'),
    since: sinceField,
    role: z.enum(['user', 'assistant', 'tool', 'memory']).optional().describe('Only messages of this role.'),
    source: z.enum(['rockpool', 'native', 'memory']).optional().describe('Only from these files.'),
    regex: z.boolean().default(false).describe('The words are a regular expression.'),
    limit: z.int().min(1).max(200).default(20).describe('The highest number of hits.'),
  }),
  output: searchOutput,
  scope: 'read',
  forAgents: true,
  heavyParts: ['discovery', 'search'],
  command: {
    positional: ['query'],
    joinsRest: true,
    paths: ['repo', 'near'],
    currentDirectory: 'near',
    examples: [
      'rockpool search login form',
      'rockpool search "retry*" --repo . --since 7d',
      "rockpool search --regex 'TODO\\(\\w+\\)' --role assistant",
    ],
  },
  async run(app, input, caller) {
    const { query, repo, near, agent, since, ...rest } = input
    return answer(app, {
      ...rest,
      text: query,
      repoPaths: repo === undefined ? undefined : [...new Set([repo, ...worktreesOf(repo)])],
      near: near === undefined ? undefined : realPath(near),
      since: since === undefined ? undefined : parseTime(since, app.clock.now()),
      ...seenBy(caller, agent),
    })
  },
})

export const searchMemory = operation({
  name: 'memory.search',
  description: 'Search the notes of agents.',
  input: z.strictObject({
    query: words.describe('Words; "quotes" make a phrase, a star at the end a beginning.'),
    agent: z.string().max(100).optional().describe("Only this agent's."),
    limit: z.int().min(1).max(200).default(20).describe('The highest number of hits.'),
  }),
  output: searchOutput,
  scope: 'read',
  forAgents: true,
  heavyParts: ['discovery', 'search'],
  command: { positional: ['query'], joinsRest: true, examples: ['rockpool memory search favourite tea'] },
  async run(app, { query, agent, limit }, caller) {
    return answer(app, { text: query, limit, source: 'memory', ...seenBy(caller, agent) })
  },
})

/** An agent searches its own sessions; a search in another agent's is refused. */
export function seenBy(caller: Caller, wanted: string | undefined): Pick<SearchFilter, 'agentId'> {
  if (caller.agentId === undefined) return { agentId: wanted }
  if (wanted === undefined || wanted === caller.agentId) return { agentId: caller.agentId }
  throw new RockpoolError('forbidden', `What ${JSON.stringify(wanted)} knows is not yours to see.`)
}

async function answer(app: App, question: SearchQuestion): Promise<z.input<typeof searchOutput>> {
  const began = app.clock.monotonic()
  const { total, hits, notes } = await app.search().search(question)
  const { agentId } = question
  if (total === 0 && agentId !== undefined && !app.agentIds().includes(agentId)) {
    notes.push(`There is no agent ${JSON.stringify(agentId)} here; known: ${app.agentIds().join(', ')}.`)
  }
  const written = await withTitles(app, hits)
  const tookMs = Math.round((app.clock.monotonic() - began) * 10) / 10
  return { tookMs, total, hits: written, notes }
}

/** The title of a session, or its first prompt. */
function headlineOf({ title, firstMessage }: DiscoveredSession): string | undefined {
  return title ?? (plainLine(withoutMarker(firstMessage), 80) || undefined)
}

/** Adds the title and the cost of each hit's session. */
async function withTitles(app: App, hits: SearchHit[]): Promise<Array<z.input<typeof searchHit>>> {
  const wanted = new Set(hits.filter(({ source }) => source === 'native').map(({ sessionId }) => sessionId))
  const sessions = wanted.size > 0 ? await app.discovery().known(wanted) : []
  const native = new Map(sessions.map((session) => [session.sessionId, session]))
  return Promise.all(
    hits.map(async (hit) => {
      const session = native.get(hit.sessionId)
      const { agentId, sessionKey } = hit
      const row = agentId && sessionKey ? await app.storage.sessions(agentId).peek(sessionKey) : undefined
      return {
        ...hit,
        repoPath: hit.repoPath ?? '',
        subagent: hit.source === 'native' ? subagentIdIn(hit.path) : undefined,
        title: session ? headlineOf(session) : (row?.label ?? row?.displayName),
        costUsd: session?.costUsd ?? row?.estimatedCostUsd,
      }
    }),
  )
}
