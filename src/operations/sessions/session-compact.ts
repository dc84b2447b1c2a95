// sessions.compact: Claude makes its own context shorter, or we keep only the end of our transcript.
import { z } from 'zod'
import type { Session } from '../../domain/session.ts'
import { truncateTranscript } from '../../sessions/compact.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { operation } from '../operation.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { partsOf } from './session-parts.ts'
import { findSession } from './which-session.ts'

const compactOutput = z.object({
  ok: z.boolean(),
  key: z.string(),
  compacted: z.boolean(),
  reason: z.string().optional(),
  kept: z.number(),
  archived: z.string().optional(),
  claudeUnchanged: z.boolean(),
})

export const compactSession = operation({
  name: 'sessions.compact',
  description: 'Shorten a session: ask Claude to compact, or keep only the last lines of our transcript.',
  input: z.strictObject({
    key: z.string().min(1).max(2000).describe('Key, id, beginning of an id, or label.'),
    agentId: z.string().optional().describe('Look only at this agent.'),
    maxLines: z
      .int()
      .min(1)
      .optional()
      .describe('Keep this many entries of our transcript; Claude is not asked.'),
  }),
  output: compactOutput,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions compact main', 'rockpool sessions compact main --max-lines 400'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const bound = session.entry.sdkSessionId !== undefined
    if (bound && input.maxLines === undefined) return compactWithClaude(app, session, caller)
    const result = await truncateTranscript(partsOf(app, session), session.key, input.maxLines)
    const note = result.claudeUnchanged ? { reason: "Claude's own context is unchanged." } : {}
    return { ok: true, ...result, ...note }
  },
})

/** Claude compacts its own context in a turn of its own. */
async function compactWithClaude(
  app: App,
  session: Session,
  caller: Caller,
): Promise<z.input<typeof compactOutput>> {
  const { key, agentId, entry: before } = session
  const conversations = await app.conversations()
  const end = await conversations.ask({
    agentId,
    sessionKey: key,
    text: '/compact',
    from: 'operator',
    askedBy: callerAuthor(caller),
    mayCommand: true,
    timeoutMs: compactMs,
  })
  if (end.error !== undefined) throw end.error
  const after = await app.storage.sessions(agentId).peek(key)
  const compacted = (after?.compactionCount ?? 0) > (before.compactionCount ?? 0)
  const reason = end.replies.flatMap((reply) => reply.text ?? []).join(' ')
  return { ok: true, key, compacted, reason, kept: 0, claudeUnchanged: !compacted }
}

const compactMs = 300_000
