// A queue for each chat: tasks of one chat run one after another, chats do not wait for each other.

export class Lanes {
  #last = new Map<string, Promise<unknown>>()

  run<T>(lane: string, fn: () => Promise<T>): Promise<T> {
    const before = this.#last.get(lane) ?? Promise.resolve()
    const now = before.then(fn)
    // The next task waits for this one to settle, whether it succeeds or fails.
    const settled = now.catch(() => {})
    this.#last.set(lane, settled)
    void settled.then(() => this.#last.get(lane) === settled && this.#last.delete(lane))
    return now
  }

  /** Resolves when every queue is empty. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
