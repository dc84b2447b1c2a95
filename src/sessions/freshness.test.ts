import { describe, expect, test } from 'vitest'
import { sessionConfig } from '../domain/config/session-settings.ts'
import { evaluateSessionFreshness, resetTypeOf, resolveResetPolicy } from './freshness.ts'
import type { SessionResetPolicy } from './freshness.ts'
import { lastTimeAtHour } from '../domain/local-time.ts'

const minute = 60_000
const hour = 60 * minute
const daily: SessionResetPolicy = { mode: 'daily', atHour: 4 }
const idle: SessionResetPolicy = { mode: 'idle', atHour: 4, idleMinutes: 60 }
const now = Date.UTC(2026, 2, 1, 12)
const timeZone = 'UTC'

describe('a session by its age', () => {
  test('without a policy it is fresh for ever', () => {
    expect(evaluateSessionFreshness({ updatedAt: 0, now, policy: { mode: 'none', atHour: 4 } })).toEqual({
      fresh: true,
    })
  })

  test('with the older call, updatedAt decides', () => {
    const boundary = Date.UTC(2026, 2, 1, 4)
    expect(evaluateSessionFreshness({ updatedAt: boundary - 1, now, policy: daily, timeZone })).toEqual({
      fresh: false,
      dailyResetAt: boundary,
      because: 'daily',
    })
    expect(evaluateSessionFreshness({ updatedAt: boundary, now, policy: daily, timeZone }).fresh).toBe(true)
    expect(evaluateSessionFreshness({ updatedAt: now - hour, now, policy: idle })).toEqual({
      fresh: true,
      idleExpiresAt: now,
    })
    expect(evaluateSessionFreshness({ updatedAt: now - hour - 1, now, policy: idle }).fresh).toBe(false)
  })

  test('a heartbeat that touched the row a moment ago keeps nothing alive', () => {
    const times = {
      updatedAt: now,
      sessionStartedAt: now - 48 * hour,
      lastInteractionAt: now - 2 * hour,
      now,
      timeZone,
    }
    expect(evaluateSessionFreshness({ ...times, policy: daily })).toMatchObject({
      fresh: false,
      because: 'daily',
    })
    expect(evaluateSessionFreshness({ ...times, policy: idle })).toMatchObject({
      fresh: false,
      because: 'idle',
    })
  })

  test('without a last interaction, the start stands for it', () => {
    const times = { updatedAt: now, sessionStartedAt: now - 2 * hour, now }
    expect(evaluateSessionFreshness({ ...times, policy: idle }).fresh).toBe(false)
  })

  test('a daily policy with minutes ends at whichever comes first', () => {
    const policy = { ...daily, idleMinutes: 30 }
    const spoken = { updatedAt: now, sessionStartedAt: now - hour, now, policy, timeZone }
    expect(evaluateSessionFreshness({ ...spoken, lastInteractionAt: now - 29 * minute }).fresh).toBe(true)
    expect(evaluateSessionFreshness({ ...spoken, lastInteractionAt: now - 31 * minute })).toMatchObject({
      because: 'idle',
    })
  })
})

describe('four in the morning, by the clock on the wall', () => {
  const at = (iso: string): number => Date.parse(iso)
  test.each([
    ['an ordinary day', 'Europe/Berlin', '2026-01-15T12:00:00+01:00', '2026-01-15T04:00:00+01:00'],
    ['before four', 'Europe/Berlin', '2026-01-15T03:59:59+01:00', '2026-01-14T04:00:00+01:00'],
    ['exactly four', 'Europe/Berlin', '2026-01-15T04:00:00+01:00', '2026-01-15T04:00:00+01:00'],
    [
      'the day that begins summer time',
      'Europe/Berlin',
      '2026-03-29T12:00:00+02:00',
      '2026-03-29T04:00:00+02:00',
    ],
    [
      'the morning after, before four',
      'Europe/Berlin',
      '2026-03-29T03:30:00+02:00',
      '2026-03-28T04:00:00+01:00',
    ],
    [
      'the day that ends summer time',
      'Europe/Berlin',
      '2026-10-25T12:00:00+01:00',
      '2026-10-25T04:00:00+01:00',
    ],
    ['half an hour off', 'Asia/Kolkata', '2026-05-01T01:00:00+05:30', '2026-04-30T04:00:00+05:30'],
    [
      'the other side of the date line',
      'Pacific/Kiritimati',
      '2026-05-01T05:00:00+14:00',
      '2026-05-01T04:00:00+14:00',
    ],
  ])('%s in %s', (_name, zone, moment, wanted) => {
    expect(new Date(lastTimeAtHour(4, at(moment), zone)).toISOString()).toBe(
      new Date(at(wanted)).toISOString(),
    )
  })

  test('an hour that the clock jumps over is the moment of the jump; one that comes twice is its first', () => {
    expect(lastTimeAtHour(2, at('2026-03-08T12:00:00-04:00'), 'America/New_York')).toBe(
      at('2026-03-08T03:00:00-04:00'),
    )
    expect(lastTimeAtHour(1, at('2026-11-01T12:00:00-05:00'), 'America/New_York')).toBe(
      at('2026-11-01T01:00:00-04:00'),
    )
  })

  test('the boundary is never later than now and never older than 25 hours', () => {
    for (
      let moment = at('2026-03-27T00:00:00Z');
      moment < at('2026-03-31T00:00:00Z');
      moment += 17 * minute
    ) {
      for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'UTC']) {
        const boundary = lastTimeAtHour(4, moment, zone)
        expect(boundary).toBeLessThanOrEqual(moment)
        expect(moment - boundary).toBeLessThan(25 * hour)
      }
    }
  })
})

describe('which policy', () => {
  const config = (written: object) => sessionConfig.parse(written)
  test('none by default', () => {
    expect(resolveResetPolicy(config({}), { type: 'direct' }).mode).toBe('none')
  })

  test('the channel before the type before the general one; the old idleMinutes last', () => {
    const session = config({
      reset: { mode: 'daily' },
      resetByType: { group: { mode: 'idle', idleMinutes: 120 }, dm: { mode: 'none' } },
      resetByChannel: { WhatsApp: { mode: 'idle' } },
      idleMinutes: 5,
    })
    expect(resolveResetPolicy(session, { type: 'group', channel: 'whatsapp' })).toEqual({
      mode: 'idle',
      atHour: 4,
      idleMinutes: 60,
    })
    expect(resolveResetPolicy(session, { type: 'group', channel: 'telegram' })).toMatchObject({
      idleMinutes: 120,
    })
    expect(resolveResetPolicy(session, { type: 'direct' }).mode).toBe('none')
    expect(resolveResetPolicy(session, { type: 'thread' })).toEqual({ mode: 'daily', atHour: 4 })
    expect(resolveResetPolicy(config({ idleMinutes: 5 }), { type: 'direct' })).toEqual({
      mode: 'idle',
      atHour: 4,
      idleMinutes: 5,
    })
  })

  test('hours and minutes outside their range are brought into it', () => {
    expect(
      resolveResetPolicy(config({ reset: { mode: 'daily', atHour: 99.5 } }), { type: 'direct' }).atHour,
    ).toBe(23)
    expect(
      resolveResetPolicy(config({ reset: { mode: 'idle', idleMinutes: 0.2 } }), { type: 'direct' })
        .idleMinutes,
    ).toBe(1)
  })

  test('a topic of a group is a thread', () => {
    expect(resetTypeOf('agent:main:telegram:group:-1:topic:5')).toBe('thread')
    expect(resetTypeOf('agent:main:slack:channel:c1')).toBe('group')
    expect(resetTypeOf('agent:main:main')).toBe('direct')
    expect(resetTypeOf('agent:main:main', { chatType: 'group' })).toBe('group')
  })
})
