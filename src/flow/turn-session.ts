// The session of a turn: found before the agent is asked, updated when the turn ends.
import { addressOfSession } from '../domain/session.ts'
import type { SessionEntry } from '../domain/session.ts'
import { sessionKeyOf } from '../domain/session-key.ts'
import type { TurnResult } from '../domain/turn.ts'
import { textForAgent } from '../inbound/message-text.ts'
import { mayChangeRoute } from '../rights/chat-rights.ts'
import { findSession } from '../sessions/find-session.ts'
import type { FoundSession } from '../sessions/find-session.ts'
import { withCompactions, withUsage } from '../sessions/usage.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import type { WaitingInput } from '../store/work-store.ts'
import { mayGiveIn } from './chat-commands.ts'
import type { TurnParts } from './flow-parts.ts'
import { entriesOf } from './questions.ts'
import type { LiveTurn } from './live-turn.ts'
import type { SystemPrompt, TurnInput } from './turn-place.ts'
import { authorOfInput, authorOfSession } from './turn-rights.ts'

export interface TurnSession extends FoundSession {
  /** The first message's text for the agent, without a reset command. */
  text: string
}

/** `claimed` is awaited before the session is started or reset: only the turn that owns the lane may do that. */
export async function findTurnSession(
  input: TurnInput,
  claimed: () => Promise<void>,
  parts: TurnParts,
): Promise<TurnSession> {
  const { agentId, lane: key, message, turnOptions, text } = input
  const { clock, events } = parts
  const found = await findSession({
    key,
    // The words that reset a session count as a command, also those of the configuration.
    commandText: input.mayCommand && mayGiveIn(input, 'reset') ? text.forCommands : '',
    parentKey: parentKeyOf(input, parts),
    message: turnOptions?.heartbeat ? undefined : message,
    keepsRoute: (entry) => turnOptions !== undefined || !maySetRoute(input, entry, parts),
    defersTimes: true,
    hasBegunIn: async (entry) => {
      if (input.lostTurns === 0) return false
      const recorded = await entriesOf([input], parts.transcripts(agentId), transcriptOf({ key, entry }))
      return recorded.size > 0
    },
    beforeChange: claimed,
    config: parts.config,
    parts: { clock, events, sessions: parts.sessions(agentId), transcripts: parts.transcripts(agentId) },
  })
  // The old conversation's process ends, and the new conversation is not told what happened in the old one.
  if (found.previous)
    await Promise.all([parts.runtime.live(key)?.close(), parts.work.systemEvents.clear(key)])
  const { reset } = found
  return { ...found, text: reset && 'text' in reset ? textForAgent(reset.text, message) : text.forAgent }
}

/** `/new` without further text. */
export function isResetOnly({ reset, text }: TurnSession): boolean {
  return reset !== undefined && 'text' in reset && text.trim() === ''
}

/** Lines before the answer: the message was retried, the session is a new one. */
export function announcementsOf({ reset, previous }: FoundSession, input: WaitingInput): string[] {
  const retried = input.lostTurns > 0 ? ['(Retried: the first try was cut off.)'] : []
  if (!reset) return retried
  if (!('text' in reset)) return [...retried, staleText(reset.why, previous?.sessionId)]
  return [...retried, reset.model ? `New session with ${reset.model}.` : 'New session.']
}

function staleText(why: 'daily' | 'idle', oldId: string | undefined): string {
  const reason = why === 'daily' ? 'the day is over' : 'no message arrived for a while'
  const undo = oldId ? ` \`rockpool sessions restore ${oldId.slice(0, 8)}\` brings it back.` : ''
  return `(This is a new session: the last one ended because ${reason}.${undo})`
}

/** Replies go to the chat of the last message, unless its author has fewer rights than the author of the session. */
function maySetRoute(input: WaitingInput, entry: SessionEntry, parts: TurnParts): boolean {
  if (addressOfSession(entry) === undefined) return true
  return mayChangeRoute(authorOfInput(input, parts), authorOfSession(input.lane, entry, parts))
}

/** The session of the chat that a thread belongs to. */
function parentKeyOf({ message, agentId, lane }: WaitingInput, parts: TurnParts): string | undefined {
  const { threadId, ...address } = message.address
  if (threadId === undefined) return undefined
  const parent = sessionKeyOf({ ...message, address }, agentId, parts.config.session)
  return parent === lane ? undefined : parent
}

/** Stores all changes of a turn in one update; a session that was reset meanwhile is not changed. */
export function updateSession(
  turn: { found: FoundSession; live: LiveTurn; system: SystemPrompt },
  result: TurnResult,
  parts: TurnParts,
): Promise<void> {
  const { session } = turn.found
  const { sessionId } = session.entry
  const stored = parts
    .sessions(session.agentId)
    .update(
      session.key,
      (current) => (current?.sessionId === sessionId ? entryAfter(current, turn, result, parts) : undefined),
      turn.found.stored,
    )
    .then((entry) => {
      if (entry) session.entry = entry
    })
  // Avoids an unhandled rejection: finishTurn awaits the promise later and reports the failure.
  stored.catch(() => {})
  return stored
}

function entryAfter(
  current: SessionEntry,
  { found, live, system }: Parameters<typeof updateSession>[0],
  result: TurnResult,
  parts: TurnParts,
): SessionEntry {
  const { session, timesPending } = found
  const last = live.lastUsage
  const total = result.contextTokens ?? (last && last.input + last.cacheRead + last.cacheWrite)
  const used = withUsage(current, {
    systemPromptReport: system.report && {
      ...system.report,
      generatedAt: parts.clock.now(),
      sessionId: session.entry.sessionId,
      sessionKey: session.key,
      workspaceDir: parts.agentOf(session.agentId).workspace,
      model: result.model,
    },
    usage: { ...result.usage, ...(total === undefined ? {} : { total }) },
    costUsd: result.costUsd,
    providerUsed: parts.runtime.kind === 'claude' ? 'anthropic' : 'rockpool',
    modelUsed: result.model,
    contextTokensUsed: result.contextWindow,
    cliSessionId: result.sdkSessionId,
  })
  const entry = withCompactions(used, result.compactions, total)
  const { skillsSnapshot } = system
  const { lastInteractionAt, updatedAt } = session.entry
  return {
    ...entry,
    ...(skillsSnapshot?.version === current.skillsSnapshot?.version ? {} : { skillsSnapshot }),
    ...(timesPending ? { lastInteractionAt, updatedAt: Math.max(updatedAt, entry.updatedAt) } : {}),
    systemSent: true,
    abortedLastRun: result.end.kind === 'interrupted',
    groupActivationNeedsSystemIntro: undefined,
    forkOfSdkSessionId: undefined,
  }
}
