// The scroll position in a long list, and the heights of its items: measured if they were shown, otherwise estimated. At the
// end, the position stays at the end; after a link to an item, the item stays in view until the person scrolls; elsewhere the
// position stays on the same item, even if items above it are added or grow.
const guessPx = 96
const nearEndPx = 40
/** Part of the previous items stays visible. */
const aboveTargetPx = 80

export class Reader {
  top = 0
  height = 800
  isAtEnd = true
  /** There are more items after the last loaded one, or the end is no place to stay. */
  goesOn = false
  /** The items in the page. */
  first = 0
  last = 0
  #keys: readonly string[] = []
  #sizes = new Float64Array(0)
  #ends = new Float64Array(0)
  readonly #measured = new Map<string, number>()
  #cameFor: string | undefined

  /** Takes over a new list; `target` is the item to scroll to. */
  take(keys: readonly string[], target: string | undefined): void {
    if (keys !== this.#keys) {
      const came = this.#takeKeys(keys)
      this.#addUp()
      this.top = this.isAtEnd ? this.total - this.height : this.top + this.startOf(came)
    }
    if (target === undefined) return
    this.isAtEnd = false
    this.#cameFor = target
    this.top = this.startOf(keys.indexOf(target)) - aboveTargetPx
  }

  /** The items on the screen, and those within a margin. */
  look(aroundPx: number): void {
    this.first = this.#firstAfter(this.top - aroundPx)
    this.last = Math.min(this.#keys.length, this.#firstAfter(this.top + this.height + aroundPx) + 1)
  }

  /** Only scrolling up leaves the end: the list may have grown since it was rendered. */
  moved(box: { scrollTop: number; clientHeight: number; scrollHeight: number }): void {
    const wentUp = box.scrollTop < this.top - 1
    const isNearEnd = box.scrollHeight - box.scrollTop - box.clientHeight < nearEndPx
    this.top = box.scrollTop
    this.height = box.clientHeight
    this.isAtEnd = !this.goesOn && (isNearEnd || (this.isAtEnd && !wentUp))
  }

  release(): void {
    this.#cameFor = undefined
  }

  /** Takes over measured heights; returns how far the visible item has moved. */
  grew(heights: ReadonlyMap<string, number>): number {
    const came = this.#cameFor === undefined ? -1 : this.#keys.indexOf(this.#cameFor)
    const looksAt = came === -1 ? this.firstInSight() : came
    let shift = 0
    for (let place = this.first; place < this.last; place++) {
      const key = this.#keys[place]!
      const height = heights.get(key)
      if (height === undefined) continue
      if (place < looksAt) shift += height - this.#sizes[place]!
      this.#sizes[place] = height
      this.#measured.set(key, height)
    }
    this.#addUp()
    this.top += shift
    return shift
  }

  firstInSight(): number {
    return this.#firstAfter(this.top)
  }

  sizeOf(place: number): number {
    return this.#sizes[place] ?? 0
  }

  startOf(place: number): number {
    return this.#ends[place - 1] ?? 0
  }

  get total(): number {
    return this.#ends.at(-1) ?? 0
  }

  /** The number of items added at the beginning. The known heights of the others are kept. */
  #takeKeys(keys: readonly string[]): number {
    const known = this.#keys
    const came = Math.max(0, keys.indexOf(known[0] ?? ''))
    const sizes = new Float64Array(keys.length)
    const isSame = known.length > 0 && keys[came + known.length - 1] === known.at(-1)
    const guess = (from: number, to: number): void => {
      for (let i = from; i < to; i++) sizes[i] = this.#measured.get(keys[i]!) ?? guessPx
    }
    if (isSame) {
      guess(0, came)
      sizes.set(this.#sizes, came)
      guess(came + known.length, keys.length)
    } else guess(0, keys.length)
    this.#keys = keys
    this.#sizes = sizes
    return came
  }

  #addUp(): void {
    if (this.#ends.length !== this.#sizes.length) this.#ends = new Float64Array(this.#sizes.length)
    let end = 0
    for (let i = 0; i < this.#sizes.length; i++) this.#ends[i] = end += this.#sizes[i]!
  }

  /** The first item that ends after a position. */
  #firstAfter(position: number): number {
    let low = 0
    let high = this.#ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#ends[middle]! < position) low = middle + 1
      else high = middle
    }
    return low
  }
}
