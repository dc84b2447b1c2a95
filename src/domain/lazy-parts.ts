// Parts of the program that are made at their first use. They are closed in the opposite order.

interface Closable {
  close(): Promise<void>
}

/** Makes a value at the first call; later calls return the same one. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

export class LazyParts {
  #closing: Array<() => Promise<void>> = []

  /** Makes the part at the first call; later calls return the same one. */
  once<T>(make: () => T, close?: (part: T) => Promise<void>): () => T {
    return once(() => {
      const part = make()
      if (close) this.#closing.push(() => close(part))
      return part
    })
  }

  /** Like `once`, but closed after all other parts, although it may be made after them. */
  onceClosedLast<T>(make: () => T, close: (part: T) => Promise<void>): () => T {
    let made: { part: T } | undefined
    this.#closing.unshift(async () => made && close(made.part))
    return () => (made ??= { part: make() }).part
  }

  /** Like `once`, for a part that has a `close` method. */
  open<T extends Closable>(make: () => T): () => T {
    return this.once(make, (part) => part.close())
  }

  /** Like `open`, with one part for each key, for example for each agent. */
  openEach<T extends Closable>(make: (key: string) => T): (key: string) => T {
    const made = new Map<string, () => T>()
    return (key) => {
      const part = made.get(key) ?? this.open(() => make(key))
      made.set(key, part)
      return part()
    }
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close()
  }
}

/** An object whose properties are computed at their first read. */
export function lazily<T extends object>(make: { [Name in keyof T]-?: () => T[Name] }): T {
  const object = {} as T
  for (const name of Object.keys(make) as Array<keyof T>) {
    Object.defineProperty(object, name, { enumerable: true, get: once<T[keyof T]>(make[name]) })
  }
  return object
}
