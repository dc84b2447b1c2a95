// What is done at a start and from time to time: turns that a dead process left are found and retried, things that are
// over are forgotten.
import type { Clock } from '../domain/clock.ts'
import type { Delivery } from '../domain/reply.ts'
import type { TranscriptRef, TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import type { OutboxRow, RunningInput, RunningTurn, WaitingInput, WorkStore } from '../store/work-store.ts'
import { noticeFor } from './deliveries.ts'
import type { FlowParts } from './flow-parts.ts'

export type RecoveryParts = Pick<
  FlowParts,
  'isAlive' | 'clock' | 'log' | 'sessions' | 'transcripts' | 'agentOf'
>

/** A message on which the agent began to work this often, without an end, is given up, and its sender told. */
const mostTries = 2
/** Platforms repeat what they think was lost for days; as long the keys are kept. */
export const keepKeysMs = 7 * 86_400_000

/** Takes up what an earlier process left: turns that were cut off, inputs that waited, replies that were not sent. */
export async function recoverWork(
  converse: { resume(inputs: WaitingInput[]): Promise<void>; deliverer: { start(): Promise<void> } },
  work: WorkStore,
  parts: RecoveryParts,
): Promise<void> {
  // Where several processes share the work, what is left is found and divided all the time (shared-lanes.ts).
  if (work.share) return converse.deliverer.start()
  for (const turn of await work.lanes.running()) {
    if (!parts.isAlive(turn.owner)) await releaseTurn(turn, work, parts)
  }
  await converse.resume(await work.inbox.waiting())
  await converse.deliverer.start()
}

/** Forgets what is over, here and wherever else something is kept. */
export async function tidyWork(
  work: WorkStore,
  clock: Clock,
  elsewhere?: () => Promise<void>,
): Promise<void> {
  const before = clock.now() - keepKeysMs
  await work.inbox.forget(before)
  await work.outbox.forget(before)
  await elsewhere?.()
}

/** Resolves to what is to be said about it. */
export async function releaseTurn(
  turn: RunningTurn,
  work: WorkStore,
  parts: RecoveryParts,
): Promise<OutboxRow[]> {
  const tooOften = turn.inputs.filter(({ asked }) => asked >= mostTries)
  parts.log.warn(
    { event: 'turn-lost', lane: turn.lane, turnId: turn.id },
    'The process ended during a turn; its messages wait again.',
  )
  // While the turn still counts as running, so that nobody goes on with what came later before this is said.
  const notices = tooOften.length > 0 ? await giveUp(turn.lane, tooOften, work, parts) : []
  await work.lanes.release(turn.id)
  return notices
}

async function giveUp(
  lane: string,
  inputs: RunningInput[],
  work: WorkStore,
  parts: RecoveryParts,
): Promise<OutboxRow[]> {
  for (const input of inputs) await recordQuestion(input, parts)
  const lastAnswer = (await work.lanes.history({ lane, limit: 100 })).find(({ end }) => end !== 'lost')
  const notices = inputs
    .filter((input) => input.wish === undefined || input.wish.deliver)
    .map((input) => interruptionNotice(input, lastAnswer?.id ?? 'none', parts.clock.now()))
  return work.inbox.end(
    inputs.map((input) => input.id),
    'given-up',
    notices,
  )
}

/** Once for each chat until something is answered there: the outbox takes a second one with the same key for the same. */
function interruptionNotice({ message, lane }: WaitingInput, lastAnswer: string, now: number): Delivery {
  const { channel, accountId, to, threadId = '' } = message.address
  const said = JSON.stringify(message.text.slice(0, 80))
  const text =
    `I was interrupted twice while I worked on ${said}. ` +
    'Please send it again, and any later message that gets no answer.'
  const key = ['interrupted', channel, accountId, to, threadId, lastAnswer].join(':')
  return noticeFor(message.address, text, key, now, lane)
}

/** The question was written before the agent was asked. After a power cut it may be in the inbox only. */
async function recordQuestion(input: WaitingInput, parts: RecoveryParts): Promise<void> {
  const { agentId, lane, message } = input
  const entry = await parts.sessions(agentId).get(lane)
  // Somebody deleted the session meanwhile, and with it what was said there.
  if (!entry) return
  const transcripts = parts.transcripts(agentId)
  const ref = transcriptOf({ key: lane, entry })
  if (!(await isRecorded(message.text, transcripts, ref))) {
    const content = [{ type: 'text' as const, text: message.text }]
    const question = { role: 'user' as const, content, timestamp: input.acceptedAt }
    const { workspace: cwd } = parts.agentOf(agentId)
    await transcripts.append(ref, [{ type: 'message', message: question }], { cwd, key: lane })
  }
  await transcripts.sync(ref)
}

async function isRecorded(text: string, transcripts: TranscriptStore, ref: TranscriptRef): Promise<boolean> {
  if (!(await transcripts.exists(ref))) return false
  const quoted = JSON.stringify(text).slice(1, -1)
  for await (const entry of transcripts.read(ref)) {
    if (entry.type === 'message' && entry.message.role === 'user' && JSON.stringify(entry).includes(quoted))
      return true
  }
  return false
}
