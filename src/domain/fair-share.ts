// Yields to the event loop during long work: after a time slice, other tasks get a turn.

export class FairShare {
  readonly #ms: number
  #since = performance.now()

  constructor(ms: number) {
    this.#ms = ms
  }

  get isUsedUp(): boolean {
    return performance.now() - this.#since > this.#ms
  }

  async giveWay(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#since = performance.now()
  }
}
