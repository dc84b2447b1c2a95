// What the tables that both databases have must keep: who may talk, which message belongs to which session, answers to
// repeated requests. A database's own test calls this with a way to open it.
import { expect, test } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import { answersIn } from '../../src/store/tables/answers.ts'
import type { People } from '../../src/store/tables/pairing.ts'
import { replyMapIn, sentKeptMs } from '../../src/store/tables/reply-map.ts'
import type { SqlDatabase } from '../../src/store/tables/sql-database.ts'

export interface Tables {
  sql: SqlDatabase
  people: People
  clock: Clock
  /** Moves the clock. */
  at: (now: number) => void
}

const start = 1_000_000
const hour = 3_600_000

export function tablesContract(open: () => Promise<Tables>): void {
  pairingContract(open)

  test('every message of a reply leads back to its session, for half a year', async () => {
    const replies = replyMapIn((await open()).sql)
    const address = { channel: 'telegram', accountId: 'default', to: '501' }
    const sent = { agentId: 'main', sessionKey: 'agent:main:main', sessionId: 's-1', entryId: 'e', sentAt: 5 }
    await replies.record(address, ['7', '8'], { ...sent, sessionId: 'replaced' })
    await replies.record(address, ['7', '8'], sent)
    await replies.record(address, [], sent)
    expect([await replies.find(address, '7'), await replies.find(address, '8')]).toEqual([sent, sent])
    expect(await replies.find({ ...address, to: '502' }, '7')).toBeUndefined()
    expect(await replies.find({ ...address, accountId: 'work' }, '7')).toBeUndefined()
    await replies.forget(sent.sentAt + sentKeptMs)
    expect(await replies.find(address, '7')).toEqual(sent)
    await replies.forget(sent.sentAt + sentKeptMs + 1)
    expect(await replies.find(address, '7')).toBeUndefined()
  })

  test('a request is performed once, and its answer is repeated for a day', async () => {
    const { sql, clock, at } = await open()
    const answers = answersIn(sql, clock)
    let times = 0
    const ask = (input: unknown, key = 'k'): Promise<unknown> =>
      answers.once({ who: 'me', operation: 'do', key, input }, async () => ({ times: ++times }))
    expect(await ask({ a: 1, b: 2 })).toEqual({ times: 1 })
    expect(await ask({ b: 2, a: 1 })).toEqual({ times: 1 })
    await expect(ask({ a: 2 })).rejects.toMatchObject({ code: 'conflict' })
    expect(await ask({ a: 2 }, 'another')).toEqual({ times: 2 })
    at(start + 25 * hour)
    expect(await ask({ a: 1, b: 2 })).toEqual({ times: 3 })
  })

  test('of requests at the same time one is performed; one that failed may be repeated', async () => {
    const { sql, clock } = await open()
    const answers = answersIn(sql, clock)
    const request = { who: 'me', operation: 'do', key: 'k', input: {} }
    const failing = Promise.allSettled(
      Array.from({ length: 3 }, () => answers.once(request, async () => Promise.reject(new Error('failed')))),
    )
    const reasons = (await failing).map((outcome) => String((outcome as PromiseRejectedResult).reason))
    expect(reasons.filter((reason) => reason.includes('failed'))).not.toEqual([])
    expect(await answers.once(request, async () => 'done')).toBe('done')
  })
}

function pairingContract(open: () => Promise<Tables>): void {
  const person = (senderId: string, accountId = 'default') => ({ channel: 'telegram', accountId, senderId })
  const opened = async () => {
    const tables = await open()
    const { people } = tables
    await people.ready()
    const codeOf = async (senderId: string, accountId?: string): Promise<string> => {
      const answer = await people.request(person(senderId, accountId))
      return answer.kind === 'new' ? answer.code : answer.kind
    }
    return { ...tables, codeOf }
  }

  test('a stranger gets one code of eight clear characters, however often they ask', async () => {
    const { people, codeOf } = await opened()
    expect(await codeOf('1')).toMatch(/^[A-HJ-NP-Z2-9]{8}$/)
    expect(await codeOf('1')).toBe('known')
    expect(await people.pending()).toHaveLength(1)
  })

  test('three wait on one account and no more, also when many ask at once', async () => {
    const { people, codeOf } = await opened()
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, n) => people.request(person(String(n)))),
    )
    expect(answers.filter((answer) => answer.kind === 'new')).toHaveLength(3)
    expect(await people.pending()).toHaveLength(3)
    expect(await codeOf('x', 'work')).toHaveLength(8)
  })

  test('a code is valid for an hour', async () => {
    const { people, codeOf, at } = await opened()
    const code = await codeOf('1')
    at(start + hour)
    await expect(people.approve(code, { mayMakeOwner: true })).rejects.toThrow(/No pairing request/)
    expect(await people.pending()).toEqual([])
    expect(await codeOf('1')).not.toBe(code)
  })

  test('the first person approved on the command line becomes the owner; later ones do not', async () => {
    const { people, codeOf } = await opened()
    const first = await people.approve((await codeOf('1')).toLowerCase(), { mayMakeOwner: true })
    const second = await people.approve(await codeOf('2'), { mayMakeOwner: true })
    expect([first.owner, second.owner]).toEqual([true, false])
    expect(people.find(person('1'))).toMatchObject({ owner: true })
    expect(people.find(person('1', 'work'))).toBeUndefined()
    expect(
      people
        .known()
        .map(({ senderId }) => senderId)
        .sort(),
    ).toEqual(['1', '2'])
    expect(await people.request(person('1'))).toEqual({ kind: 'paired' })
    expect([await people.remove(person('1')), await people.remove(person('1'))]).toEqual([true, false])
    expect(people.find(person('1'))).toBeUndefined()
  })

  test.each(['a configured owner', 'the approval of a guest'])(
    'after %s the next person is an owner only by name',
    async (first) => {
      const { people, codeOf } = await opened()
      if (first === 'a configured owner') await people.noteConfiguredOwner()
      else await people.remove(await people.approve(await codeOf('1'), { mayMakeOwner: false }))
      expect(await people.firstOwns()).toBe(false)
      expect(await people.approve(await codeOf('2'), { mayMakeOwner: true })).toMatchObject({ owner: false })
      const named = { mayMakeOwner: false, asOwner: true }
      expect(await people.approve(await codeOf('3'), named)).toMatchObject({ owner: true })
      await people.noteConfiguredOwner()
    },
  )

  test('the next person is an owner only by name, also after the first owner was removed', async () => {
    const { people, codeOf } = await opened()
    expect(await people.firstOwns()).toBe(true)
    const first = await people.approve(await codeOf('1'), { mayMakeOwner: true })
    await people.remove(first)
    expect(await people.firstOwns()).toBe(false)
    const second = await people.approve(await codeOf('2'), { mayMakeOwner: true })
    const third = await people.approve(await codeOf('3'), { mayMakeOwner: false, asOwner: true })
    expect([first, second, third].map(({ owner }) => owner)).toEqual([true, false, true])
  })

  test('three strangers keep their places for ten minutes; then a newer one replaces the oldest', async () => {
    const { people, at, codeOf } = await opened()
    for (const minute of [1, 2, 3]) {
      at(start + minute * 60_000)
      await codeOf(String(minute))
    }
    expect(await people.request(person('4'))).toEqual({ kind: 'full' })
    const [full] = await people.full()
    at(full!.until)
    expect(await people.full()).toEqual([])
    await codeOf('4')
    expect((await people.pending()).map(({ senderId }) => senderId).sort()).toEqual(['2', '3', '4'])
  })

  test('a code is used once, and a denied code cannot be approved', async () => {
    const { people, codeOf } = await opened()
    const code = await codeOf('1')
    await people.approve(code, { mayMakeOwner: true })
    await expect(people.approve(code, { mayMakeOwner: true })).rejects.toThrow(/No pairing request/)
    const other = await codeOf('2')
    expect(await people.deny(other)).toMatchObject({ senderId: '2', code: other })
    await expect(people.approve(other, { mayMakeOwner: true })).rejects.toThrow()
    expect(people.find(person('2'))).toBeUndefined()
  })
}
