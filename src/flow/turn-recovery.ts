// Recovery and cleanup: turns of dead processes are released and retried; old rows of the inbox and outbox are deleted.
import type { Clock } from '../domain/clock.ts'
import { isSameChat } from '../domain/address.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import type {
  Inbox,
  Input,
  OutboxRow,
  RunningInput,
  RunningTurn,
  WaitingInput,
  WorkStore,
} from '../store/work-store.ts'
import { noticeFor } from '../domain/reply.ts'
import type { FlowParts } from './flow-parts.ts'
import { entriesOf, markOf } from './questions.ts'
import type { TurnQueue } from './turn-queue.ts'

export type RecoveryParts = Pick<
  FlowParts,
  'self' | 'isAlive' | 'clock' | 'log' | 'sessions' | 'transcripts' | 'agentOf'
>

/** After this many interrupted tries a message is dropped, and its sender gets a notice. */
const maxTries = 2
/** Platforms repeat messages that they believe lost for days; the keys are kept as long. */
export const keepKeysMs = 7 * 86_400_000

interface Resumed {
  queue: Pick<TurnQueue, 'isBusy'>
  resume(inputs: WaitingInput[]): void
  deliverer: { start(before?: number): Promise<void> }
}

/** Continues work that is stored and in no queue: interrupted turns, waiting inputs, and replies that were stored before a time. */
export async function recoverWork(
  converse: Resumed,
  work: WorkStore,
  parts: RecoveryParts,
  before?: number,
): Promise<void> {
  // Where processes share the lanes, shared-lanes.ts does this all the time.
  if (work.share) return converse.deliverer.start()
  for (const turn of await work.lanes.running()) {
    const isRunning = turn.owner === parts.self ? converse.queue.isBusy(turn.lane) : parts.isAlive(turn.owner)
    if (!isRunning) await releaseTurn(turn, work, parts)
  }
  converse.resume(await work.inbox.waiting())
  await converse.deliverer.start(before)
}

/** Deletes old rows of finished work, here and `elsewhere`. */
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

/** Releases a lost turn, so that its inputs wait again. Resolves to notices for inputs that were dropped. */
export async function releaseTurn(
  turn: RunningTurn,
  work: WorkStore,
  parts: RecoveryParts,
): Promise<OutboxRow[]> {
  const tooOften = turn.inputs.filter(({ asked }) => asked >= maxTries)
  parts.log.warn(
    { event: 'turn-lost', lane: turn.lane, turnId: turn.id },
    'A turn was lost: its process ended, or could not store how it ended. Its messages wait again.',
  )
  // While the turn is still marked as running, so that no later input starts before the notice is stored.
  const notices = tooOften.length > 0 ? await dropInputs(turn.lane, tooOften, work, parts) : []
  await work.lanes.release(turn.id)
  return notices
}

async function dropInputs(
  lane: string,
  inputs: RunningInput[],
  work: WorkStore,
  parts: RecoveryParts,
): Promise<OutboxRow[]> {
  for (const input of inputs) await recordMessage(input, parts)
  const lastAnswer = (await work.lanes.history({ lane, limit: 100 })).find(({ end }) => end !== 'lost')
  const notices = inputs
    .filter((input) => input.turnOptions === undefined || input.turnOptions.deliver)
    .map((input) => interruptionNotice(input, lastAnswer?.id ?? 'none', parts.clock.now()))
  return work.inbox.end(
    inputs.map((input) => input.id),
    'given-up',
    notices,
  )
}

/** One notice for each chat until something is answered there: the outbox ignores a second one with the same key. */
function interruptionNotice({ id, message, lane }: WaitingInput, lastAnswer: string, now: number): Delivery {
  const { channel, accountId, to, threadId = '' } = message.address
  const said = JSON.stringify(message.text.slice(0, 80))
  const text =
    `I was interrupted twice while I worked on ${said}. ` +
    'Please send it again, and any later message that gets no answer, or let me do that.'
  const key = ['interrupted', channel, accountId, to, threadId, lastAnswer].join(':')
  const notice = noticeFor(message.address, text, key, now, lane)
  return { ...notice, reply: { text, buttons: [[{ label: 'Try again', data: `ask:${id}` }]] } }
}

/** The inputs that the pressed button asks to try again: the one of the notice and those that were given up after it, by the
 *  person who presses, in this chat. Each can be tried again once. Undefined if it is another button. */
export async function inputsToAskAgain(
  { button, address, sender }: Message,
  inbox: Pick<Inbox, 'givenUp'>,
): Promise<Input[] | undefined> {
  const first = /^ask:(\d{1,15})$/.exec(button?.data ?? '')?.[1]
  if (first === undefined) return undefined
  const inputs = await inbox.givenUp(Number(first))
  return inputs
    .filter(({ message }) => isSameChat(message.address, address) && message.sender.id === sender.id)
    .map(({ id, acceptedAt: _at, lostTurns: _lost, ...input }) => ({ ...input, key: `asked-again:${id}` }))
}

/** Normally the transcript has the message already; after a power failure it may be in the inbox only. */
async function recordMessage(input: WaitingInput, parts: RecoveryParts): Promise<void> {
  const { agentId, lane, message } = input
  const entry = await parts.sessions(agentId).get(lane)
  // The session was deleted since.
  if (!entry) return
  const transcripts = parts.transcripts(agentId)
  const ref = transcriptOf({ key: lane, entry })
  if ((await entriesOf([input], transcripts, ref)).size === 0) {
    const content = [{ type: 'text' as const, text: message.text }]
    const user = { role: 'user' as const, inputs: [markOf(input)], content, timestamp: input.acceptedAt }
    const { workspace: cwd } = parts.agentOf(agentId)
    await transcripts.append(ref, [{ type: 'message', message: user }], { cwd, key: lane })
  }
  await transcripts.sync(ref)
}
