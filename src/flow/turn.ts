// The way of a message, from a chat to the agent and back. Read this file first.
//
// receive:  admit the message and write it to the inbox. It then waits in the lane of its session (converse.ts).
// takeTurn: when the lane is free, find the session, compose the prompt, ask the agent, record the answer, and put the
//           replies into the outbox, from where they are delivered (replies/deliver.ts).
//
// Each step stores what must not be lost before the next step starts.
import type { NotAccepted } from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import { orderedId } from '../domain/turn.ts'
import { messageKey } from '../inbound/admit.ts'
import { makeAttachmentFolder } from '../store/media/media-files.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import type { WaitingInput, WorkStore } from '../store/work-store.ts'
import { isAction } from './admission.ts'
import type { Admission } from './admission.ts'
import { askAgent } from './ask-agent.ts'
import { claimLane, failedTurn, finishTurn, NotOurs, resetOnly } from './finish-turn.ts'
import type { FinishedTurn } from './finish-turn.ts'
import type { FlowParts, TurnParts } from './flow-parts.ts'
import { LiveTurn } from './live-turn.ts'
import { composePrompt } from './prompt.ts'
import { placeOf, prepareInputs, systemPromptOf } from './turn-place.ts'
import type { Batch, TurnControls } from './turn-queue.ts'
import { repliesOf } from './turn-replies.ts'
import { rightsOfTurn, sourceOf } from './turn-rights.ts'
import { announcementsOf, findTurnSession, isResetOnly, updateSession } from './turn-session.ts'

export interface ReceiveParts extends Pick<FlowParts, 'events'> {
  work: WorkStore
  admission: Admission
  /** Whether this process would serve the message's lane now, where several processes share the work. */
  hasRoom?: boolean
  enqueue: (input: WaitingInput) => void
}

/** A channel received a message. When this resolves, the message is in the inbox, or needs no turn. */
export async function receive(message: Message, parts: ReceiveParts): Promise<NotAccepted | void> {
  const { admission, work } = parts
  const key = messageKey(message)
  if (await work.inbox.knows(key)) return admission.dropFiles(message)

  const verdict = await admission.judge(message)
  if (verdict.kind !== 'accepted') {
    await admission.turnDown(message, verdict)
    return verdict.kind === 'refused' ? verdict : undefined
  }
  if (isAction(message) && (await admission.needsNoTurn(message, verdict))) return

  const { agentId, lane, accepted } = await admission.place(message)
  const { owner, byOwner, byMember } = verdict
  const input = { key, lane, agentId, message: accepted, mayCommand: true, owner, byOwner, byMember }
  const waiting = await work.inbox.accept(input, parts.hasRoom)
  if (!waiting) return admission.dropFiles(accepted)
  parts.events.emit({ type: 'message-accepted', agentId, key: lane, messageId: message.id })
  parts.enqueue(waiting)
}

/** Takes a turn for messages of one lane. Resolves to messages that joined the turn and got no answer; they come next. */
export async function takeTurn(
  batch: Batch,
  onStart: (turn: TurnControls) => void,
  parts: TurnParts,
): Promise<WaitingInput[]> {
  const turnId = orderedId(parts.clock.now())
  // The first steps change nothing, so they run while the lane is being claimed.
  const claim = claimLane(turnId, batch, parts)
  const claimed = async (): Promise<void> => {
    if (!(await claim)) throw new NotOurs()
  }
  const started: { live?: LiveTurn } = {}
  const start = (live: LiveTurn): void => {
    started.live = live
    onStart(live)
  }
  try {
    const turn = await runTurn({ turnId, batch, start, claimed }, parts).catch(async (error: unknown) => {
      if (error instanceof NotOurs || !(await claim)) return undefined
      if (error instanceof StoreUnavailable) {
        // Released like an interrupted turn: its messages wait again and are marked as retried.
        await parts.work.lanes.release(turnId)
        throw error
      }
      parts.log.error(
        { event: 'turn-failed', lane: batch.lane, turnId, error: String(error) },
        'A turn failed before the agent answered; the chat gets the reason.',
      )
      return failedTurn(error)
    })
    if (turn) return await finishTurn(turnId, batch, turn, parts)
    parts.onNotOurs(batch.lane)
    return []
  } finally {
    started.live?.over()
  }
}

interface ClaimedTurn {
  turnId: string
  batch: Batch
  start: (turn: LiveTurn) => void
  /** Resolves when the lane is claimed; throws if another process has it. */
  claimed: () => Promise<void>
}

async function runTurn(turn: ClaimedTurn, parts: TurnParts): Promise<FinishedTurn> {
  const { turnId, batch, start, claimed } = turn
  const agent = parts.agentOf(batch.inputs[0]!.agentId)
  if (parts.notes) await parts.notes.bring(agent.id)
  const inputs = await prepareInputs(batch.inputs, agent, parts)
  const first = inputs[0]!

  const found = await findTurnSession(first, claimed, parts)
  const announcements = announcementsOf(found, first)
  if (isResetOnly(found)) return resetOnly(found.session, announcements)
  const { session } = found
  const rights = rightsOfTurn(session, sourceOf(first), parts)
  const place = placeOf(session, agent, rights)
  if (rights.files === 'own') await makeAttachmentFolder(place.workspace, session)
  const transcript = transcriptOf(session)
  const live = new LiveTurn({ turnId, session, inputs, transcript, place, author: rights.author }, parts)
  start(live)

  const system = systemPromptOf({ found, agent, rights, place, chatType: first.message.chatType }, parts)
  const prompt = await composePrompt({ found, inputs, dropped: batch.dropped, author: rights.author }, parts)
  await claimed()
  const questions = prompt.questions.map((text, n) => ({ input: batch.inputs[n]!, text }))
  const entryIds = await live.recordQuestions(questions, batch.dropped)
  try {
    const { result, lostThread } = await askAgent(
      { session, agent, rights, transcript, entryIds, inputs, prompt, systemPrompt: system.text, live },
      parts,
    )
    // Before the turn ends, because another machine may take the next one.
    if (parts.notes) await parts.notes.give(agent.id)
    await live.ended(result)
    const stored = updateSession({ found, live, system }, result, parts)
    const allAnnouncements = lostThread === undefined ? announcements : [...announcements, lostThread]
    const sendable = { cwd: place.cwd, places: [place.cwd, ...rights.sharedFiles] }
    const replies = await repliesOf(
      result,
      { session, inputs, events: live.events, announcements: allAnnouncements, sendable },
      parts,
    )
    return { session, result, replies, prompt, live, stored }
  } finally {
    live.stopShowing()
    await live.sync()
  }
}
