// Requests between processes, through the store. One process owns a running session; others leave a request for it there, and
// the owner answers there. So `cc kill` works from any terminal, with or without a gateway. Machines get requests the same way.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { repeat } from '../../domain/async.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { ErrorReport } from '../../domain/errors.ts'
import type { CodingParts } from '../coding-parts.ts'

/** Resolves to the answer. `recipient` is the id of a session, or `machine:<name>`. */
export type RequestHandler = (recipient: string, input: Record<string, unknown>) => Promise<unknown>
type Parts = Pick<CodingParts, 'store' | 'clock' | 'log'>

const lookMs = 200

/** Looks for requests to the sessions of this process, or to its machine, and answers them. */
export class RequestListener {
  #parts: Parts
  #handlers: Record<string, RequestHandler>
  #recipients = new Set<string>()
  #started = new Set<string>()
  #stop: (() => void) | undefined

  constructor(parts: Parts, handlers: Record<string, RequestHandler>) {
    this.#parts = parts
    this.#handlers = handlers
  }

  add(recipient: string): void {
    this.#recipients.add(recipient)
    this.#stop ??= this.#start()
  }

  remove(recipient: string): void {
    this.#recipients.delete(recipient)
    if (this.#recipients.size === 0) this.close()
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#recipients.clear()
  }

  async perform(recipient: string, action: string, input: Record<string, unknown>): Promise<unknown> {
    const handler = this.#handlers[action]
    if (!handler) throw new RockpoolError('input-invalid', `A coding session cannot be asked to ${action}.`)
    return handler(recipient, input)
  }

  #start(): () => void {
    const { store, clock } = this.#parts
    const stopListening = store.onRequests(() => this.#look())
    const stopLooking = repeat(clock, lookMs, () => this.#look())
    return () => {
      stopListening()
      stopLooking()
    }
  }

  #look(): void {
    for (const { id, codingId, action, input } of this.#parts.store.asked([...this.#recipients])) {
      // The note that it was started is on its way to the store.
      if (this.#started.has(id)) continue
      this.#started.add(id)
      this.#answer(id, () => this.perform(codingId, action, input))
        .catch((error: unknown) =>
          this.#parts.log.error(
            { event: 'owner-request-failed', action, error: String(error) },
            'Could not answer a request of another process; that process waits until it times out.',
          ),
        )
        .finally(() => this.#started.delete(id))
    }
  }

  async #answer(id: string, work: () => Promise<unknown>): Promise<void> {
    const { store } = this.#parts
    if (!(await store.answerFirst(id, { taken: true }))) return
    try {
      const value = await work()
      await store.answer(id, { ok: true, value })
    } catch (error) {
      await store.answer(id, { error: asRockpoolError(error).report() })
    }
  }
}

interface Answer {
  taken?: true
  ok?: true
  value?: unknown
  error?: ErrorReport
}

interface OutgoingRequest {
  recipient: string
  action: string
  input: Record<string, unknown>
  withinMs: number
  /** Is the process that should answer alive? */
  isAlive(): boolean | Promise<boolean>
  /** The error when no answer came in time: the request was started, or was withdrawn before that. */
  late(wasStarted: boolean): RockpoolError
}

/** Resolves to the answer; undefined when the recipient died before it answered. A request that was not started in time is
 *  withdrawn and never happens later. */
export async function sendRequest(
  parts: Parts,
  request: OutgoingRequest,
): Promise<{ value: unknown } | undefined> {
  const { store, clock } = parts
  const { recipient: codingId, action, input } = request
  const id = randomUUID()
  let wake = (): void => {}
  const stopListening = store.onRequests(() => wake())
  try {
    await store.ask({ id, codingId, action, input, askedAt: clock.now() })
    for (const until = clock.monotonic() + request.withinMs; clock.monotonic() < until;) {
      const change = new Promise<void>((resolve) => (wake = resolve))
      const answer = resultOf(store.answerTo(id) as Answer | undefined)
      if (answer) return answer
      if (!(await request.isAlive())) {
        await store.answerFirst(id, { withdrawn: true })
        return undefined
      }
      await untilNextLook(change)
    }
    throw request.late(!(await store.answerFirst(id, { withdrawn: true })))
  } finally {
    stopListening()
  }
}

/** Undefined while the request is not answered. */
function resultOf(answer: Answer | undefined): { value: unknown } | undefined {
  if (answer?.error) {
    const { code, message, hint } = answer.error
    throw new RockpoolError(code, message, { hint })
  }
  return answer?.ok ? { value: answer.value } : undefined
}

/** In real time, and with a timer that keeps a short command alive. */
async function untilNextLook(change: Promise<void>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([change, sleep(lookMs / 2, undefined, timer)])
  timer.abort()
}

/** Asks the owner of a session and waits for its answer. False when the owner died before it answered. */
export async function requestOfOwner(
  parts: Parts & Pick<CodingParts, 'owners'>,
  session: CodingSession,
  action: string,
  input: Record<string, unknown>,
): Promise<boolean> {
  const { name, owner } = session
  const answer = await sendRequest(parts, {
    recipient: session.id,
    action,
    input,
    withinMs: 15_000,
    isAlive: () => parts.owners.ownerLives(session),
    late: () =>
      new RockpoolError('timed-out', `The process that runs ${name} does not answer.`, {
        hint: `It is process ${owner?.pid ?? 'unknown'} on ${owner?.host ?? 'an unknown machine'}.`,
      }),
  })
  return answer !== undefined
}
