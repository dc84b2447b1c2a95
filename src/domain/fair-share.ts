// Long work in slices: whoever has had his share of the process lets everybody else have a turn.

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
