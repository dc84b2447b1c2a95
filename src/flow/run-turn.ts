// What happens in a turn, step by step: the session, the prompt, the agent, the record, the replies.
import type { Reply, SessionPoint } from '../domain/reply.ts'
import type { Session, SessionEntry, SessionSystemPromptReport } from '../domain/session.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'
import type { Author } from '../rights/author.ts'
import { withCompactions, withUsage } from '../sessions/usage.ts'
import { picturesOf } from '../store/media/message-files.ts'
import type { SendableFiles } from '../store/media/workspace-attachment.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import type { TurnOutcome, WaitingInput } from '../store/work-store.ts'
import { askAgent } from './ask-agent.ts'
import { commandIn } from './chat-commands.ts'
import { announcementsOf, findSession, readInput } from './find-session.ts'
import type { FoundSession } from './find-session.ts'
import { LiveTurn } from './live-turn.ts'
import { withFilesHere } from './local-files.ts'
import { composePrompt } from './prompt.ts'
import type { HeldBack } from './prompt.ts'
import type { Preview } from './deliveries.ts'
import type { TurnParts, WatchedEnd } from './flow-parts.ts'
import { composeReplies } from './turn-replies.ts'
import { inPlace, preparePlace, systemPromptOf } from './turn-place.ts'
import { authorOfSession, rightsOfTurn, sourceOf } from './turn-rights.ts'
import type { Batch, TurnInHand } from './turn-queue.ts'

export interface Conducted {
  outcome: Omit<TurnOutcome, 'deliveries'>
  session?: Session
  watched: Omit<WatchedEnd, 'sessionKey'>
  steered: WaitingInput[]
  unanswered: WaitingInput[]
  /** What showed the answer in the chat while it was written. */
  preview?: Preview
  /** Where the conversation stands with this answer. */
  point?: SessionPoint
  /** Words of others that wait for a turn with fewer rights. */
  heldBack?: HeldBack
  /** The session is as the turn leaves it. */
  settled: Promise<void>
}

interface Turn {
  turnId: string
  batch: Batch
  begun: (turn: TurnInHand) => void
  /** Resolves when the turn is ours; throws if it is not. */
  claimed: () => Promise<void>
}

export async function conduct(turn: Turn, parts: TurnParts): Promise<Conducted> {
  const agent = parts.agentOf(turn.batch.inputs[0]!.agentId)
  const [received] = await Promise.all([
    Promise.all(turn.batch.inputs.map((input) => withFilesHere(input, parts))),
    parts.notes?.bring(agent.id),
  ])
  const batch = { ...turn.batch, inputs: await inPlace(received, agent, parts) }
  const first = batch.inputs[0]!
  const found = await findSession(first, turn.claimed, parts)
  const announcements = announcementsOf(found, first)
  const { reset } = found
  if (reset && 'text' in reset && !found.text.forAgent.trim()) return onlyReset(found, announcements)
  const { session } = found
  const transcript = transcriptOf(session)
  const rights = rightsOfTurn(session, sourceOf(first), parts)
  const place = await preparePlace(session, agent, rights)
  const live = new LiveTurn({ turnId: turn.turnId, session, batch, transcript, ...place }, parts)
  turn.begun(live)
  const [prompt, systemPromptAppend] = await Promise.all([
    promptOf(found, batch, rights.author, parts),
    systemPromptOf(
      found,
      { agent, rights, directory: place.cwd, isGroup: first.message.chatType !== 'direct' },
      parts,
    ),
  ])
  const [entryId] = await Promise.all([live.recordUser(prompt.said), turn.claimed()])
  try {
    const { result, lostThread } = await askAgent(
      {
        session,
        agent,
        transcript,
        entryId,
        address: first.message.address,
        rights,
        text: prompt.text,
        systemPromptAppend,
        images: await picturesOf(received.flatMap(({ message }) => message.media)),
        ...(prompt.command ? { command: true } : {}),
        ...(first.wish?.model === undefined ? {} : { model: first.wish.model }),
        ...(first.wish?.thinking === undefined ? {} : { thinking: first.wish.thinking }),
        onEvent: (event) => live.see(event),
        onOpen: (conversation) => live.opened(conversation),
      },
      parts,
    )
    // Before the turn ends: the next one may be taken elsewhere.
    await parts.notes?.give(agent.id)
    const told = [...announcements, ...(lostThread === undefined ? [] : [lostThread])]
    const sendable = { cwd: place.cwd, places: [place.cwd, ...rights.sharedFiles] }
    const concluded = await conclude(
      { found, batch, live, result, told, heard: prompt.heard, sendable },
      parts,
    )
    return { ...concluded, heldBack: 'heldBack' in prompt ? prompt.heldBack : undefined }
  } finally {
    live.stopShowing()
    await live.sync()
  }
}

/** The answer is there: the transcript and the session are brought up to date, and the replies composed. */
async function conclude(
  turn: {
    found: FoundSession
    batch: Batch
    live: LiveTurn
    result: TurnResult
    told: string[]
    heard: TurnOutcome['heard']
    sendable: SendableFiles
  },
  parts: TurnParts,
): Promise<Conducted> {
  const { live, result, batch } = turn
  const { session } = turn.found
  const isHeartbeat = batch.inputs[0]!.wish?.heartbeat === true
  await live.ended(result)
  const settled = settleSession(turn.found, live, result, parts).then((entry) => {
    if (entry) session.entry = entry
  })
  // Whoever awaits it hears of a failure; until then it must not count as unheard.
  settled.catch(() => {})
  const replies = await composeReplies(
    result,
    {
      session,
      address: batch.inputs.at(-1)!.message.address,
      currentMessageId: batch.inputs.at(-1)!.message.id,
      sendable: turn.sendable,
      isHeartbeat,
      announcements: turn.told,
      events: live.events,
    },
    parts,
  )
  const fresh = isHeartbeat ? await withoutRepeat(replies, session, parts) : replies
  const said = fresh.length === 0 ? compactionReply(live.events) : fresh
  return {
    outcome: {
      end: result.end,
      sessionId: session.entry.sessionId,
      usage: result.usage,
      costUsd: result.costUsd,
      compactions: result.compactions,
      ...(result.model === undefined ? {} : { model: result.model }),
      ...(result.contextTokens === undefined ? {} : { contextTokens: result.contextTokens }),
      ...(turn.heard === undefined ? {} : { heard: turn.heard }),
    },
    session,
    watched: { sessionId: session.entry.sessionId, replies: said, result },
    steered: [...live.steered.values()],
    unanswered: live.unanswered(result),
    ...(live.preview === undefined ? {} : { preview: live.preview }),
    point: {
      sessionId: session.entry.sessionId,
      ...(live.lastEntryId === undefined ? {} : { entryId: live.lastEntryId }),
    },
    settled,
  }
}

/** `/new` and nothing else: there is nothing to ask the agent. */
function onlyReset(found: FoundSession, announcements: string[]): Conducted {
  const { session } = found
  return {
    outcome: { end: { kind: 'completed' }, sessionId: session.entry.sessionId },
    session,
    watched: { sessionId: session.entry.sessionId, replies: [{ text: announcements.join('\n') }] },
    steered: [],
    unanswered: [],
    settled: Promise.resolve(),
  }
}

async function promptOf(found: FoundSession, batch: Batch, author: Author, parts: TurnParts) {
  const first = batch.inputs[0]!
  const command = commandIn(found.text.forCommands, first, parts)
  if (command?.kind === 'built-in' && command.name === 'compact') {
    const text = `/compact ${command.rest}`.trim()
    return { text, said: text, heard: undefined, command: true }
  }
  const spoken = batch.inputs.map((input, index) => {
    const { forAgent: text, untrusted } = index === 0 ? found.text : readInput(input, parts)
    return { input, text, untrusted }
  })
  const about = {
    sessionKey: found.session.key,
    isNewSession: found.isNew,
    channelSummary: parts.channelSummary?.() ?? [],
    notes: notesFor(found, first),
    author,
    sessionAuthor: authorOfSession(found.session.key, found.session.entry, parts),
  }
  return { ...(await composePrompt(spoken, batch.dropped, about, parts)), command: false }
}

/** What the agent must know about the circumstances of this turn. */
function notesFor(found: FoundSession, first: WaitingInput): string[] {
  const { entry } = found.session
  const notes: string[] = []
  if (first.lostTurns > 0) {
    notes.push('[Retried: this message may have been begun before. Look before you repeat an action.]')
  }
  if (!found.isNew && entry.abortedLastRun)
    notes.push('Note: the previous turn was stopped by the user. Go on carefully, or ask.')
  if (entry.groupActivationNeedsSystemIntro) {
    notes.push(
      entry.groupActivation === 'always'
        ? 'Activation: always. You see every message of this group. Answer only when it helps; otherwise say NO_REPLY.'
        : 'Activation: mention. You see a message of this group when somebody addresses you.',
    )
  }
  return notes
}

/** One update for all that the turn changed in its session; a session that was reset meanwhile is left alone. */
function settleSession(
  found: FoundSession,
  live: LiveTurn,
  result: TurnResult,
  parts: TurnParts,
): Promise<SessionEntry | undefined> {
  const { session, skillsSnapshot, timesPending } = found
  const { sessionId } = session.entry
  const last = live.lastUsage
  const total = result.contextTokens ?? (last ? last.input + last.cacheRead + last.cacheWrite : undefined)
  return parts.sessions(session.agentId).update(session.key, (current) => {
    if (current?.sessionId !== sessionId) return undefined
    const used = withUsage(current, {
      ...promptReportOf(found, result, parts),
      usage: { ...result.usage, ...(total === undefined ? {} : { total }) },
      costUsd: result.costUsd,
      providerUsed: parts.runtime.kind === 'claude' ? 'anthropic' : 'rockpool',
      ...(result.model === undefined ? {} : { modelUsed: result.model }),
      ...(result.contextWindow === undefined ? {} : { contextTokensUsed: result.contextWindow }),
      ...(result.sdkSessionId === undefined ? {} : { cliSessionId: result.sdkSessionId }),
    })
    const {
      groupActivationNeedsSystemIntro: _told,
      forkOfSdkSessionId: _forked,
      ...counted
    } = withCompactions(used, result.compactions, total)
    const skills = skillsSnapshot?.version === current.skillsSnapshot?.version ? {} : { skillsSnapshot }
    const times = timesPending ? timesOf(session.entry, counted) : {}
    return {
      ...counted,
      ...skills,
      ...times,
      systemSent: true,
      abortedLastRun: result.end.kind === 'interrupted',
    }
  })
}

function promptReportOf(
  { session, promptReport }: FoundSession,
  { model }: TurnResult,
  parts: TurnParts,
): { systemPromptReport?: SessionSystemPromptReport } {
  if (!promptReport) return {}
  return {
    systemPromptReport: {
      ...promptReport,
      generatedAt: parts.clock.now(),
      sessionId: session.entry.sessionId,
      sessionKey: session.key,
      workspaceDir: parts.agentOf(session.agentId).workspace,
      ...(model === undefined ? {} : { model }),
    },
  }
}

/** That somebody wrote, noted when the turn began. */
function timesOf({ lastInteractionAt, updatedAt }: SessionEntry, now: SessionEntry): Partial<SessionEntry> {
  return { lastInteractionAt, updatedAt: Math.max(updatedAt, now.updatedAt) }
}

/** A heartbeat that says what the last one said, within a day, says nothing. */
async function withoutRepeat(replies: Reply[], session: Session, parts: TurnParts): Promise<Reply[]> {
  const text = replies
    .map((reply) => reply.text ?? '')
    .join('\n\n')
    .trim()
  if (text === '') return replies
  const { lastHeartbeatText, lastHeartbeatSentAt = 0 } = session.entry
  const now = parts.clock.now()
  if (text === lastHeartbeatText && now - lastHeartbeatSentAt < 86_400_000) return []
  await parts
    .sessions(session.agentId)
    .update(session.key, (entry) => entry && { ...entry, lastHeartbeatText: text, lastHeartbeatSentAt: now })
  return replies
}

function compactionReply(events: readonly TurnEvent[]): Reply[] {
  const done = events.findLast((event) => event.type === 'compaction' && event.phase === 'end')
  if (done?.type !== 'compaction' || done.trigger !== 'manual') return []
  const { tokensBefore, tokensAfter } = done
  const figures = tokensBefore && tokensAfter ? `: ${tokensBefore} tokens became ${tokensAfter}` : ''
  return [{ text: `The conversation was summarised${figures}.` }]
}
