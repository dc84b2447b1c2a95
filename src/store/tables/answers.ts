// A request with an idempotency key is performed once. Its answer is kept for a day, so that a client that lost the answer
// can ask again; the same key with another request is refused.
import { parseStored } from '../../domain/json.ts'
import { createHash } from 'node:crypto'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { get, run, type SqlDatabase, type Transaction } from './sql-database.ts'

interface Request {
  /** The caller. Equal keys of different callers are different requests. */
  who: string
  operation: string
  key: string
  input: unknown
}

interface StoredAnswer {
  input_hash: string
  /** Null while the request is running, or when the process died while it ran. */
  output: string | null
}

/** Replaces an answer that contained a session that was purged. */
export const purgedAnswer = '"purged"'

const keptMs = 24 * 60 * 60 * 1000
const sameRequest = 'who = ? AND operation = ? AND key = ?'

export interface Answers {
  once(request: Request, work: () => Promise<unknown>): Promise<unknown>
}

export function answersIn(sql: SqlDatabase, clock: Clock): Answers {
  return { once: (request, work) => answerOnce(sql, clock, request, work) }
}

async function answerOnce(
  sql: SqlDatabase,
  clock: Clock,
  request: Request,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const { who, operation, key, input } = request
  const hash = createHash('sha256').update(stableJson(input)).digest('base64url')
  const earlier = await sql.transaction(() => claim(request, hash, clock.now()))
  if (earlier) return earlierAnswer(earlier, request, hash)
  try {
    const output = await work()
    const stored = JSON.stringify(output ?? null)
    await sql.repeat(`UPDATE answer SET output = ? WHERE ${sameRequest}`, [stored, who, operation, key])
    return output
  } catch (error) {
    // A failed request may be tried again under its key.
    await sql.repeat(`DELETE FROM answer WHERE ${sameRequest}`, [who, operation, key])
    throw error
  }
}

/** Undefined: the request is new, and now claimed. */
function* claim(
  { who, operation, key }: Request,
  hash: string,
  now: number,
): Transaction<StoredAnswer | undefined> {
  yield* run('DELETE FROM answer WHERE at < ?', [now - keptMs])
  const added = yield* run(
    'INSERT INTO answer (who, operation, key, input_hash, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    [who, operation, key, hash, now],
  )
  if (added > 0) return undefined
  return yield* get(`SELECT input_hash, output FROM answer WHERE ${sameRequest}`, [who, operation, key])
}

function earlierAnswer(earlier: StoredAnswer, request: Request, hash: string): unknown {
  const key = JSON.stringify(request.key)
  if (earlier.input_hash !== hash) {
    throw new RockpoolError('conflict', `idempotencyKey ${key} was used for another ${request.operation}.`, {
      hint: 'Use a new key for a new request.',
    })
  }
  if (earlier.output === purgedAnswer) {
    throw new RockpoolError('not-found', `${request.operation} was done, and its session was purged since.`, {
      hint: 'Use a new key for a new request.',
    })
  }
  if (earlier.output !== null) return parseStored(earlier.output)
  throw new RockpoolError('busy', `${request.operation} with idempotencyKey ${key} is still being done.`, {
    hint: 'Ask again in a moment with the same key. If Rockpool was restarted meanwhile, look whether it was done and use a new key.',
  })
}

/** Equal values give the same text; the order of fields does not matter. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
