// The times of all passages, in memory: an index of them in the file took 7 % of its space, and reading passages by
// their time from there takes longer. A passage keeps its time and its id, so only new ones are read.
import type { Queries } from '../store/sqlite/queries.ts'

export class PassageTimes {
  readonly #q: Queries
  #lastId = 0
  /** By the id of the passage; milliseconds since 1970. */
  #times = new Float64Array(1_024)
  #newestFirst = new Uint32Array(0)

  constructor(q: Queries) {
    this.#q = q
  }

  /** All passages. Deleted ones may be among them. */
  newestFirst(): Uint32Array {
    const added = this.#readNew()
    if (added.length > 0) this.#newestFirst = this.#merged(this.#newestFirst, this.#sort(added))
    return this.#newestFirst
  }

  /** Those of this time or later, the newest first. */
  since(at: number): Uint32Array {
    const all = this.newestFirst()
    let [from, to] = [0, all.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#times[all[middle]!]! >= at) from = middle + 1
      else to = middle
    }
    return all.subarray(0, from)
  }

  /** These passages, the newest first. */
  sorted(ids: number[]): number[] {
    this.newestFirst()
    return this.#sort(ids)
  }

  #readNew(): number[] {
    const { ids, times } = this.#q.get<{ ids: string; times: string }>(
      'SELECT json_group_array(id) AS ids, json_group_array(at) AS times FROM passage WHERE id > ?',
      this.#lastId,
    )!
    const added = JSON.parse(ids) as number[]
    if (added.length === 0) return added
    const at = JSON.parse(times) as number[]
    this.#lastId = added.reduce((last, id) => Math.max(last, id), this.#lastId)
    if (this.#lastId >= this.#times.length) {
      const grown = new Float64Array(2 * this.#lastId)
      grown.set(this.#times)
      this.#times = grown
    }
    added.forEach((id, i) => (this.#times[id] = at[i]!))
    return added
  }

  #sort(ids: number[]): number[] {
    return ids.sort((a, b) => this.#compare(a, b))
  }

  /** Below 0 if the first is newer. Of the same time, the one with the higher id is. */
  #compare(a: number, b: number): number {
    return this.#times[b]! - this.#times[a]! || b - a
  }

  #merged(a: Uint32Array, b: number[]): Uint32Array<ArrayBuffer> {
    const all = new Uint32Array(a.length + b.length)
    for (let i = 0, j = 0; i + j < all.length;) {
      const isFirst = j === b.length || (i < a.length && this.#compare(a[i]!, b[j]!) < 0)
      all[i + j] = isFirst ? a[i]! : b[j]!
      if (isFirst) i++
      else j++
    }
    return all
  }
}
