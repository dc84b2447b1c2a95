// Hands a session over to another agent: writes its conversation, or a brief of it, as a new native session there.
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { agentHomesOf } from '../../discovery/agents/agent-homes.ts'
import { programOf, readerOf } from '../../discovery/agents/readers.ts'
import { callAsText, type HandoffTarget } from '../../discovery/handoff/handoff-tools.ts'
import { briefOf, wholeConversation, type HandoffTurn } from '../../discovery/handoff/handoff-turns.ts'
import { writeHandoff } from '../../discovery/handoff/write-handoff.ts'
import { configDirsOf } from '../../discovery/list-files.ts'
import { pricesOf } from '../../discovery/model-prices.ts'
import { agentKinds } from '../../domain/agent.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
import type { App } from '../app.ts'
import { flag, sessionField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import { ownSession } from './cc.ts'

const targets = ['codex', 'claude', 'pi'] as const

const handoff = operation({
  name: 'cc.handoff',
  description:
    'Hand a session over to another coding agent, as a new session that its program opens; the original stays unchanged.',
  input: z.strictObject({
    id: sessionField(),
    to: z.enum(targets).describe('The agent that continues.'),
    brief: flag(
      'Hand over a brief (task, summary, changed files, last answer) instead of the whole conversation.',
    ),
    dryRun: flag('Only show what would be left out, and what it would cost there.'),
  }),
  output: z.lazy(() =>
    z.object({
      from: z.object({ sessionId: z.string(), agentKind: z.enum(agentKinds) }),
      to: z.enum(targets),
      sessionId: z.string().optional().describe('The new session; absent for a dry run.'),
      filePath: z.string().optional(),
      resume: z.string().describe('The command that continues it.'),
      turns: z.number(),
      leftOut: z.array(z.object({ what: z.string(), count: z.number(), why: z.string() })),
      price: z.object({
        tokens: z.number().describe('What the first call sends, estimated.'),
        model: z.string().optional().describe('The model of the newest session of that agent here.'),
        usd: z.number().optional().describe('Without output; absent if no price is known.'),
        guessed: z.boolean(),
      }),
    }),
  ),
  scope: 'write',
  isCostly: true,
  changesState: true,
  redactOutput: true,
  command: {
    positional: ['id'],
    examples: [
      'rockpool cc handoff 3f2a --to codex',
      'rockpool cc handoff 01a1e4c8-ef42 --to claude --brief',
    ],
  },
  async run(app, { id, to, brief, dryRun }, caller) {
    const session = await ownSession(app, id, caller)
    checkTarget(session, to)
    const conversation = await app.discovery().conversation(session.sessionId)
    const about = { title: session.title, program: programOf(session.agentKind) }
    const { turns, leftOut } = brief ? briefOf(conversation, about) : wholeConversation(conversation)
    if (turns.length === 0)
      throw new RockpoolError('refused', `There is no conversation in ${session.sessionId} to hand over.`)
    const place = { to, home: homeOf(app, to), cwd: session.repoPath, branch: session.branch }
    const written = dryRun ? undefined : await writeHandoff(turns, place)
    if (written) await app.discovery().refresh()
    const asText = written?.callsAsText ?? 0
    const why = `${programOf(to)} has no such tool; they are in the conversation as text`
    return {
      from: { sessionId: session.sessionId, agentKind: session.agentKind },
      to,
      sessionId: written?.sessionId,
      filePath: written?.filePath,
      resume: resumeCommand(to, written?.sessionId ?? '<new id>', session.repoPath),
      turns: turns.length,
      leftOut:
        asText > 0 ? [...leftOut, { what: 'tool calls in their own form', count: asText, why }] : leftOut,
      price: await priceThere(app, to, turns),
    }
  },
})

export const operations = [handoff]

function checkTarget({ sessionId: id, agentKind, repoPath }: DiscoveredSession, to: HandoffTarget): void {
  if (agentKind === to)
    throw new RockpoolError('refused', `${id} is a session of ${programOf(to)} already.`, {
      hint: 'Resume or fork it there.',
    })
  if (existsSync(repoPath)) return
  throw new RockpoolError(
    'refused',
    `The folder of ${id}, ${repoPath || 'which is not known'}, does not exist.`,
    {
      hint: 'An agent continues a session in its folder: restore the folder first.',
    },
  )
}

/** Where the agent looks first: what its variable names, else the usual place. */
function homeOf({ environment, config }: App, to: HandoffTarget): string {
  if (to === 'claude') return configDirsOf({ ...environment, discovery: config.discovery })[0]!
  const homes = agentHomesOf(environment, config.discovery).filter(({ kind }) => kind === to)
  if (homes[0]) return homes[0].path
  throw new RockpoolError('refused', `No folder of ${programOf(to)} is configured.`, {
    hint: `Add one to discovery.agentHomes.${to}.`,
  })
}

function resumeCommand(to: HandoffTarget, id: string, cwd: string): string {
  const command = to === 'claude' ? ['claude', '--resume', id] : readerOf(to).resumeCommand(id)
  return `cd ${shellWord(cwd)} && ${command.map(shellWord).join(' ')}`
}

const charsPerToken = 3.6
/** The agent's own prompt and tools, before the first message. */
const baseTokens = 16_000

/** No cache serves the first call, so all of it is sent at the price of input. */
async function priceThere(app: App, to: HandoffTarget, turns: readonly HandoffTurn[]) {
  const chars = turns.reduce((sum, turn) => sum + lengthOf(turn), 0)
  const tokens = baseTokens + Math.round(chars / charsPerToken)
  const { sessions } = await app.discovery().list({ agentKind: to, limit: 50 })
  const model = sessions.find((session) => session.model !== undefined)?.model
  const prices = pricesOf(model)
  if (model === undefined || prices.isUnknown) return { tokens, model, guessed: false }
  const { cacheWrite5m } = prices.ofCall({ promptTokens: tokens, fast: false })
  return { tokens, model, usd: (tokens * cacheWrite5m) / 1_000_000, guessed: prices.guessed }
}

function lengthOf(turn: HandoffTurn): number {
  return turn.role === 'tool' ? callAsText(turn).length : turn.text.length
}
