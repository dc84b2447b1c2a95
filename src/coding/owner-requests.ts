// One process owns a running session. Others leave a request in the store; the owner does it and answers there. So
// `cc kill` works from any terminal, with or without a gateway.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CodingSession } from '../domain/coding.ts'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { ErrorReport } from '../domain/errors.ts'
import type { CodingParts } from './parts.ts'

type Action = (codingId: string, input: Record<string, unknown>) => Promise<void>
type Parts = Pick<CodingParts, 'store' | 'clock' | 'log'>

const lookMs = 200
const answerWithinMs = 15_000

/** Where a process looks for what others ask of its sessions. */
export class OwnerDesk {
  #parts: Parts
  #actions: Record<string, Action>
  #mine = new Set<string>()
  #cancel: (() => void) | undefined

  constructor(parts: Parts, actions: Record<string, Action>) {
    this.#parts = parts
    this.#actions = actions
  }

  watch(codingId: string): void {
    this.#mine.add(codingId)
    this.#cancel ??= this.#parts.clock.after(lookMs, () => this.#look())
  }

  forget(codingId: string): void {
    this.#mine.delete(codingId)
  }

  close(): void {
    this.#cancel?.()
    this.#mine.clear()
  }

  async perform(codingId: string, action: string, input: Record<string, unknown>): Promise<void> {
    const known = this.#actions[action]
    if (!known) throw new RockpoolError('input-invalid', `A coding session cannot be asked to ${action}.`)
    await known(codingId, input)
  }

  #look(): void {
    this.#cancel = undefined
    for (const request of this.#parts.store.asked([...this.#mine])) {
      void this.#answer(request.id, () => this.perform(request.codingId, request.action, request.input))
    }
    if (this.#mine.size > 0) this.#cancel = this.#parts.clock.after(lookMs, () => this.#look())
  }

  async #answer(id: string, work: () => Promise<void>): Promise<void> {
    await this.#parts.store.answer(id, { taken: true })
    try {
      await work()
      await this.#parts.store.answer(id, { ok: true })
    } catch (error) {
      await this.#parts.store.answer(id, { error: asRockpoolError(error).report() })
    }
  }
}

/** Asks the owner of a session and waits for its answer. False when it died before it gave one. */
export async function askOwner(
  parts: Parts & Pick<CodingParts, 'ownerLives'>,
  session: CodingSession,
  action: string,
  input: Record<string, unknown>,
): Promise<boolean> {
  const id = randomUUID()
  await parts.store.ask({ id, codingId: session.id, action, input, askedAt: parts.clock.now() })
  const until = parts.clock.monotonic() + answerWithinMs
  while (parts.clock.monotonic() < until) {
    const answer = parts.store.answerTo(id) as { ok?: true; error?: ErrorReport } | undefined
    if (answer?.ok) return true
    if (answer?.error)
      throw new RockpoolError(answer.error.code, answer.error.message, { hint: answer.error.hint })
    if (!parts.ownerLives(session)) return false
    await sleep(lookMs / 2)
  }
  throw new RockpoolError('timed-out', `The process that runs ${session.name} does not answer.`, {
    hint: `It is process ${session.owner?.pid ?? 'unknown'} on ${session.owner?.host ?? 'an unknown machine'}.`,
  })
}
