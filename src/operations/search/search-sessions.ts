// Searches every session and the notes: by word, by substring, by meaning, by regular expression.
import { z } from 'zod'
import { titleText } from '../../domain/machine-text.ts'
import { isRepoName } from '../../discovery/filter.ts'
import { realPath, worktreesOf } from '../../discovery/repo-paths.ts'
import { subagentIdIn } from '../../discovery/list-files.ts'
import { agentKinds } from '../../domain/agent.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { plainLine } from '../../domain/text.ts'
import { searchHit, searchKinds, searchRoles } from '../../domain/search.ts'
import type { SearchHit, SearchQuestion } from '../../domain/search.ts'
import type { App } from '../app.ts'
import { visibleTo } from '../perform-operation.ts'
import { goneSessions } from '../vault/kept-sessions.ts'
import { parseTime, sinceField, flag, pathField, agentField } from '../input-fields.ts'
import { operation, type Caller } from '../operation.ts'

const listedHit = z.lazy(() =>
  searchHit.unwrap().extend({
    repoPath: z.string().describe('Empty when it belongs to no repository.'),
    subagent: z.string().optional().describe('The sub-agent of the session that said it.'),
    title: z.string().optional(),
    costUsd: z.number().optional(),
    kept: z.boolean().optional().describe('Claude Code has deleted the session; the vault has it.'),
  }),
)

export const searchOutput = z.lazy(() =>
  z.object({
    tookMs: z.number(),
    total: z.number(),
    isEstimated: z.boolean().optional().describe('There are too many to count: `total` is about right.'),
    hits: z.array(listedHit),
    notes: z.array(z.string()),
    suggestion: z
      .string()
      .optional()
      .describe('The corrected question: a word that occurs in the texts replaces a word that does not.'),
  }),
)

export type SearchOutput = z.output<typeof searchOutput>

const words = z.string().min(1).max(4_096)

export const searchSessions = operation({
  name: 'sessions.search',
  description: 'Search every session and all notes.',
  input: z.strictObject({
    query: words.describe(
      'Words; "quotes" make a phrase, a star at the end a beginning, "last week" limits the time.',
    ),
    repo: pathField().describe(
      'Only this repository, with its worktrees, or this folder: a path, or the name that lists show.',
    ),
    near: pathField().describe('Rank hits in this repository a little higher.'),
    agent: agentField().describe("Only this agent's."),
    channel: z.string().max(100).optional().describe('Only messages on this channel.'),
    since: sinceField(),
    until: z.string().max(64).optional().describe('Before this time, written as for --since.'),
    tool: z.string().min(1).max(200).optional().describe('Only calls of this tool, for example Bash.'),
    file: z.string().min(1).max(1_000).optional().describe('Only sessions that name this file.'),
    role: z.enum(searchRoles).optional().describe('Only messages of this role.'),
    agentKind: z.enum(agentKinds).optional().describe('Only sessions of this program.'),
    source: z.enum(searchKinds).optional().describe('Only this kind of files.'),
    regex: flag('Treat the words as a regular expression.'),
    indexed: flag(
      'Search only what is indexed, without reading new text first: for answers while a person types.',
    ),
    explain: flag('Explain the rank of each hit.'),
    commands: flag('Show the commands that open, continue and fork each session.'),
    limit: z.int().min(1).max(200).default(20).describe('How many hits.'),
  }),
  output: searchOutput,
  scope: 'read',
  isCostly: true,
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
      'rockpool search flaky test last week --explain',
      'rockpool search migration --tool Bash --commands',
      "rockpool search --regex 'TODO\\(\\w+\\)' --role assistant",
    ],
  },
  async run(app, input, caller) {
    const { query, repo, near, agent, since, until, indexed, commands: _, ...rest } = input
    const timeOf = (text?: string): number | undefined =>
      text === undefined ? undefined : parseTime(text, app.clock.now())
    const question = {
      ...rest,
      text: query,
      asIndexed: indexed,
      repoPaths: repo === undefined ? undefined : await foldersOf(app, repo, visibleTo(caller, agent)),
      near: near === undefined ? undefined : realPath(near),
      since: timeOf(since),
      until: timeOf(until),
      ...visibleTo(caller, agent),
    }
    const answer = await answerSearch(app, question, caller)
    if (answer.total > 0 || input.regex) return answer
    const { text, agentId } = question
    const notes = [...answer.notes, ...(await noteOnFilters(app, { text, agentId }, input))]
    return { ...answer, notes }
  },
})

async function foldersOf(app: App, repo: string, visible: ReturnType<typeof visibleTo>): Promise<string[]> {
  if (!isRepoName(repo)) return [...new Set([repo, ...worktreesOf(repo)])]
  const { sessions } = await app.discovery().list({ agentKind: 'all', repoPath: repo, ...visible })
  return [...new Set(sessions.map(({ repoPath }) => repoPath))]
}

const filters = ['repo', 'channel', 'since', 'until', 'tool', 'file', 'role', 'agentKind', 'source'] as const

/** Says that there is something without the filters. */
async function noteOnFilters(
  app: App,
  question: SearchQuestion,
  input: Partial<Record<(typeof filters)[number], unknown>>,
): Promise<string[]> {
  const used = filters.filter((name) => input[name] !== undefined)
  if (used.length === 0) return []
  const { total, isEstimated } = await app.search().search({ ...question, asIndexed: true, limit: 1 })
  const what = used.map((name) => `--${name === 'agentKind' ? 'agent-kind' : name}`).join(' and ')
  return total === 0
    ? []
    : [
        `Without ${what} there ${total === 1 ? 'is 1 place' : `are ${isEstimated ? 'about ' : ''}${total} places`}.`,
      ]
}

export const searchMemory = operation({
  name: 'memory.search',
  description: 'Search the notes of agents.',
  input: z.strictObject({
    query: words.describe('Words; "quotes" make a phrase, a star at the end a beginning.'),
    agent: agentField().describe("Only this agent's."),
    limit: z.int().min(1).max(200).default(20).describe('How many hits.'),
  }),
  output: searchOutput,
  scope: 'read',
  isCostly: true,
  forAgents: true,
  heavyParts: ['discovery', 'search'],
  command: { positional: ['query'], joinsRest: true, examples: ['rockpool memory search favourite tea'] },
  async run(app, { query, agent, limit }, caller) {
    return answerSearch(app, { text: query, limit, source: 'memory', ...visibleTo(caller, agent) }, caller)
  },
})

export async function answerSearch(
  app: App,
  question: SearchQuestion,
  caller: Caller,
): Promise<z.input<typeof searchOutput>> {
  const began = app.clock.monotonic()
  const { total, isEstimated, hits, notes, suggestion } = await app.search().search(question)
  const { agentId } = question
  // A caller that is bound to an agent may not learn of others.
  if (total === 0 && agentId !== undefined && caller.agentId === undefined) {
    const known = app.agentIds()
    if (!known.includes(agentId))
      notes.push(`There is no agent ${JSON.stringify(agentId)} here; known: ${known.join(', ')}.`)
  }
  const written = await withTitles(app, hits)
  const tookMs = Math.round((app.clock.monotonic() - began) * 10) / 10
  return { tookMs, total, isEstimated, hits: written, notes, suggestion }
}

/** Adds the title and the cost of its session to each hit. */
async function withTitles(app: App, hits: SearchHit[]): Promise<Array<z.input<typeof listedHit>>> {
  const wanted = new Set(hits.filter(({ source }) => source === 'native').map(({ sessionId }) => sessionId))
  const found = wanted.size > 0 ? await app.discovery().known(wanted) : []
  const isMissing = found.length < wanted.size
  const sessions = isMissing ? [...(await goneSessions(app)), ...found] : found
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
        kept: session?.kept,
        costUsd: session?.costUsd ?? row?.estimatedCostUsd,
      }
    }),
  )
}

/** The title of a session, or its first prompt. */
function headlineOf({ title, firstMessage }: DiscoveredSession): string | undefined {
  return title ?? (plainLine(titleText(firstMessage), 80) || undefined)
}
