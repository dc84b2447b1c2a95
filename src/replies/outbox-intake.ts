// Passes rows of the outbox to the sender, each once and in the order of the outbox. Rows of this process are added here when
// they are stored; rows of other processes are found by polling.
import type { Outbox, OutboxRow } from '../store/work-store.ts'

/** How many finished rows are remembered: a row may be added after polling found it and it was sent. */
const maxDone = 10_000

export class OutboxIntake {
  #outbox: Pick<Outbox, 'take'>
  #pass: (row: OutboxRow) => void
  /** Rows that were passed on and are not finished, and the last finished ones. */
  #open = new Set<number>()
  #done = new Set<number>()
  #lastTaken = 0
  #taking: Promise<void> = Promise.resolve()
  /** How many takes run or wait. */
  #takes = 0
  /** A take failed. If only its answer was lost, this process owns rows that it does not know. */
  #isInDoubt = false
  /** Rows that were added while a take may still return earlier ones. */
  #held: OutboxRow[] = []

  constructor(outbox: Pick<Outbox, 'take'>, pass: (row: OutboxRow) => void) {
    this.#outbox = outbox
    this.#pass = pass
  }

  get isTaking(): boolean {
    return this.#takes > 0
  }

  /** Takes all rows that were stored before this time. */
  takeAll(before = Infinity): Promise<void> {
    return this.#take(() => undefined, before)
  }

  /** Takes ownership of rows that other processes have stored since the last take. */
  takeMore(): Promise<void> {
    return this.#take(() => this.#lastTaken)
  }

  /**
   * Adds rows that this process has stored. They wait for a pending take, which may return earlier rows of their lane. A row
   * that is marked as being sent is the first of its lane and need not wait.
   */
  add(rows: readonly OutboxRow[]): void {
    const isComplete = this.#takes === 0 && !this.#isInDoubt
    if (isComplete || rows.every((row) => row.isMarked)) this.#passOn(rows)
    else this.#held.push(...rows)
  }

  /** The row is sent or dead and will not come again. */
  done({ seq }: OutboxRow): void {
    this.#open.delete(seq)
    this.#done.add(seq)
    if (this.#done.size <= maxDone) return
    const [oldest] = this.#done
    this.#done.delete(oldest!)
  }

  /** The row belongs to another process; it may come back. */
  forget({ seq }: OutboxRow): void {
    this.#open.delete(seq)
  }

  /** All rows belong to other processes now. Resolves when no take is pending. */
  async forgetAll(): Promise<void> {
    await this.#taking.catch(() => {
      // The caller of `takeAll` or `takeMore` handles the error.
    })
    this.#held = []
    this.#open.clear()
  }

  /** Only one take runs at a time: the results of two could arrive in the wrong order. */
  #take(afterSeq: () => number | undefined, before = Infinity): Promise<void> {
    const take = (): Promise<void> => this.#takeOnce(afterSeq(), before)
    this.#takes++
    this.#taking = this.#taking.then(take, take)
    return this.#taking
  }

  async #takeOnce(afterSeq: number | undefined, before: number): Promise<void> {
    let taken: OutboxRow[]
    try {
      const found = await this.#outbox.take(afterSeq)
      taken = found.filter(({ updatedAt }) => updatedAt <= before)
      // In single-process mode take() can return rows before add() has reported them; yield once, so that all are sorted.
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
      if (this.#open.has(row.seq) || this.#done.has(row.seq)) continue
      this.#open.add(row.seq)
      this.#pass(row)
    }
  }
}
