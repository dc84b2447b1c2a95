// What a session or one of its sub-agents contains: card by card, or as parts of the context.
import { z } from 'zod'
import { recordAnatomy, recordCards } from '../../discovery/agents/record-views.ts'
import { anatomyOf } from '../../discovery/anatomy.ts'
import { cardsOf, markRewound, type WantedCards } from '../../discovery/cards.ts'
import { withTranscripts } from '../../discovery/subagents.ts'
import { priceWithTrim } from '../../discovery/trim/trim-price.ts'
import { subagent, type DiscoveredSession, type Subagent } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { sessionPrice } from '../../domain/selection.ts'
import { anatomy, card } from '../../domain/transcript-views.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { keptConversation, withKeptTranscript } from '../vault/kept-sessions.ts'
import { ownOrKept, ownSession } from './cc.ts'
import { flag, nameField, sessionField } from '../input-fields.ts'

const subagentInfo = z.lazy(() => subagent.unwrap().omit({ filePath: true, toolUseId: true }))

const readSession = operation({
  name: 'cc.read',
  description: 'Read a session from its end: prompts, answers, tools and their results.',
  input: z.strictObject({
    id: sessionField(),
    subagent: nameField().optional().describe('Read this sub-agent instead, by its id.'),
    limit: z.int().min(1).max(1000).default(100).describe('How many cards.'),
    before: z.int().min(0).optional().describe('Continue before this mark of an earlier page.'),
    after: z.int().min(0).optional().describe('Continue after this mark of an earlier page.'),
    around: nameField()
      .optional()
      .describe('Around this message: its uuid, or @ and a time in milliseconds.'),
    raw: flag('Also each record as Claude Code wrote it; other agents have none.'),
  }),
  output: z.object({
    sessionId: z.string(),
    kept: z.boolean().optional().describe('Its program has deleted it; this is the copy in the vault.'),
    subagent: subagentInfo.optional(),
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
    if (wantedSubagent === undefined) return readCards(app, await ownOrKept(app, id, caller), wanted)
    const session = await ownSession(app, id, caller)
    const { filePath, toolUseId: _, ...about } = await subagentNamed(app, session, wantedSubagent)
    const page =
      session.agentKind === 'claude'
        ? await cardsOf(filePath, { ...wanted, sidechain: true })
        : recordCards((await app.discovery().conversation(session.sessionId, about.id)).records, wanted)
    return { sessionId: session.sessionId, subagent: about, ...page }
  },
})

async function readCards(app: App, session: DiscoveredSession, wanted: WantedCards) {
  const { sessionId: id, kept, agentKind } = session
  if (agentKind !== 'claude') {
    const all = kept ? keptConversation(app, session) : app.discovery().conversation(id)
    return { sessionId: id, kept, ...recordCards((await all).records, wanted) }
  }
  const read = async (path: string) => markRewound(path, await cardsOf(path, wanted))
  const page = kept ? withKeptTranscript(app, session, read) : read(session.filePath)
  return { sessionId: id, kept, ...(await page) }
}

function refuseTwoPlaces({ before, after, around }: WantedCards): void {
  if ([before, after, around].filter((place) => place !== undefined).length < 2) return
  throw new RockpoolError('input-invalid', 'before, after and around name different places.', {
    hint: 'Ask for one of them.',
  })
}

/** By its id or the beginning of it, among those of this session, so that no input becomes part of a path. */
async function subagentNamed(app: App, session: DiscoveredSession, ref: string): Promise<Subagent> {
  const subagents = await app.discovery().subagents(session.sessionId)
  const found = subagents.filter(({ id }) => id.startsWith(ref))
  const one = found.find(({ id }) => id === ref) ?? (found.length === 1 ? found[0] : undefined)
  if (one) return one
  throw new RockpoolError(
    found.length === 0 ? 'not-found' : 'ambiguous',
    `${found.length === 0 ? 'No sub-agent' : `${found.length} sub-agents`} of ${session.sessionId} ${found.length === 0 ? 'begins' : 'begin'} with ${JSON.stringify(ref)}.`,
    { hint: `\`rockpool cc anatomy ${session.sessionId}\` shows them with their ids.` },
  )
}

const showAnatomy = operation({
  name: 'cc.anatomy',
  description:
    'Show the parts of a session: context by kind, cost over time, files, sub-agents, price of a resume.',
  input: z.strictObject({ id: sessionField() }),
  output: anatomy.extend({
    sessionId: z.string(),
    contextTokens: z.number(),
    contextWindow: z.number(),
    subagents: z.array(
      anatomy.shape.subagents.element.extend({
        isRunning: z.boolean().optional(),
        costUsd: z.number().optional(),
      }),
    ),
    price: sessionPrice.omit({ model: true, guessed: true, tokens: true, furtherCallUsd: true }),
  }),
  scope: 'read',
  isCostly: true,
  command: { positional: ['id'], examples: ['rockpool cc anatomy 3f2a --json'] },
  async run(app, { id }, caller) {
    const session = await ownSession(app, id, caller)
    const { contextTokens, contextWindow } = session
    const made =
      session.agentKind === 'claude'
        ? await anatomyOf(session.filePath, contextTokens)
        : recordAnatomy((await app.discovery().conversation(session.sessionId)).records, contextTokens)
    return {
      sessionId: session.sessionId,
      ...made,
      subagents: withTranscripts(made.subagents, await app.discovery().subagents(session.sessionId)),
      contextTokens,
      contextWindow,
      price: await priceWithTrim(session, app.config.coding, app.clock.now()),
    }
  },
})

export const operations = [readSession, showAnatomy]
