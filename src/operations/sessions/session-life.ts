// Resets, forks, archives, restores, deletes and labels sessions.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { forkSession } from '../../sessions/fork.ts'
import { deliveryMirror } from '../../sessions/mirror.ts'
import { archiveSession, deleteSession, resetSession } from '../../sessions/lifecycle.ts'
import { restoreSession } from '../../sessions/restore.ts'
import { transcriptOf } from '../../store/transcripts/transcript-paths.ts'
import type { App } from '../app.ts'
import { authorize } from '../authorize.ts'
import { checkedLabel } from './checked-label.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { partsOf } from './session-parts.ts'
import { findClaudeFile, purgeTraces } from './session-purge.ts'
import { findSession, spellKey, visibleAgents } from './which-session.ts'
import { workspaceOf } from '../../store/agent-folders.ts'

const which = {
  key: z.string().min(1).max(2000).describe('Key, id, beginning of an id, or label.'),
  agentId: z.string().optional().describe('Look only at this agent.'),
}
const flags = { agentId: 'agent' }
const entry = z.looseObject({ sessionId: z.string(), updatedAt: z.number() })
const changed = z.object({ ok: z.boolean(), key: z.string(), entry })

const resetOperation = operation({
  name: 'sessions.reset',
  description: 'Begin a new conversation under the same key; the old one is archived.',
  input: z.strictObject({ ...which, reason: z.enum(['new', 'reset']).default('reset').describe('Why.') }),
  output: changed.extend({ archived: z.string().optional() }),
  scope: 'write',
  changesState: true,
  command: { positional: ['key'], flags, examples: ['rockpool sessions reset main'] },
  async run(app, input, caller) {
    const found = await findSession(app, caller, input.key, input.agentId)
    const { session, archived } = await resetSession(partsOf(app, found), found.key, { reason: input.reason })
    return { ok: true, key: session.key, entry: session.entry, archived }
  },
})

const deleteOperation = operation({
  name: 'sessions.delete',
  description: 'Delete a session; its transcript is archived first.',
  input: z.strictObject({
    ...which,
    deleteTranscript: z.boolean().default(true).describe('Archive the transcript, too; so it is anyway.'),
    emitLifecycleHooks: z
      .boolean()
      .optional()
      .describe('Accepted for OpenClaw; subscribers are always told.'),
    purge: z
      .boolean()
      .default(false)
      .describe('Leave nothing: also remove its archives, its files and its words in the search index.'),
    claudeFile: z.boolean().default(false).describe("With purge: remove Claude's own record of it, too."),
  }),
  output: z.object({
    ok: z.boolean(),
    key: z.string(),
    deleted: z.boolean(),
    archived: z.array(z.string()),
    claudeFile: z.string().optional().describe("Claude's own record that was removed."),
  }),
  scope: 'write',
  changesState: true,
  destructive: true,
  command: {
    positional: ['key'],
    flags,
    confirmIfFound: ({ key, agentId }) => ({ name: 'sessions.get', input: { key, agentId } }),
    examples: ['rockpool sessions delete 08ef14de', 'rockpool sessions delete old-label --purge --yes'],
  },
  async run(app, input, caller) {
    const { purge } = input
    if (input.claudeFile && !purge)
      throw new RockpoolError('usage', "Claude's own record is removed only together with everything else.", {
        hint: 'Add --purge.',
      })
    // Claude's records belong to the person, not to the session.
    if (input.claudeFile) authorize(caller, 'admin', "sessions.delete with Claude's own record")
    const session = await findSession(app, caller, input.key, input.agentId)
    const claude = input.claudeFile ? await findClaudeFile(app, session) : undefined
    const { key } = session
    const { archived, sessionIds } = await deleteSession(partsOf(app, session), key, { purge })
    if (purge) await purgeTraces(app, session, sessionIds, { asked: input.claudeFile, file: claude })
    const left = archived === undefined ? [] : [archived]
    return { ok: true, key, deleted: true, archived: left, claudeFile: claude?.path }
  },
})

const forkOperation = operation({
  name: 'sessions.fork',
  description: 'Begin a session of its own with what was said so far.',
  input: z.strictObject({
    ...which,
    leafId: z.string().optional().describe('Fork at this entry of the transcript instead of at its end.'),
    label: z.string().optional().describe('A label for the fork.'),
    force: z.boolean().default(false).describe('Also when it is very long.'),
  }),
  output: changed.extend({ parentKey: z.string() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: { positional: ['key'], flags, examples: ['rockpool sessions fork main --label experiment'] },
  async run(app, input, caller) {
    const parent = await findSession(app, caller, input.key, input.agentId)
    const { parentForkMaxTokens } = app.config.session
    const label = input.label === undefined ? undefined : checkedLabel(app, input.label)
    const options = { leafId: input.leafId, label, force: input.force, parentForkMaxTokens }
    const fork = await forkSession(partsOf(app, parent), parent.key, options)
    return { ok: true, key: fork.key, entry: fork.entry, parentKey: parent.key }
  },
})

const archiveOperation = operation({
  name: 'sessions.archive',
  description: 'Put sessions out of the lists; nothing is lost, and a message brings one back.',
  input: z.strictObject({
    keys: z.array(z.string().min(1).max(2000)).min(1).max(1000).describe('Keys, ids or labels.'),
    dryRun: z.boolean().default(false).describe('Only say what would happen.'),
  }),
  output: z.object({
    ok: z.boolean(),
    operation: z.string(),
    dryRun: z.boolean(),
    results: z.array(
      z.object({ key: z.string(), ok: z.boolean(), status: z.string(), error: z.string().optional() }),
    ),
  }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['keys'],
    examples: ['rockpool sessions archive 08ef14de old-label'],
    isFailure: (output) => output['ok'] === false,
  },
  async run(app, input, caller) {
    const results = []
    for (const ref of input.keys) results.push(await archiveOne(app, caller, ref, input.dryRun))
    return { ok: results.every((one) => one.ok), operation: 'archive', dryRun: input.dryRun, results }
  },
})

async function archiveOne(
  app: App,
  caller: Caller,
  ref: string,
  dryRun: boolean,
): Promise<{ key: string; ok: boolean; status: string; error?: string }> {
  try {
    const session = await findSession(app, caller, ref)
    if (!dryRun) await archiveSession(partsOf(app, session), session.key)
    return { key: session.key, ok: true, status: dryRun ? 'would-archive' : 'archived' }
  } catch (error) {
    return {
      key: ref,
      ok: false,
      status: 'failed',
      error: error instanceof Error ? error.message : String(error),
    }
  }
}

const restoreOperation = operation({
  name: 'sessions.restore',
  description: 'Bring back an archived session, a deleted one, or the conversation before a reset.',
  input: z.strictObject({
    ref: z
      .string()
      .min(1)
      .max(2000)
      .describe('A key, an id, the beginning of an id, a label, or the name of an archive.'),
    agentId: which.agentId,
    key: z.string().optional().describe('Under which key, when the archive does not say.'),
  }),
  output: changed.extend({ archived: z.string().optional() }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['ref'],
    flags,
    examples: ['rockpool sessions restore main', 'rockpool sessions restore 08ef14de'],
  },
  async run(app, input, caller) {
    const { session, archived } = await restoreAnywhere(app, caller, input)
    return { ok: true, key: session.key, entry: session.entry, archived }
  },
})

/** An archive does not say whose it is, so every agent that the caller may see is asked. */
async function restoreAnywhere(
  app: App,
  caller: Caller,
  input: { ref: string; agentId?: string; key?: string },
): ReturnType<typeof restoreSession> {
  const named = /^agent:([^:]+):/.exec(input.ref)?.[1]
  const agents = visibleAgents(app, caller, input.agentId ?? named)
  const spelled = spellKey(app, input.ref)
  // As a key it means what it means everywhere; otherwise it is an id, a label or the name of an archive.
  const asKey = agents.includes(spelled.agentId) ? [{ agentId: spelled.agentId, ref: spelled.key }] : []
  let missing: unknown
  for (const { agentId, ref } of [...asKey, ...agents.map((id) => ({ agentId: id, ref: input.ref }))]) {
    try {
      return await restoreSession(partsOf(app, { agentId }), ref, { key: input.key })
    } catch (error) {
      if (!(error instanceof RockpoolError && error.code === 'not-found')) throw error
      missing = error
    }
  }
  throw missing
}

const injectOperation = operation({
  name: 'sessions.inject',
  description: 'Write something into a transcript as if the agent had said it; nothing is sent.',
  input: z.strictObject({
    ...which,
    message: z.string().trim().min(1).max(100_000).describe('What was said.'),
  }),
  output: z.object({ ok: z.boolean(), key: z.string(), messageId: z.string() }),
  scope: 'write',
  changesState: true,
  command: { hidden: true },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const body = deliveryMirror(input.message, app.clock.now())
    const cwd = workspaceOf(app, session.agentId)
    const transcripts = app.storage.transcripts(session.agentId)
    const [entry] = await transcripts.append(transcriptOf(session), [body], { cwd, key: session.key })
    return { ok: true, key: session.key, messageId: entry!.id }
  },
})

const labelOperation = operation({
  name: 'sessions.label',
  description: 'Give a session a label, or take it away.',
  input: z.strictObject({
    ...which,
    label: z.string().nullable().describe('The label; an empty one takes it away.'),
  }),
  output: changed,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['key', 'label'],
    flags,
    examples: ['rockpool sessions label main home', 'rockpool sessions label main ""'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const label = input.label === null || input.label === '' ? undefined : checkedLabel(app, input.label)
    const stored = await app.storage
      .sessions(session.agentId)
      .update(session.key, (current) => current && { ...current, label })
    if (!stored) throw new RockpoolError('not-found', `Session ${session.key} is gone.`)
    app.events.emit({ type: 'session-changed', agentId: session.agentId, key: session.key, why: 'label' })
    return { ok: true, key: session.key, entry: stored }
  },
})

export const lifeOperations = [
  resetOperation,
  deleteOperation,
  forkOperation,
  archiveOperation,
  restoreOperation,
  labelOperation,
  injectOperation,
]
