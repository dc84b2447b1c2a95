// Trims a Claude Code session: a copy without old tool results, which costs less to resume when the prompt cache is cold.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { requireClaude } from '../../discovery/agents/readers.ts'
import { pricesOf } from '../../discovery/model-prices.ts'
import { priceSession } from '../../discovery/price-table.ts'
import { previewTrim, trimSession } from '../../discovery/trim/write-trim.ts'
import { sessionPrice } from '../../domain/selection.ts'
import { trimCut, trimLevels, trimSaving } from '../../domain/trim.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { flag, sessionField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import { ownSession } from './cc.ts'

const trimOutput = trimSaving.extend({
  sessionId: z.string().describe('The original.'),
  dryRun: z.boolean(),
  copy: z.object({ sessionId: z.string(), filePath: z.string() }).optional(),
  cutList: z.array(trimCut).describe('In the order of the conversation.'),
  price: sessionPrice,
})

const trim = operation({
  name: 'cc.trim',
  description:
    'Make a trimmed copy of a session as a new session: notes replace old tool results, and recall_lost gives them back.',
  input: z.strictObject({
    id: sessionField(),
    level: z.enum(trimLevels).default('normal').describe('How much to cut.'),
    dryRun: flag('Only show what would be cut, and what it would save.'),
  }),
  output: trimOutput,
  scope: 'write',
  isCostly: true,
  changesState: true,
  redactOutput: true,
  command: {
    positional: ['id', 'level'],
    examples: ['rockpool cc trim 3f2a --dry-run', 'rockpool cc trim 3f2a hard'],
  },
  async run(app, { id, level, dryRun }, caller) {
    const session = await ownSession(app, id, caller)
    requireClaude(session, 'trim it')
    const copy = dryRun
      ? undefined
      : await trimSession(app.discovery(), session.sessionId, level, randomUUID())
    if (!dryRun && !copy)
      throw new RockpoolError('refused', `There is nothing to cut in ${session.sessionId}.`, {
        hint: `\`rockpool cc resume ${session.sessionId.slice(0, 8)}\` continues it as it is.`,
      })
    const { planned, cuts, tokensBefore, tokensAfter } = copy ?? (await previewTrim(session, level))
    const saving = { level, cuts, tokensBefore, tokensAfter }
    const nextModel = app.config.coding.defaultModel
    return {
      sessionId: session.sessionId,
      dryRun,
      ...saving,
      copy: copy && { sessionId: copy.sessionId, filePath: copy.filePath },
      cutList: planned.map(({ handle, what, why, chars, tokens }) => ({ handle, what, why, chars, tokens })),
      price: priceSession(session, pricesOf, app.clock.now(), { trim: saving, nextModel }),
    }
  },
})

export const operations = [trim]
