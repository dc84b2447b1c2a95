// One process owns a running session. Others leave a request in the store; the owner does it and answers there. So
// `cc kill` works from any terminal, with or without a gateway. A machine has a desk too: what others ask of it.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { ErrorReport } from '../../domain/errors.ts'
import type { CodingParts } from '../coding-parts.ts'

/** What it resolves to is the answer. */
export type DeskAction = (desk: string, input: Record<string, unknown>) => Promise<unknown>
type Parts = Pick<CodingParts, 'store' | 'clock' | 'log'>

const lookMs = 200

/** Where a process looks for what others ask of its sessions, or of its machine. */
export class OwnerDesk {
  #parts: Parts
  #actions: Record<string, DeskAction>
  #mine = new Set<string>()
  #begun = new Set<string>()
  #cancel: (() => void) | undefined

  constructor(parts: Parts, actions: Record<string, DeskAction>) {
    this.#parts = parts
    this.#actions = actions
  }

  watch(desk: string): void {
    this.#mine.add(desk)
    this.#cancel ??= this.#parts.clock.after(lookMs, () => this.#look())
  }

  forget(desk: string): void {
    this.#mine.delete(desk)
  }

  close(): void {
    this.#cancel?.()
    this.#mine.clear()
  }

  async perform(desk: string, action: string, input: Record<string, unknown>): Promise<unknown> {
    const known = this.#actions[action]
    if (!known) throw new RockpoolError('input-invalid', `A coding session cannot be asked to ${action}.`)
    return known(desk, input)
  }

  #look(): void {
    this.#cancel = undefined
    for (const { id, codingId, action, input } of this.#parts.store.asked([...this.#mine])) {
      // That it was begun is on its way to the store.
      if (this.#begun.has(id)) continue
      this.#begun.add(id)
      this.#answer(id, () => this.perform(codingId, action, input))
        .catch((error: unknown) =>
          this.#parts.log.error(
            { event: 'owner-request-failed', action, error: String(error) },
            'Could not answer a request of another process.',
          ),
        )
        .finally(() => this.#begun.delete(id))
    }
    if (this.#mine.size > 0) this.#cancel = this.#parts.clock.after(lookMs, () => this.#look())
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

export interface Asking {
  desk: string
  action: string
  input: Record<string, unknown>
  withinMs: number
  /** Does whoever is to answer still live? */
  lives(): boolean | Promise<boolean>
  /** What to say when no answer came: whether the request was begun, or taken back. */
  late(wasTaken: boolean): RockpoolError
}

/** Resolves to the answer, and to nothing when whoever was asked died before it gave one. What was not begun in time is
 *  taken back: it never happens later. */
export async function askAt(parts: Parts, asking: Asking): Promise<{ value: unknown } | undefined> {
  const { store, clock } = parts
  const { desk: codingId, action, input } = asking
  const id = randomUUID()
  await store.ask({ id, codingId, action, input, askedAt: clock.now() })
  for (const until = clock.monotonic() + asking.withinMs; clock.monotonic() < until;) {
    const answer = store.answerTo(id) as Answer | undefined
    if (answer?.ok) return { value: answer.value }
    if (answer?.error) throw asThrown(answer.error)
    if (!(await asking.lives())) {
      await store.answerFirst(id, { withdrawn: true })
      return undefined
    }
    await sleep(lookMs / 2)
  }
  throw asking.late(!(await store.answerFirst(id, { withdrawn: true })))
}

/** Asks the owner of a session and waits for its answer. False when it died before it gave one. */
export async function askOwner(
  parts: Parts & Pick<CodingParts, 'ownerLives'>,
  session: CodingSession,
  action: string,
  input: Record<string, unknown>,
): Promise<boolean> {
  const { name, owner } = session
  const answer = await askAt(parts, {
    desk: session.id,
    action,
    input,
    withinMs: 15_000,
    lives: () => parts.ownerLives(session),
    late: () =>
      new RockpoolError('timed-out', `The process that runs ${name} does not answer.`, {
        hint: `It is process ${owner?.pid ?? 'unknown'} on ${owner?.host ?? 'an unknown machine'}.`,
      }),
  })
  return answer !== undefined
}

function asThrown({ code, message, hint }: ErrorReport): RockpoolError {
  return new RockpoolError(code, message, { hint })
}
