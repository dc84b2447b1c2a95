import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decodeId,
  encodeId,
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  buildInternalSessionKey,
  buildSubagentSessionKey,
  buildThreadSessionKey,
  sessionKeyOf,
} from './session-key.ts'
import type { DmScope } from './session-key.ts'
import {
  canonicalSessionKey,
  readableKey,
  chatTypeOfKey,
  classifySessionKey,
  isCronRunSessionKey,
  parentOfThreadKey,
  parseAgentSessionKey,
  subagentDepth,
} from './session-key-forms.ts'

const session = {
  scope: 'per-sender',
  dmScope: 'per-channel-peer',
  mainKey: 'main',
  identityLinks: {},
} as const

describe('plain ids are written as OpenClaw writes them', () => {
  const direct = { agentId: 'main', channel: 'telegram', peerKind: 'dm', peerId: 'user123' } as const
  test.each<[DmScope, string]>([
    ['main', 'agent:main:main'],
    ['per-peer', 'agent:main:direct:user123'],
    ['per-channel-peer', 'agent:main:telegram:direct:user123'],
    ['per-account-channel-peer', 'agent:main:telegram:default:direct:user123'],
  ])('a direct chat with scope %s is %s', (dmScope, key) => {
    expect(buildAgentPeerSessionKey({ ...direct, dmScope })).toBe(key)
  })

  test('without a scope every person on every channel has a session', () => {
    expect(buildAgentPeerSessionKey(direct)).toBe('agent:main:telegram:direct:user123')
  })

  test('groups, channels, threads, topics, sub-agents, cron runs', () => {
    const group = buildAgentPeerSessionKey({ channel: 'WhatsApp', peerKind: 'group', peerId: '120363@g.us' })
    expect(group).toBe('agent:main:whatsapp:group:120363@g.us')
    const channel = buildAgentPeerSessionKey({ channel: 'slack', peerKind: 'channel', peerId: 'C1' })
    expect(buildThreadSessionKey(channel, 't123')).toBe('agent:main:slack:channel:c1:thread:t123')
    const chat = buildAgentPeerSessionKey({ channel: 'telegram', peerKind: 'group', peerId: '-100123' })
    expect(buildThreadSessionKey(chat, 42, 'topic')).toBe('agent:main:telegram:group:-100123:topic:42')
    const worker = buildSubagentSessionKey({ agentId: 'ops', id: 'task1' })
    expect(worker).toBe('agent:ops:subagent:task1')
    expect(buildSubagentSessionKey({ parentKey: worker, id: 'b' })).toBe(
      'agent:ops:subagent:task1:subagent:b',
    )
    expect(buildInternalSessionKey({ kind: 'cron', id: 'nightly', runId: '7' })).toBe(
      'agent:main:cron:nightly:run:7',
    )
    expect(buildAgentMainSessionKey({ agentId: 'Main', mainKey: 'Work' })).toBe('agent:main:work')
  })

  test('a message finds its session by chat, sender and thread', () => {
    const address = { channel: 'telegram', accountId: 'default', to: '-100', threadId: '5' }
    const message = { address, chatType: 'group', sender: { id: '7' } } as const
    expect(sessionKeyOf(message, 'main', session)).toBe('agent:main:telegram:group:-100:topic:5')
    const dm = {
      address: { channel: 'discord', accountId: 'default', to: '99' },
      chatType: 'direct',
      sender: { id: '7' },
    } as const
    expect(sessionKeyOf(dm, 'main', session)).toBe('agent:main:discord:direct:7')
    expect(sessionKeyOf(dm, 'main', { ...session, scope: 'global' })).toBe('global')
  })
})

describe('one person under several ids', () => {
  const links = { Alice: ['telegram:123', 'discord:456', 'a@b.example'] }
  const key = (channel: string, peerId: string, dmScope: DmScope = 'per-peer') =>
    buildAgentPeerSessionKey({ channel, peerId, dmScope, identityLinks: links })

  test('linked ids share the session that has the name', () => {
    expect(key('telegram', '123')).toBe('agent:main:direct:alice')
    expect(key('discord', '456')).toBe('agent:main:direct:alice')
    expect(key('email', 'a@b.example')).toBe('agent:main:direct:alice')
    expect(key('telegram', '123', 'per-channel-peer')).toBe('agent:main:telegram:direct:alice')
    expect(key('telegram', '123', 'main')).toBe('agent:main:main')
  })

  test('a linked person has one session on all platforms, whatever keeps the others apart', () => {
    const from = (channel: string, id: string, dmScope: DmScope) =>
      sessionKeyOf(
        { address: { channel, accountId: 'work', to: id }, chatType: 'direct', sender: { id } },
        'main',
        { ...session, dmScope, identityLinks: links },
      )
    for (const dmScope of ['per-peer', 'per-channel-peer', 'per-account-channel-peer'] as const) {
      expect(from('telegram', '123', dmScope)).toBe('agent:main:direct:alice')
      expect(from('discord', '456', dmScope)).toBe('agent:main:direct:alice')
      expect(from('discord', '123', dmScope)).not.toBe('agent:main:direct:alice')
    }
    expect(from('telegram', '123', 'main')).toBe('agent:main:main')
    expect(from('telegram', '124', 'per-channel-peer')).toBe('agent:main:telegram:direct:124')
  })

  test('a stranger whose id is that name, or who calls himself by a linked id, stays apart', () => {
    expect(key('web', 'alice')).not.toBe('agent:main:direct:alice')
    expect(key('web', 'telegram:123')).not.toBe('agent:main:direct:alice')
    expect(canonicalSessionKey(key('web', 'alice'), { agentId: 'main' })).toBe(key('web', 'alice'))
    expect(classifySessionKey(key('web', 'alice')).id).toBe('alice')
  })

  test('names that differ only in case stay two people', () => {
    const two = { Bob: ['telegram:1'], bob: ['telegram:2'] }
    const keys = ['1', '2', 'bob', 'Bob', '%42ob'].map((peerId) =>
      buildAgentPeerSessionKey({ channel: 'telegram', peerId, identityLinks: two }),
    )
    expect(new Set(keys).size).toBe(keys.length)
  })
})

describe('hostile ids', () => {
  test.each(['', '   ', '\n', undefined])('a peer id %j is refused and never becomes main', (peerId) => {
    for (const dmScope of ['per-peer', 'per-channel-peer', 'per-account-channel-peer'] as const) {
      expect(() => buildAgentPeerSessionKey({ channel: 'telegram', peerId, dmScope })).toThrow(/id is empty/)
    }
    expect(() => buildAgentPeerSessionKey({ channel: 'telegram', peerKind: 'group', peerId })).toThrow(
      /is empty/,
    )
  })

  test('with one session for all, an empty id is still refused', () => {
    expect(() => buildAgentPeerSessionKey({ channel: 'telegram', peerId: '', dmScope: 'main' })).toThrow(
      /is empty/,
    )
  })

  test('ids that differ only in case are two people', () => {
    const key = (peerId: string) => buildAgentPeerSessionKey({ channel: 'signal', peerId })
    expect(key('AbC')).not.toBe(key('abc'))
    expect(key('AbC')).toBe(key('AbC').toLowerCase())
  })

  const hostile = fc
    .oneof(
      fc.constantFrom(
        'main',
        'a:b',
        'A:b',
        'a',
        'A',
        'direct',
        'group',
        'thread:1',
        'x:thread:1',
        'x',
        'heartbeat',
      ),
      fc.constantFrom(
        '%',
        '%41',
        '%.a',
        '%3a',
        'subagent',
        '__proto__',
        '\u0000',
        '\u202e',
        'é',
        'e\u0301',
        '\ud800',
      ),
      fc.constantFrom(
        'topic',
        ' a',
        'a ',
        'default',
        'telegram',
        'global',
        'unknown',
        '😀',
        'İ',
        'K',
        'ß',
        'SS',
      ),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }),
      fc.string({ minLength: 1, maxLength: 8 }),
    )
    .filter((id) => id.trim() !== '')
  const channel = fc.constantFrom(
    'telegram',
    'discord',
    'whatsapp',
    'signal',
    'direct',
    'subagent',
    'main',
    'cron',
  )
  const identity = fc.record({
    agentId: fc.constantFrom('main', 'ops'),
    channel,
    accountId: fc.oneof(fc.constant('default'), hostile),
    peerKind: fc.constantFrom('direct', 'group', 'channel'),
    peerId: hostile,
    threadId: fc.option(hostile, { nil: undefined }),
    heartbeat: fc.boolean(),
  })
  type Identity = typeof identity extends fc.Arbitrary<infer T> ? T : never

  const keyOf = (who: Identity, dmScope: DmScope): string => {
    const { threadId, heartbeat, ...peer } = who
    const base = buildAgentPeerSessionKey({ ...peer, dmScope })
    const key = threadId === undefined ? base : buildThreadSessionKey(base, threadId)
    return heartbeat ? `${key}:heartbeat` : key
  }

  /** What the scope tells apart, written so that nothing can be confused. */
  const meaning = (who: Identity, dmScope: DmScope): string => {
    const account = who.accountId.trim() || 'default'
    const where =
      who.peerKind !== 'direct' || dmScope === 'per-channel-peer'
        ? [who.channel]
        : dmScope === 'per-account-channel-peer'
          ? [who.channel, account]
          : []
    return JSON.stringify([who.agentId, where, who.peerKind, who.peerId, who.threadId ?? null, who.heartbeat])
  }

  test.each<DmScope>(['per-peer', 'per-channel-peer', 'per-account-channel-peer'])(
    'identities that scope %s keeps apart never share a key, and a key says whose it is',
    (dmScope) => {
      const seen = new Map<string, string>()
      fc.assert(
        fc.property(identity, (who) => {
          const key = keyOf(who, dmScope)
          const meant = meaning(who, dmScope)
          expect(seen.get(key) ?? meant).toBe(meant)
          seen.set(key, meant)
          expect(key).toBe(key.toLowerCase())
          expect(canonicalSessionKey(key, { agentId: 'main' })).toBe(key)
          const form = classifySessionKey(key)
          expect(form).toMatchObject({
            kind: who.peerKind,
            id: who.peerId,
            agentId: who.agentId,
            heartbeat: who.heartbeat,
          })
          expect(form.threadId).toBe(who.threadId)
        }),
        { numRuns: 5000 },
      )
    },
  )

  test('every id comes back from its segment', () => {
    fc.assert(
      fc.property(hostile, (id) => {
        expect(decodeId(encodeId(id))).toBe(id)
        expect(encodeId(id)).toMatch(/^[!-~]+$/)
        expect(encodeId(id)).not.toMatch(/[:A-Z]/)
      }),
      { numRuns: 5000 },
    )
  })

  test('an encoding that forgot the colon would be caught by the property above', () => {
    const careless = (id: string) => id.toLowerCase()
    expect(`x:direct:${careless('a')}:thread:1`).toBe(`x:direct:${careless('a:thread:1')}`)
    expect(`x:direct:${encodeId('a')}:thread:1`).not.toBe(`x:direct:${encodeId('a:thread:1')}`)
  })
})

describe('reading keys that others wrote', () => {
  test.each([
    ['agent:main:main', { kind: 'main' }],
    ['agent:main:dm:user123', { kind: 'direct', id: 'user123' }],
    ['agent:main:telegram:dm:user123', { kind: 'direct', channel: 'telegram', id: 'user123' }],
    [
      'agent:main:telegram:default:dm:u',
      { kind: 'direct', channel: 'telegram', accountId: 'default', id: 'u' },
    ],
    ['agent:main:whatsapp:group:1@g.us', { kind: 'group', channel: 'whatsapp', id: '1@g.us' }],
    ['agent:main:matrix:channel:!r:server.org', { kind: 'channel', channel: 'matrix', id: '!r:server.org' }],
    ['agent:main:telegram:group:-1:topic:5', { kind: 'group', id: '-1', threadId: '5', threadKind: 'topic' }],
    [
      'agent:main:slack:channel:c1:thread:t',
      { kind: 'channel', id: 'c1', threadId: 't', threadKind: 'thread' },
    ],
    ['agent:main:subagent:a:subagent:b', { kind: 'subagent', id: 'b', depth: 2 }],
    ['agent:main:cron:job:run:1', { kind: 'cron', id: 'job', runId: '1' }],
    ['agent:main:acp:u', { kind: 'acp', id: 'u' }],
    ['hook:u', { kind: 'hook', id: 'u' }],
    ['node-n1', { kind: 'node', id: 'n1' }],
    ['global', { kind: 'global' }],
    ['unknown', { kind: 'unknown' }],
    ['main', { kind: 'main' }],
    ['group:1@g.us', { kind: 'group', channel: 'whatsapp', id: '1@g.us' }],
    ['discord:default:guild-1:channel-2', { kind: 'channel', channel: 'discord', id: '2' }],
    ['agent:main:14155551234', { kind: 'direct', id: '14155551234' }],
    ['agent:main:telegram:direct:7:heartbeat', { kind: 'direct', id: '7', heartbeat: true }],
  ])('%s', (key, wanted) => {
    expect(classifySessionKey(key)).toMatchObject(wanted)
  })

  test.each([
    ['agent:main:telegram:dm:User', 'agent:main:telegram:direct:%55ser'],
    ['agent:Main:slack:channel:C1', 'agent:main:slack:channel:c1'],
    ['main', 'agent:main:main'],
    ['group:1@g.us', 'agent:main:whatsapp:group:1@g.us'],
    ['hook:abc', 'agent:main:hook:abc'],
    ['agent:main:matrix:channel:!r:server.org', 'agent:main:matrix:channel:!r%3aserver.org'],
    ['GLOBAL', 'global'],
    ['agent:ops:14155551234', 'agent:ops:direct:14155551234'],
  ])('%s is written as %s', (key, wanted) => {
    expect(canonicalSessionKey(key, { agentId: 'main' })).toBe(wanted)
  })

  test.each([
    ['agent:main:console:direct:%41da', 'agent:main:console:direct:Ada'],
    ['agent:main:web:direct:zo%c3%ab', 'agent:main:web:direct:zoë'],
    // Each of these would be read as another key, or could not be typed as one word.
    ['agent:main:matrix:channel:!r%3athread%3a7', 'agent:main:matrix:channel:!r%3athread%3a7'],
    ['agent:main:web:%64irect:direct:7', 'agent:main:web:%64irect:direct:7'],
    ['agent:main:web:direct:a%20b', 'agent:main:web:direct:a%20b'],
    ['agent:main:web:direct:%.ada', 'agent:main:web:direct:%.ada'],
  ])('%s is shown as %s', (key, wanted) => {
    expect(readableKey(key)).toBe(wanted)
    expect(canonicalSessionKey(wanted, { agentId: 'main' })).toBe(key)
  })

  test('what is no agent key is null, and parts are counted as OpenClaw does', () => {
    expect(parseAgentSessionKey('agent:Main:whatsapp:group:1@g.us')).toEqual({
      agentId: 'main',
      rest: 'whatsapp:group:1@g.us',
    })
    expect(parseAgentSessionKey(' agent:main::x ')).toEqual({ agentId: 'main', rest: 'x' })
    for (const text of ['', 'main', 'agent:main', 'agent:main:', 'other:a:b', null, undefined]) {
      expect(parseAgentSessionKey(text)).toBeNull()
    }
  })

  test('threads name their parent, sub-agents their depth, cron runs themselves', () => {
    expect(parentOfThreadKey('agent:main:slack:channel:c1:thread:t')).toBe('agent:main:slack:channel:c1')
    expect(parentOfThreadKey('agent:main:main')).toBeUndefined()
    expect(subagentDepth('agent:main:subagent:a:subagent:b')).toBe(2)
    expect(isCronRunSessionKey('agent:main:cron:j:run:1')).toBe(true)
    expect(chatTypeOfKey('agent:main:telegram:dm:1')).toBe('direct')
    expect(chatTypeOfKey('agent:main:main')).toBeUndefined()
  })
})
