import { expect, test } from 'vitest'
import { RockpoolError } from '../../domain/errors.ts'
import { makeRedactor } from '../../domain/redact.ts'
import { StoreUnavailable } from '../store-unavailable.ts'
import { asFailure } from './failure.ts'
import { databaseUrl } from './open.ts'

const failures = [
  { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED 10.1.2.3:5432', isAway: true },
  { code: 'ENOTFOUND', message: 'getaddrinfo ENOTFOUND db.example', isAway: true },
  { code: '57P01', message: 'terminating connection due to administrator command', isAway: true },
  { message: 'Connection terminated unexpectedly', isAway: true },
  { code: '28P01', message: 'password authentication failed for user "violet"', isAway: false },
  { message: 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', isAway: false },
  { code: '3D000', message: 'database "notes" does not exist', isAway: false },
]

test.each(failures)(
  '"$message" says what is wrong, and neither where the database is nor who we are',
  (one) => {
    const failure = asFailure(Object.assign(new Error(one.message), one.code && { code: one.code }))
    expect(failure).toBeInstanceOf(one.isAway ? StoreUnavailable : RockpoolError)
    expect(failure instanceof StoreUnavailable).toBe(one.isAway)
    const { message, hint } = failure as RockpoolError
    expect(hint).toContain('ROCKPOOL_DATABASE_URL')
    expect(`${message} ${hint}`).not.toMatch(/10\.1\.2\.3|5432|db\.example|violet|notes/)
  },
)

test.each(['', 'localhost:5432', 'mysql://violet@db.example/notes'])(
  '%j is no address of a PostgreSQL',
  (url) => {
    const failure = (): string => databaseUrl({ databaseUrl: url })
    expect(failure).toThrow(/^ROCKPOOL_DATABASE_URL is not/)
    expect(failure).toThrow(
      expect.objectContaining({
        hint: expect.toSatisfy((hint: string) => makeRedactor().everything(hint) === hint),
      }),
    )
    expect(failure).not.toThrow(/violet|db\.example|notes/)
  },
)
