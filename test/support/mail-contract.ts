// What the tables of mail must keep in both databases. A database's own test calls this with a way to open it.
import { expect, test } from 'vitest'
import type { NewMail } from '../../src/domain/mail.ts'
import { MailStore } from '../../src/store/tables/mail.ts'
import type { SqlDatabase } from '../../src/store/tables/sql-database.ts'

let made = 0
const limits = { maxWaiting: 100 }

export function newMail(more: Partial<NewMail & { id: string }> = {}): NewMail & { id: string } {
  const names = { senderName: 'one', recipientName: 'two' }
  const rest = { body: 'hello', giver: { mayApprove: false }, resume: false, depth: 0, expiresAt: 10_000 }
  return { id: `m-${++made}`, sender: 'session:a', recipient: `session:b${made}`, ...names, ...rest, ...more }
}

export function mailContract(open: () => Promise<SqlDatabase>): void {
  const opened = async (): Promise<MailStore> => new MailStore(await open())

  test('a message that is sent again under its key is one message; another text under the key is refused', async () => {
    const store = await opened()
    const mail = newMail()
    const first = await store.accept(mail, 1, limits, 'k')
    const both = await Promise.all([
      store.accept({ ...mail, id: 'other' }, 2, limits, 'k'),
      store.accept({ ...mail, id: 'third' }, 3, limits, 'k'),
    ])
    expect(both).toEqual([first, first])
    expect(first).toMatchObject({ state: 'accepted', acceptedAt: 1, repeats: 0, resume: false })
    await expect(store.accept({ ...mail, body: 'x' }, 4, limits, 'k')).rejects.toMatchObject({
      code: 'conflict',
    })
    await store.accept({ ...newMail({ sender: 'session:c' }), body: 'x' }, 4, limits, 'k')
  })

  test('of two processes one gets a message; the receipt has the times of each step', async () => {
    const store = await opened()
    const { id, recipient } = await store.accept(newMail(), 1, limits)
    const taken = await Promise.all([store.take([id], 'p1'), store.take([id], 'p2')])
    expect(taken.flat()).toHaveLength(1)
    expect(await store.waiting([recipient], 9)).toEqual([])
    await store.delivered([id], 's-1', 5)
    expect(await store.unread('s-1')).toMatchObject([
      { id, state: 'delivered', deliveredAt: 5, deliveredTo: 's-1' },
    ])
    await store.read([id], 7)
    expect(await store.find(id)).toMatchObject([
      { state: 'read', acceptedAt: 1, deliveredAt: 5, readAt: 7, repeats: 0 },
    ])
    expect(await store.redeliverUnread('s-1')).toBe(0)
  })

  test('what a dead process held, or a session did not read, is delivered again and marked', async () => {
    const store = await opened()
    const { id, recipient } = await store.accept(newMail(), 1, limits)
    await store.take([id], 'p1')
    expect((await store.held()).filter((row) => row.id === id)).toEqual([{ id, holder: 'p1' }])
    await store.release([id], 'another')
    expect(await store.waiting([recipient], 9)).toEqual([])
    await store.release([id], 'p1')
    expect(await store.waiting([recipient], 9)).toMatchObject([{ id, repeats: 1 }])
    await store.take([id], 'p2')
    await store.delivered([id], 's-2', 5)
    expect(await store.withUnread()).toContain('s-2')
    expect(await store.redeliverUnread('s-2')).toBe(1)
    expect(await store.waiting([recipient], 9)).toMatchObject([{ id, repeats: 2 }])
    expect(await store.recipients()).toContainEqual({ recipient, resume: false })
    await store.take([id], 'p3')
    await store.delivered([id], 's-3', 6)
    await store.redeliver([id])
    expect(await store.waiting([recipient], 9)).toMatchObject([{ id, repeats: 3 }])
  })

  test('a claim that ends without a delivery leaves no mark', async () => {
    const store = await opened()
    const { id, recipient } = await store.accept(newMail(), 1, limits)
    await store.take([id], 'p1')
    await store.putBack([id], 'p1')
    expect(await store.waiting([recipient], 9)).toMatchObject([{ id, repeats: 0 }])
    // A process that was dead for the others does not end the claim of the next one.
    await store.take([id], 'p2')
    await store.putBack([id], 'p1')
    expect(await store.held()).toContainEqual({ id, holder: 'p2' })
  })

  test('a message expires unless it is being delivered', async () => {
    const store = await opened()
    const held = await store.accept(newMail({ expiresAt: 50 }), 1, limits)
    const waiting = await store.accept(newMail({ expiresAt: 50 }), 1, limits)
    await store.take([held.id], 'p')
    await store.expire(49)
    expect(await store.find(waiting.id)).toMatchObject([{ state: 'accepted' }])
    await store.expire(50)
    expect(await store.find(waiting.id)).toMatchObject([{ state: 'expired', expiredAt: 50 }])
    expect(await store.find(held.id)).toMatchObject([{ state: 'accepted' }])
    await store.delivered([held.id], 's', 51)
    expect(await store.find(held.id)).toMatchObject([{ state: 'delivered' }])
  })

  test('a sender has a limit for a minute, and a recipient for what waits', async () => {
    const store = await opened()
    const sender = `session:flood-${++made}`
    const send = (now: number, recipient?: string) =>
      store.accept(newMail({ sender, ...(recipient ? { recipient } : {}) }), now, {
        perMinute: 3,
        maxWaiting: 2,
      })
    for (const now of [1, 2, 3]) await send(now)
    await expect(send(4)).rejects.toMatchObject({ code: 'rate-limited' })
    for (const now of [70_000, 70_001]) await send(now, 'session:full')
    await expect(send(70_002, 'session:full')).rejects.toMatchObject({ code: 'rate-limited' })
  })

  test('sessions keep the root of their first start, and a process tells which session it had before', async () => {
    const store = await opened()
    const at = { root: 'r', machine: 'm', pid: ++made, startedAt: 1 }
    await store.sessionStarted({ session: `s-${made}`, ...at })
    await store.sessionStarted({ session: `t-${made}`, ...at, root: 'r2', startedAt: 2 })
    await store.sessionEnded(`s-${made}`, 3)
    await store.sessionStarted({ session: `s-${made}`, ...at, root: 'other', machine: 'm2', startedAt: 4 })
    expect(await store.session(`s-${made}`)).toEqual({
      session: `s-${made}`,
      ...at,
      machine: 'm2',
      startedAt: 4,
      depth: 0,
    })
    expect(await store.lastOf('m', made, 'new')).toBe(`t-${made}`)
    await store.setDepth(`s-${made}`, 2)
    await store.setRoot(`s-${made}`, `r3-${made}`)
    expect(await store.lineage(`r3-${made}`)).toMatchObject([{ session: `s-${made}`, depth: 2 }])
  })

  test('wakes are counted by session and in all, and the owner decides who may wake', async () => {
    const store = await opened()
    const one = newMail()
    const ids = await Promise.all(
      [one, newMail({ recipient: one.recipient })].map(
        async (mail) => (await store.accept(mail, 1, limits)).id,
      ),
    )
    const before = await store.wakes(1_000_000)
    await store.woke(ids, 1_000_001)
    await store.woke(ids, 1_000_002)
    expect(await store.wakes(1_000_000, one.recipient)).toBe(1)
    expect(await store.wakes(1_000_000)).toBe(before + 1)
    expect(await store.wakePolicy('w')).toBeUndefined()
    await store.setWakePolicy('w', 'anyone')
    await store.setWakePolicy('w', 'never')
    expect(await store.wakePolicy('w')).toBe('never')
  })

  test('mail is listed by who has to do with it and by its state, and found by the end of its id', async () => {
    const store = await opened()
    const me = `session:me-${++made}`
    const sent = await store.accept(newMail({ sender: me }), 1, limits)
    const got = await store.accept(newMail({ recipient: me, id: `long-id-${made}-abcdef` }), 2, limits)
    expect((await store.list({ with: [me], limit: 9 })).map(({ id }) => id).toSorted()).toEqual([
      got.id,
      sent.id,
    ])
    expect(await store.list({ to: [me], states: ['accepted'], limit: 9 })).toEqual([got])
    expect(await store.list({ to: [me], states: ['read'], limit: 9 })).toEqual([])
    expect(await store.find(got.id.slice(-8))).toEqual([got])
  })
}
