// Passes rows of the outbox to the sender. Code that enqueues rows reports them here; other rows are found by polling, since
// other processes queue too. Each is passed on once, and in the order of the outbox, whichever answer of the store comes first.
import type { Outbox, OutboxRow } from '../store/work-store.ts'

/** How many finished rows are remembered: add() may report a row after it was already sent. */
const mostOver = 10_000

export class Arrivals {
  #outbox: Pick<Outbox, 'take'>
  #pass: (row: OutboxRow) => void
  /** What was passed on: rows that are still open, and those that were over last. */
  #open = new Set<number>()
  #over = new Set<number>()
  #lastTaken = 0
  #taking: Promise<void> = Promise.resolve()
  /** How many takes are under way or wait for their turn. */
  #takes = 0
  /** A take failed. If only its answer was lost, we own rows that we do not know of. */
  #isInDoubt = false
  /** Told of, while earlier ones may still be on their way to us. */
  #held: OutboxRow[] = []

  constructor(outbox: Pick<Outbox, 'take'>, pass: (row: OutboxRow) => void) {
    this.#outbox = outbox
    this.#pass = pass
  }

  get isTaking(): boolean {
    return this.#takes > 0
  }

  /** Everything that an earlier process left. */
  takeAll(): Promise<void> {
    return this.#take(() => undefined)
  }

  /** Rows that others have queued since we last looked. Our own do not count: theirs may be older. */
  takeMore(): Promise<void> {
    return this.#take(() => this.#lastTaken)
  }

  /**
   * Rows that somebody here has queued. The store gives them out after all that is before them in their lane; what it gave
   * to a take that has not answered yet is waited for. One that is marked as being sent is the first of its lane.
   */
  told(rows: readonly OutboxRow[]): void {
    const isSure = this.#takes === 0 && !this.#isInDoubt
    if (isSure || rows.every((row) => row.isMarked)) this.#passOn(rows)
    else this.#held.push(...rows)
  }

  /** It is sent or dead: it never comes again. */
  over({ seq }: OutboxRow): void {
    this.#open.delete(seq)
    this.#over.add(seq)
    const [oldest] = this.#over
    if (this.#over.size > mostOver) this.#over.delete(oldest!)
  }

  /** It is not ours any more; it may become so again. */
  forget({ seq }: OutboxRow): void {
    this.#open.delete(seq)
  }

  /** Nothing that was given to us so far is ours any more. Resolves when no answer about it can come. */
  async forgetAll(): Promise<void> {
    await this.#taking.catch(() => {
      // The caller got the error.
    })
    this.#held = []
    this.#open.clear()
  }

  /** Takes follow each other: their answers might come in another order. */
  #take(afterSeq: () => number | undefined): Promise<void> {
    const take = (): Promise<void> => this.#takeOnce(afterSeq())
    this.#takes++
    this.#taking = this.#taking.then(take, take)
    return this.#taking
  }

  async #takeOnce(afterSeq: number | undefined): Promise<void> {
    let taken: OutboxRow[]
    try {
      taken = await this.#outbox.take(afterSeq)
      // In single-process mode take() can return rows before add() has reported them; yield once so that they sort together.
      await new Promise((resolve) => setImmediate(resolve))
      this.#isInDoubt = false
    } catch (error) {
      this.#isInDoubt = true
      throw error
    } finally {
      this.#takes--
    }
    for (const { seq } of taken) this.#lastTaken = Math.max(this.#lastTaken, seq)
    this.#passOn([...taken, ...this.#held.splice(0)].sort((a, b) => a.seq - b.seq))
  }

  /** A row found by polling and then reported by add() is passed on once. */
  #passOn(rows: readonly OutboxRow[]): void {
    for (const row of rows) {
      if (this.#open.has(row.seq) || this.#over.has(row.seq)) continue
      this.#open.add(row.seq)
      this.#pass(row)
    }
  }
}
