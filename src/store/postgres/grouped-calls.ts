// Calls of one statement that are made at the same moment share it: one round trip and one commit for all of them. The
// statement takes an array for each value, and returns in the column `place` which call a row belongs to.
import { isConflict, isConnectionLoss } from './failure.ts'

/** `order`: a group runs its calls in this order. Calls that lock rows pass the name of what they lock, so that the groups of
 *  several machines lock in the same order. */
export type GroupedCall<Row> = (values: unknown[], order?: string) => Promise<Row[]>

type RunGroup<Row> = (columns: unknown[][]) => Promise<Array<Row & { place: number }>>

interface Call<Row> {
  values: unknown[]
  order: string
  resolve: (rows: Row[]) => void
  reject: (error: unknown) => void
}

const largestGroup = 200

export class GroupedCalls<Row> {
  #run: RunGroup<Row>
  #waiting: Array<Call<Row>> = []
  #isRunning = false

  /** `run` gets the values of all calls, as one array for each value. */
  constructor(run: RunGroup<Row>) {
    this.#run = run
  }

  call(values: unknown[], order = ''): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ values, order, resolve, reject })
      if (!this.#isRunning) void this.#runAll()
    })
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true
    // One turn of the event loop: other calls of this moment join the group.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, largestGroup)
      // The sort is stable: calls with the same order stay as they came.
      await this.#runGroup(group.sort((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order))))
    }
    this.#isRunning = false
  }

  async #runGroup(group: Array<Call<Row>>): Promise<void> {
    try {
      const rows = await this.#run(group[0]!.values.map((_, n) => group.map(({ values }) => values[n])))
      const rowsOf = Map.groupBy(rows, ({ place }) => place)
      for (const [n, { resolve }] of group.entries()) resolve(rowsOf.get(n + 1) ?? [])
    } catch (error) {
      // Those that wait have waited for the same server.
      if (isConnectionLoss(error)) for (const { reject } of this.#waiting.splice(0)) reject(error)
      else if (group.length > 1 && !isConflict(error)) return this.#runEachAlone(group)
      for (const { reject } of group) reject(error)
    }
  }

  /** The server refused the group because of one of its calls: only that one must fail. */
  async #runEachAlone(group: Array<Call<Row>>): Promise<void> {
    const sequences = [...Map.groupBy(group, ({ order }) => order).values()]
    await Promise.all(
      sequences.map(async (calls) => {
        for (const call of calls) await this.#runGroup([call])
      }),
    )
  }
}

/** A statement that calls a function of sql/functions for each call of a group. `argumentTypes` are separated by spaces; the value
 *  for a type with `[]` is the text of an array. */
export function callEach(name: string, argumentTypes: string): string {
  const types = argumentTypes.split(' ')
  const isList = (type: string): boolean => type.endsWith('[]')
  const arrays = types.map((type, n) => `$${n + 1}::${isList(type) ? 'text' : type}[]`)
  const names = types.map((_, n) => `v${n}`)
  const values = types.map((type, n) => (isList(type) ? `v${n}::${type}` : `v${n}`))
  return `SELECT place, f.* FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS call (${names.join(', ')}, place),
    LATERAL ${name}(${values.join(', ')}) AS f`
}

/** Numbers as the text of an array. */
export function numberList(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`
}
