// Things that must happen one after another for each chat, while chats do not wait for each other.

export class Lanes {
  #last = new Map<string, Promise<unknown>>()

  run<T>(lane: string, fn: () => Promise<T>): Promise<T> {
    const before = this.#last.get(lane) ?? Promise.resolve()
    const now = before.then(fn)
    // Whoever comes next waits for the end of this one, however it ends.
    const settled = now.catch(() => {})
    this.#last.set(lane, settled)
    void settled.then(() => this.#last.get(lane) === settled && this.#last.delete(lane))
    return now
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
