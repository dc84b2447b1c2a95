// A request with an idempotency key is done once. Its answer is kept for a day, so that a client that lost the
// answer can ask again; the same key with another request is refused.
import { createHash } from 'node:crypto'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Database, Queries } from './database.ts'

export interface Request {
  /** Keys of different callers do not meet. */
  who: string
  operation: string
  key: string
  input: unknown
}

interface StoredAnswer {
  input_hash: string
  /** Null while the work is being done, or when the process died while doing it. */
  output: string | null
}

/** In the place of an answer that told of a session that was purged. */
export const purgedAnswer = '"purged"'

const keptMs = 24 * 60 * 60 * 1000

/** Where answers are kept. */
export interface Answers {
  /** Undefined: the request is new, and now claimed. */
  claim(request: Request, hash: string, now: number, forgetBefore: number): Promise<StoredAnswer | undefined>
  keep(request: Request, output: string): Promise<void>
  forget(request: Request): Promise<void>
}

export function sqliteAnswers(database: Database): Answers {
  return {
    claim: (request, hash, now, forgetBefore) =>
      database.write((q) => claim(q, request, hash, now, forgetBefore)),
    keep: (request, output) => database.write((q) => keep(q, request, output)),
    forget: (request) => database.write((q) => forget(q, request)),
  }
}

/** Does the work, or answers as it was answered before. */
export async function repeatable(
  answers: Answers,
  request: Request,
  clock: Clock,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const hash = createHash('sha256').update(stableJson(request.input)).digest('base64url')
  const now = clock.now()
  const earlier = await answers.claim(request, hash, now, now - keptMs)
  if (earlier) return answerAgain(earlier, request, hash)
  try {
    const output = await work()
    await answers.keep(request, JSON.stringify(output ?? null))
    return output
  } catch (error) {
    // A failed request may be tried again under its key.
    await answers.forget(request)
    throw error
  }
}

function answerAgain(earlier: StoredAnswer, request: Request, hash: string): unknown {
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
  if (earlier.output !== null) return JSON.parse(earlier.output)
  throw new RockpoolError('busy', `${request.operation} with idempotencyKey ${key} is still being done.`, {
    hint: 'Ask again in a moment with the same key. If Rockpool was restarted meanwhile, look whether it was done and use a new key.',
  })
}

function claim(
  q: Queries,
  request: Request,
  hash: string,
  now: number,
  forgetBefore: number,
): StoredAnswer | undefined {
  q.run('DELETE FROM answer WHERE at < ?', forgetBefore)
  const { who, operation, key } = request
  const where = 'FROM answer WHERE who = ? AND operation = ? AND key = ?'
  const earlier = q.get<StoredAnswer>(`SELECT input_hash, output ${where}`, who, operation, key)
  if (earlier) return earlier
  q.run(
    'INSERT INTO answer (who, operation, key, input_hash, at) VALUES (?, ?, ?, ?, ?)',
    who,
    operation,
    key,
    hash,
    now,
  )
  return undefined
}

function keep(q: Queries, { who, operation, key }: Request, output: string): void {
  q.run(
    'UPDATE answer SET output = ? WHERE who = ? AND operation = ? AND key = ?',
    output,
    who,
    operation,
    key,
  )
}

function forget(q: Queries, { who, operation, key }: Request): void {
  q.run('DELETE FROM answer WHERE who = ? AND operation = ? AND key = ?', who, operation, key)
}

/** The same text for the same value, whatever the order of its fields. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
