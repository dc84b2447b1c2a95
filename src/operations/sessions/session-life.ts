// Operations that change the life of a session: reset, delete, fork, label, inject.
import { z } from 'zod'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { classifySessionKey } from '../../domain/session-key-forms.ts'
import { addressOfSession, type Session } from '../../domain/session.ts'
import { historyKeyOf } from '../../flow/prompt.ts'
import { forkSession } from '../../sessions/fork.ts'
import { deleteSession, resetSession } from '../../sessions/lifecycle.ts'
import { untrustedWriter } from '../../rights/author.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { deliveryMirror } from '../../sessions/transcript-changes.ts'
import { removeSessionMedia, sessionMediaName } from '../../store/media/media-files.ts'
import { removeClaudeTranscript } from '../../store/transcripts/claude-file.ts'
import { transcriptOf } from '../../store/transcripts/transcript-paths.ts'
import type { App } from '../app.ts'
import { authorize } from '../perform-operation.ts'
import { operation } from '../operation.ts'
import { workspaceOf } from '../../store/agents.ts'
import { purgeKept } from '../vault/kept-sessions.ts'
import { checkedLabel } from './session-patch.ts'
import { agentFlag, findSession, partsOf, storedEntry, whichSession } from './which-session.ts'
import { flag } from '../input-fields.ts'

/** A session after a change. */
export const changedSession = z.object({ ok: z.boolean(), key: z.string(), entry: storedEntry() })

const reset = operation({
  name: 'sessions.reset',
  description: 'Start a new conversation under the same key; the old one is archived.',
  input: z.strictObject({
    ...whichSession,
    reason: z.enum(['new', 'reset']).default('reset').describe('The reason that is recorded.'),
  }),
  output: changedSession.extend({ archived: z.string().optional() }),
  scope: 'write',
  changesState: true,
  command: { positional: ['key'], flags: agentFlag, examples: ['rockpool sessions reset main'] },
  async run(app, input, caller) {
    const found = await findSession(app, caller, input.key, input.agentId)
    const { session, archived } = await resetSession(partsOf(app, found), found.key, { reason: input.reason })
    return { ok: true, key: session.key, entry: session.entry, archived }
  },
})

const remove = operation({
  name: 'sessions.delete',
  description: 'Delete a session; its transcript is archived first.',
  input: z.strictObject({
    ...whichSession,
    deleteTranscript: z.boolean().default(true).describe('No effect: the transcript is always archived.'),
    emitLifecycleHooks: z.boolean().optional().describe('No effect: subscribers are always notified.'),
    purge: flag(
      'Also remove its archives, its files, its copy in the vault and its texts in the search index.',
    ),
    claudeFile: flag("With purge: remove Claude's own record of it, too."),
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
    flags: agentFlag,
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

const fork = operation({
  name: 'sessions.fork',
  description: 'Start a new session with a copy of the conversation so far.',
  input: z.strictObject({
    ...whichSession,
    leafId: z.string().optional().describe('Fork at this entry of the transcript instead of at its end.'),
    label: z.string().optional().describe('A label for the fork.'),
    force: flag('Fork even a very long session.'),
  }),
  output: changedSession.extend({ parentKey: z.string() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
    examples: ['rockpool sessions fork main --label experiment'],
  },
  async run(app, input, caller) {
    const parent = await findSession(app, caller, input.key, input.agentId)
    const { parentForkMaxTokens } = app.config.session
    const label = input.label === undefined ? undefined : checkedLabel(app, input.label)
    const options = { leafId: input.leafId, label, force: input.force, parentForkMaxTokens }
    const fork = await forkSession(partsOf(app, parent), parent.key, options)
    return { ok: true, key: fork.key, entry: fork.entry, parentKey: parent.key }
  },
})

const inject = operation({
  name: 'sessions.inject',
  description: 'Add a message of the agent to a transcript; nothing is sent.',
  input: z.strictObject({
    ...whichSession,
    message: z.string().trim().min(1).max(100_000).describe('The text.'),
  }),
  output: z.object({ ok: z.boolean(), key: z.string(), messageId: z.string() }),
  scope: 'write',
  changesState: true,
  command: { hidden: true },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const writer = untrustedWriter(callerAuthor(caller))
    const body = deliveryMirror(input.message, app.clock.now(), writer)
    const cwd = workspaceOf(app, session.agentId)
    const transcripts = app.storage.transcripts(session.agentId)
    const [entry] = await transcripts.append(transcriptOf(session), [body], { cwd, key: session.key })
    return { ok: true, key: session.key, messageId: entry!.id }
  },
})

const label = operation({
  name: 'sessions.label',
  description: 'Set or remove the label of a session.',
  input: z.strictObject({
    ...whichSession,
    label: z.string().nullable().describe('The label; an empty text removes it.'),
  }),
  output: changedSession,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['key', 'label'],
    flags: agentFlag,
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

export const operations = [reset, remove, fork, label, inject]

interface ClaudeFile {
  sessionId: string
  path: string
}

/** Claude's own record of the session. Looked up before anything is deleted: while Claude writes the record, nothing is. */
async function findClaudeFile(app: App, { key, entry }: Session): Promise<ClaudeFile | undefined> {
  const { sdkSessionId } = entry
  if (sdkSessionId === undefined) return undefined
  // Our own process for this session waits for a message that will not come.
  if (app.gateway) await (await app.runtime()).live(key)?.close()
  try {
    const { sessionId, filePath, isRunning } = await app.discovery().get(sdkSessionId)
    if (isRunning)
      throw new RockpoolError('busy', `Claude's session ${sessionId} is running; its file still changes.`, {
        hint: 'Nothing was deleted. End it, or leave out --claude-file.',
      })
    return sessionId === sdkSessionId.toLowerCase() ? { sessionId, path: filePath } : undefined
  } catch (error) {
    if (asRockpoolError(error).code === 'not-found') return undefined
    throw error
  }
}

/** Removes what a deletion leaves: messages and replies, the files of the session, its copy in the vault, its texts in the
 *  search index and, if asked for, Claude's own record. Notes belong to the agent and stay. */
async function purgeTraces(
  app: App,
  session: Session,
  sessionIds: string[],
  claude: { asked: boolean; file: ClaudeFile | undefined },
): Promise<void> {
  const { key, agentId, entry } = session
  const purged = { key, agentId, group: groupOf(session) }
  const sent = await app.storage.purge(purged)
  await app.storage.media.remove({ folder: sessionMediaName(agentId, key), paths: sent })
  await removeSessionMedia(app.paths.media, { agentId, key, workspace: workspaceOf(app, agentId) }, sent)
  const { file } = claude
  if (file) {
    await removeClaudeTranscript(file.path)
    await app.discovery().purge()
  }
  if (claude.asked && entry.sdkSessionId !== undefined)
    await app.storage.cluster?.purgeClaude(entry.sdkSessionId)
  if (entry.sdkSessionId !== undefined) await purgeKept(app, [entry.sdkSessionId])
  await app.search().purge(file ? [...sessionIds, file.sessionId] : sessionIds)
}

/** The key under which the messages of its group are stored. */
function groupOf({ key, entry }: Session): string | undefined {
  const { kind } = classifySessionKey(key)
  const address = addressOfSession(entry)
  return address && (kind === 'group' || kind === 'channel')
    ? historyKeyOf({ address, chatType: kind })
    : undefined
}
