// What one looks at before going on with a Claude Code session, and how one puts it in order: its anatomy, its title,
// whether it is put away.
import { z } from 'zod'
import { anatomyOf } from '../../discovery/anatomy.ts'
import { priceSession, pricesOf } from '../../discovery/price-table.ts'
import { withTranscripts } from '../../discovery/subagents.ts'
import { contextKinds } from '../../domain/transcript-views.ts'
import { plainLine } from '../../domain/text.ts'
import { writeNativeArchived, writeNativeTitle } from '../../store/transcripts/claude-file.ts'
import { ownSession, sessionId } from './cc.ts'
import { operation } from '../operation.ts'

const anatomy = operation({
  name: 'cc.anatomy',
  description:
    'Show what a session is made of: its context by kind, cost over time, files, sub-agents, and what going on costs.',
  input: z.strictObject({ id: sessionId }),
  output: z.object({
    sessionId: z.string(),
    context: z.array(z.object({ kind: z.enum(contextKinds), tokens: z.number() })),
    contextTokens: z.number(),
    contextWindow: z.number(),
    calls: z.array(
      z.object({
        at: z.number(),
        contextTokens: z.number(),
        outputTokens: z.number(),
        costUsd: z.number(),
      }),
    ),
    compactedAt: z.array(z.number()),
    files: z.array(z.object({ path: z.string(), reads: z.number(), writes: z.number() })),
    subagents: z.array(
      z.object({
        id: z.string().optional().describe('Of its transcript, if it has one; for `cc.read`.'),
        name: z.string(),
        about: z.string(),
        at: z.number(),
        toolUseId: z.string().optional(),
        isRunning: z.boolean().optional(),
        costUsd: z.number().optional(),
      }),
    ),
    partial: z.boolean(),
    price: z.object({
      cache: z.enum(['warm', 'cold']),
      warmForMs: z.number().optional(),
      coldBecause: z.string().optional(),
      resumesWith: z.string().optional(),
      resumeUsd: z.number(),
      forkUsd: z.number(),
      compactThenResumeUsd: z.number(),
      freshUsd: z.number(),
    }),
  }),
  scope: 'read',
  command: { positional: ['id'], examples: ['rockpool cc anatomy 3f2a --json'] },
  async run(app, { id }, caller) {
    const session = await ownSession(app, id, caller)
    const { contextTokens, contextWindow } = session
    const made = await anatomyOf(session.filePath, contextTokens)
    return {
      sessionId: session.sessionId,
      ...made,
      subagents: withTranscripts(made.subagents, await app.discovery().subagents(session.sessionId)),
      contextTokens,
      contextWindow,
      price: priceSession(session, pricesOf, app.clock.now()),
    }
  },
})

const changed = z.object({ sessionId: z.string(), title: z.string().optional(), archived: z.boolean() })

const label = operation({
  name: 'cc.label',
  description: 'Give a Claude Code session a title of your own; Claude Code shows it, too.',
  input: z.strictObject({ id: sessionId, title: z.string().min(1).max(200).describe('The title.') }),
  output: changed,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['id', 'title'],
    joinsRest: true,
    examples: ['rockpool cc label 3f2a "the login form"'],
  },
  async run(app, input, caller) {
    const session = await ownSession(app, input.id, caller)
    const title = plainLine(input.title)
    await writeNativeTitle(session.filePath, title)
    app.events.emit({ type: 'native-changed', sessionId: session.sessionId, why: 'title' })
    return { sessionId: session.sessionId, title, archived: session.archived }
  },
})

const archive = operation({
  name: 'cc.archive',
  description: 'Put a Claude Code session out of the lists, or bring it back; nothing is lost.',
  input: z.strictObject({
    id: sessionId,
    restore: z.boolean().default(false).describe('Bring it back instead.'),
  }),
  output: changed,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['id'],
    examples: ['rockpool cc archive 3f2a', 'rockpool cc archive 3f2a --restore'],
  },
  async run(app, input, caller) {
    const session = await ownSession(app, input.id, caller)
    await writeNativeArchived(session.filePath, !input.restore)
    app.events.emit({ type: 'native-changed', sessionId: session.sessionId, why: 'archived' })
    return { sessionId: session.sessionId, title: session.title, archived: !input.restore }
  },
})

export const operations = [anatomy, label, archive]
