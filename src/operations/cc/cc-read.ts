// What was said in a Claude Code session, or by one of its sub-agents, card by card: from the end, or around a message.
import { z } from 'zod'
import { cardsOf, markRewound } from '../../discovery/cards.ts'
import type { WantedCards } from '../../discovery/cards.ts'
import type { DiscoveredSession, Subagent } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { ownSession, sessionId } from './cc.ts'
import { operation } from '../operation.ts'

const card = z.object({
  kind: z.enum(['prompt', 'text', 'thinking', 'tool', 'result', 'compaction', 'notice']),
  uuid: z.string().optional(),
  at: z.number(),
  text: z.string(),
  tool: z.object({ name: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  toolUseId: z.string().optional(),
  isError: z.boolean().optional(),
  isRewound: z.boolean().optional().describe('On a branch that was rewound: a resume does not see it.'),
  subagent: z.string().optional().describe('The sub-agent that gave this result.'),
  raw: z.string().optional(),
})

const subagent = z.object({
  id: z.string(),
  name: z.string(),
  about: z.string(),
  startedAt: z.number(),
  lastAt: z.number(),
  isRunning: z.boolean(),
  model: z.string().optional(),
  costUsd: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
})

const readSession = operation({
  name: 'cc.read',
  description:
    'Read a Claude Code session from its end, card by card: prompts, answers, tools and their results.',
  input: z.strictObject({
    id: sessionId,
    subagent: z.string().min(1).max(200).optional().describe('Read this sub-agent of it, by its id.'),
    limit: z.int().min(1).max(1000).default(100).describe('How many cards.'),
    before: z.int().min(0).optional().describe('Continue before this mark of an earlier page.'),
    after: z.int().min(0).optional().describe('Continue after this mark of an earlier page.'),
    around: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Around this message: its uuid, or @ and a time in milliseconds.'),
    raw: z.boolean().default(false).describe('Also each record as Claude Code wrote it.'),
  }),
  output: z.object({
    sessionId: z.string(),
    subagent: subagent.optional(),
    cards: z.array(card),
    before: z.number().optional().describe('The mark before which there is more.'),
    after: z.number().optional().describe('The mark after which there is more.'),
  }),
  scope: 'read',
  largeOutput: true,
  redactOutput: true,
  command: {
    positional: ['id'],
    examples: ['rockpool cc read 3f2a --limit 20', 'rockpool cc read 3f2a --subagent ad05f388'],
  },
  async run(app, { id, subagent: wantedSubagent, ...wanted }, caller) {
    refuseTwoPlaces(wanted)
    const session = await ownSession(app, id, caller)
    if (wantedSubagent === undefined) {
      const page = await cardsOf(session.filePath, wanted)
      return { sessionId: session.sessionId, ...(await markRewound(session.filePath, page)) }
    }
    const { filePath, toolUseId: _, ...about } = await subagentNamed(app, session, wantedSubagent)
    const page = await cardsOf(filePath, { ...wanted, sidechain: true })
    return { sessionId: session.sessionId, subagent: about, ...page }
  },
})

export const operations = [readSession]

function refuseTwoPlaces({ before, after, around }: WantedCards): void {
  if ([before, after, around].filter((place) => place !== undefined).length < 2) return
  throw new RockpoolError('input-invalid', 'before, after and around name different places.', {
    hint: 'Ask for one of them.',
  })
}

/** By its id or the beginning of it, among those of this session: nothing of a request becomes a path. */
async function subagentNamed(app: App, session: DiscoveredSession, ref: string): Promise<Subagent> {
  const subagents = await app.discovery().subagents(session.sessionId)
  const found = subagents.filter(({ id }) => id.startsWith(ref))
  const one = found.find(({ id }) => id === ref) ?? (found.length === 1 ? found[0] : undefined)
  if (one) return one
  throw new RockpoolError(
    found.length === 0 ? 'not-found' : 'ambiguous',
    `${found.length === 0 ? 'No sub-agent' : `${found.length} sub-agents`} of ${session.sessionId} begin with ${JSON.stringify(ref)}.`,
    { hint: `\`rockpool cc anatomy ${session.sessionId}\` shows them with their ids.` },
  )
}
