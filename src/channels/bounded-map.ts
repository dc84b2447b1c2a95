// A map of limited size: a new item removes the one that was set longest ago.

export class BoundedMap<T> {
  #items = new Map<string, T>()
  #max: number

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): T | undefined {
    return this.#items.get(key)
  }

  set(key: string, value: T): void {
    this.#items.delete(key)
    this.#items.set(key, value)
    const [oldest] = this.#items.keys()
    if (this.#items.size > this.#max && oldest !== undefined) this.#items.delete(oldest)
  }

  entries(): Array<[key: string, value: T]> {
    return [...this.#items]
  }
}
