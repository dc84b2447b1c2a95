// The rows of sessions that were read or written last. A turn reads its session and updates it a moment later: a row that still
// has its revision is not read a second time.

const mostRows = 500

export class RecentRows<Row extends { revision: number }> {
  #rows = new Map<string, Row>()

  get(key: string): Row | undefined {
    return this.#rows.get(key)
  }

  /** Only committed rows: after a rollback another row may get the same revision. */
  set(key: string, row: Row): void {
    this.#rows.delete(key)
    this.#rows.set(key, row)
    if (this.#rows.size <= mostRows) return
    const [oldest] = this.#rows.keys()
    this.#rows.delete(oldest!)
  }

  delete(key: string): void {
    this.#rows.delete(key)
  }

  clear(): void {
    this.#rows.clear()
  }
}
