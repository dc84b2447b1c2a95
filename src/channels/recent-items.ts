// A bounded map that drops its oldest item first.

export class Recent<T> {
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

  delete(key: string): void {
    this.#items.delete(key)
  }
}
