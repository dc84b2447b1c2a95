import { existsSync, readFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sessionFolder, openSession } from '../../test/support/session-folder.ts'
import { cwd, said, talk, textsOf } from '../../test/support/transcript-folder.ts'
import type { SessionEntry } from '../domain/session.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { truncateTranscript, mirrorDelivery } from './transcript-changes.ts'
import { applyCleanup, planCleanup } from './cleanup.ts'
import { forkSession, forkThread } from './fork.ts'
import { archiveSession, deleteSession, resetSession } from './lifecycle.ts'
import { restoreSession } from './archives.ts'

const key = 'agent:main:telegram:direct:7'
const limits = { pruneAfterDays: 30, maxEntries: 10_000 }
const day = 86_400_000

/** A session with ten messages, bound to Claude in every way there is. */
async function talked(
  folder: ReturnType<typeof sessionFolder>,
  at = key,
  fields: Partial<SessionEntry> = {},
) {
  const session = await openSession(folder.parts, at, {
    sdkSessionId: 'claude-1',
    cliSessionIds: { 'claude-cli': 'claude-1' },
    claudeCliSessionId: 'claude-1',
    cliSessionBindings: { 'claude-cli': { sessionId: 'claude-1' } },
    ...fields,
  })
  await folder.transcripts.append(transcriptOf(session), talk(10), { cwd })
  return session
}

describe('a session begins', () => {
  test('once: a second caller gets the same session', async () => {
    const { parts, heard } = sessionFolder()
    const [first, second] = await Promise.all([openSession(parts, key), openSession(parts, key)])
    expect([first, second].filter(({ isNew }) => isNew)).toHaveLength(1)
    expect(first.entry.sessionId).toBe(second.entry.sessionId)
    expect(heard.filter((event) => event.type === 'session-changed')).toHaveLength(1)
  })
})

describe('a reset', () => {
  test('gives a new id under the same key, archives the transcript, and leaves no way back to Claude', async () => {
    const folder = sessionFolder()
    const settings = {
      thinkingLevel: 'high',
      modelOverride: 'claude-opus-4-5',
      label: 'work',
      sendPolicy: 'deny',
      queueMode: 'steer',
    } as const
    const route = {
      lastChannel: 'telegram',
      lastTo: '7',
      lastAccountId: 'default',
      deliveryContext: { channel: 'telegram', to: '7' },
    }
    const usage = {
      inputTokens: 5,
      totalTokens: 9000,
      compactionCount: 2,
      memoryFlushAt: 1,
      memoryFlushCompactionCount: 2,
    }
    const old = await talked(folder, key, { ...settings, ...route, ...usage, fromTheFuture: { kept: true } })
    folder.clock.set(folder.clock.now() + 1000)
    const { session, previous, archived } = await resetSession(folder.parts, key)
    const { entry } = session
    expect(previous.sessionId).toBe(old.entry.sessionId)
    expect(entry.sessionId).not.toBe(old.entry.sessionId)
    expect(entry).toMatchObject({
      ...settings,
      ...route,
      fromTheFuture: { kept: true },
      compactionCount: 0,
      totalTokens: 0,
      totalTokensFresh: true,
    })
    for (const gone of [
      'sdkSessionId',
      'cliSessionIds',
      'claudeCliSessionId',
      'cliSessionBindings',
      'inputTokens',
      'memoryFlushAt',
      'memoryFlushCompactionCount',
    ]) {
      expect(entry).not.toHaveProperty(gone)
    }
    expect(archived).toMatch(/\.jsonl\.reset\.2026-03-01T12-00-01\.000Z$/)
    expect(await folder.transcripts.exists(transcriptOf(old))).toBe(false)
    expect(await folder.parts.sessions.get(key)).toEqual(entry)
  })

  test('of a busy session is refused and changes nothing', async () => {
    const folder = sessionFolder()
    const { entry } = await talked(folder)
    folder.busy.add(key)
    await expect(resetSession(folder.parts, key)).rejects.toMatchObject({ code: 'busy' })
    expect(await folder.sessions.get(key)).toEqual(entry)
  })

  test('that meets another one loses no conversation', async () => {
    const folder = sessionFolder()
    await talked(folder)
    const outcomes = await Promise.allSettled([
      resetSession(folder.parts, key),
      resetSession(folder.parts, key),
    ])
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBeGreaterThan(0)
    const archives = await folder.transcripts.archives()
    expect(archives).toHaveLength(1)
  })

  test('of a session whose row names a foreign file leaves that file alone', async () => {
    const folder = sessionFolder()
    const foreign = join(folder.root, 'foreign.jsonl')
    writeFileSync(foreign, 'mine\n')
    await openSession(folder.parts, key, { sessionFile: foreign })
    const { archived, session } = await resetSession(folder.parts, key)
    expect(archived).toBeUndefined()
    expect(session.entry.sessionFile).toBeUndefined()
    expect(readFileSync(foreign, 'utf8')).toBe('mine\n')
  })

  test('an unwanted reset can be undone, and what was written since is kept, too', async () => {
    const folder = sessionFolder()
    const old = await talked(folder, key, { thinkingLevel: 'high', label: 'work' })
    const { session } = await resetSession(folder.parts, key, { reason: 'daily' })
    await folder.transcripts.append(transcriptOf(session), [said('where were we?')], { cwd })
    folder.clock.set(folder.clock.now() + 5000)
    const undone = await restoreSession(folder.parts, key)
    expect(undone.session.entry).toMatchObject({
      sessionId: old.entry.sessionId,
      sdkSessionId: 'claude-1',
      thinkingLevel: 'high',
      label: 'work',
    })
    expect(await textsOf(folder.transcripts, transcriptOf(undone.session))).toHaveLength(10)
    expect((await folder.transcripts.archives()).map((archive) => archive.name)).toEqual([undone.archived])
  })

  test('that a person asked for is taken back by the beginning of the old id', async () => {
    const folder = sessionFolder()
    const old = await talked(folder)
    await resetSession(folder.parts, key, { reason: 'new' })
    const { session } = await restoreSession(folder.parts, old.entry.sessionId.slice(0, 8))
    expect(session).toMatchObject({ key, entry: { sessionId: old.entry.sessionId } })
  })
})

describe('put away and brought back', () => {
  test('an archived session leaves the lists and comes back as it was', async () => {
    const folder = sessionFolder()
    const { entry } = await talked(folder, key, { pinnedAt: 1 })
    await archiveSession(folder.parts, key)
    expect((await folder.sessions.list()).total).toBe(0)
    expect((await folder.sessions.list({ archived: true })).total).toBe(1)
    const { session } = await restoreSession(folder.parts, key)
    expect(session.entry.archivedAt).toBeUndefined()
    expect(session.entry.sessionId).toBe(entry.sessionId)
  })

  test('a deleted session comes back under its key, with its row', async () => {
    const folder = sessionFolder()
    const old = await talked(folder, key, { label: 'work', thinkingLevel: 'high' })
    const { archived } = await deleteSession(folder.parts, key)
    expect(archived).toContain('.deleted.')
    expect(await folder.sessions.get(key)).toBeUndefined()
    const { session } = await restoreSession(folder.parts, key)
    expect(session.entry).toMatchObject({
      sessionId: old.entry.sessionId,
      label: 'work',
      thinkingLevel: 'high',
    })
    expect(await textsOf(folder.transcripts, transcriptOf(session))).toHaveLength(10)
    expect(await folder.transcripts.archives()).toEqual([])
  })

  test('an archived session comes back by its key, its label, its id and the beginning of it', async () => {
    const folder = sessionFolder()
    const { entry } = await openSession(folder.parts, key, { label: 'work' })
    for (const ref of [key, 'work', entry.sessionId, entry.sessionId.slice(0, 8)]) {
      await archiveSession(folder.parts, key)
      const { session } = await restoreSession(folder.parts, ref)
      expect(session).toMatchObject({ key, entry: { label: 'work' } })
      expect(session.entry.archivedAt).toBeUndefined()
    }
  })

  test('a deleted session without a transcript comes back too', async () => {
    const folder = sessionFolder()
    await openSession(folder.parts, key, { label: 'empty' })
    await deleteSession(folder.parts, key)
    expect((await restoreSession(folder.parts, 'empty')).session.entry.label).toBe('empty')
  })

  test('a label that another session took meanwhile stays with that session', async () => {
    const folder = sessionFolder()
    await talked(folder, key, { label: 'work' })
    await deleteSession(folder.parts, key)
    await openSession(folder.parts, 'agent:main:telegram:direct:8', { label: 'work' })
    expect((await restoreSession(folder.parts, key)).session.entry.label).toBeUndefined()
  })

  test('an archive by another program is restored under the given key', async () => {
    const folder = sessionFolder()
    const old = await talked(folder)
    await folder.transcripts.archive(transcriptOf(old), 'reset')
    await folder.sessions.delete(key)
    await expect(restoreSession(folder.parts, old.entry.sessionId)).rejects.toMatchObject({
      code: 'input-invalid',
    })
    const { session } = await restoreSession(folder.parts, old.entry.sessionId, { key })
    expect(await textsOf(folder.transcripts, transcriptOf(session))).toHaveLength(10)
  })

  test('what is not there, or may be two, is said so', async () => {
    const folder = sessionFolder()
    await expect(restoreSession(folder.parts, 'nothing')).rejects.toMatchObject({ code: 'not-found' })
    for (const id of ['same-1', 'same-2']) {
      await openSession(folder.parts, `agent:main:telegram:direct:${id}`, { sessionId: id })
      await deleteSession(folder.parts, `agent:main:telegram:direct:${id}`)
    }
    await expect(restoreSession(folder.parts, 'same')).rejects.toMatchObject({ code: 'ambiguous' })
  })

  test('the main session is neither archived nor deleted', async () => {
    const folder = sessionFolder()
    await openSession(folder.parts, 'agent:main:main')
    await expect(deleteSession(folder.parts, 'agent:main:main')).rejects.toMatchObject({ code: 'refused' })
    await expect(archiveSession(folder.parts, 'agent:main:main')).rejects.toMatchObject({ code: 'refused' })
  })

  test('a purge leaves nothing, of earlier conversations neither, and touches no other session', async () => {
    const folder = sessionFolder()
    const first = await talked(folder)
    const { session: second } = await resetSession(folder.parts, key)
    const other = await talked(folder, 'agent:main:telegram:direct:8')
    const { sessionIds } = await deleteSession(folder.parts, key, { purge: true })
    expect(sessionIds.sort()).toEqual([first.entry.sessionId, second.entry.sessionId].sort())
    const left = readdirSync(folder.dir).filter((name) => name.includes('.jsonl'))
    expect(left).toEqual([`${other.entry.sessionId}.jsonl`])
  })
})

describe('forks', () => {
  const chat = 'agent:main:slack:channel:c1'
  const thread = `${chat}:thread:t1`

  test('a thread begins with what the chat has said, once', async () => {
    const folder = sessionFolder()
    await talked(folder, chat, { totalTokens: 50_000 })
    const session = await openSession(folder.parts, thread)
    const forked = await forkThread(folder.parts, session, { parentForkMaxTokens: 100_000 })
    expect(forked.entry).toMatchObject({
      forkedFromParent: true,
      parentSessionKey: chat,
      forkOfSdkSessionId: 'claude-1',
      sessionId: session.entry.sessionId,
    })
    expect(await textsOf(folder.transcripts, transcriptOf(forked))).toHaveLength(10)
    await folder.transcripts.append(transcriptOf(forked), [said('in the thread')], { cwd })
    expect(await forkThread(folder.parts, forked, { parentForkMaxTokens: 100_000 })).toEqual(forked)
    expect(await textsOf(folder.transcripts, transcriptOf(forked))).toHaveLength(11)
  })

  test.each([
    [100_001, 100_000, false],
    [100_000, 100_000, true],
    [900_000, 0, true],
  ])(
    'a chat of %i tokens with a limit of %i is taken along: %s',
    async (totalTokens, parentForkMaxTokens, taken) => {
      const folder = sessionFolder()
      await talked(folder, chat, { totalTokens })
      const forked = await forkThread(folder.parts, await openSession(folder.parts, thread), {
        parentForkMaxTokens,
      })
      expect(forked.entry.forkedFromParent ?? false).toBe(taken)
    },
  )

  test("a person's fork has a key of its own and the same settings, from any entry on", async () => {
    const folder = sessionFolder()
    const session = await talked(folder, key, { thinkingLevel: 'high' })
    const { entries } = await folder.transcripts.tail(transcriptOf(session), 10)
    const fork = await forkSession(folder.parts, key, {
      leafId: entries[3]!.id,
      label: 'try',
      parentForkMaxTokens: 100_000,
    })
    expect(fork.entry).toMatchObject({ thinkingLevel: 'high', label: 'try', parentSessionKey: key })
    expect(fork.entry.sdkSessionId).toBeUndefined()
    expect(await textsOf(folder.transcripts, transcriptOf(fork))).toHaveLength(4)
    expect(await folder.sessions.get(fork.key)).toMatchObject({ sessionId: fork.entry.sessionId })
    folder.busy.add(key)
    await expect(forkSession(folder.parts, key, { parentForkMaxTokens: 0 })).rejects.toMatchObject({
      code: 'busy',
    })
  })
})

describe('cleanup', () => {
  test('plans before it acts, and spares what runs, waits, is pinned or is main', async () => {
    const folder = sessionFolder()
    for (const name of ['old', 'busy', 'pinned']) {
      await talked(folder, `agent:main:telegram:direct:${name}`, name === 'pinned' ? { pinnedAt: 1 } : {})
    }
    await talked(folder, 'agent:main:main')
    folder.clock.set(folder.clock.now() + 31 * day)
    await talked(folder, 'agent:main:telegram:direct:new')
    folder.busy.add('agent:main:telegram:direct:busy')
    const plan = await planCleanup(folder.parts, limits)
    expect(plan.sessions).toMatchObject([{ key: 'agent:main:telegram:direct:old', why: 'age' }])
    expect(plan.spared.map(({ why }) => why).sort()).toEqual(['busy', 'main', 'pinned'])
    expect((await folder.sessions.list()).total).toBe(5)
    expect(await applyCleanup(folder.parts, plan)).toEqual([])
    expect((await folder.sessions.list()).total).toBe(4)
    expect((await restoreSession(folder.parts, 'agent:main:telegram:direct:old')).session.key).toBe(
      'agent:main:telegram:direct:old',
    )
  })

  test('keeps the newest of too many, and passes over one that spoke since the plan', async () => {
    const folder = sessionFolder()
    for (let n = 0; n < 6; n++) {
      folder.clock.set(folder.clock.now() + 1000)
      await openSession(folder.parts, `agent:main:telegram:direct:${n}`)
    }
    const plan = await planCleanup(folder.parts, { ...limits, maxEntries: 3 })
    expect(plan.sessions.map(({ key }) => key.at(-1))).toEqual(['0', '1', '2'])
    await folder.sessions.update('agent:main:telegram:direct:1', (entry) => ({
      ...entry!,
      updatedAt: entry!.updatedAt + 9999,
    }))
    await applyCleanup(folder.parts, plan)
    expect((await folder.sessions.list()).sessions.map(({ key }) => key.slice(-1)).sort()).toEqual([
      '1',
      '3',
      '4',
      '5',
    ])
  })

  test('archives transcripts that no session has, and removes archives when they are old', async () => {
    const folder = sessionFolder(Date.now())
    await folder.transcripts.append({ sessionId: 'orphan' }, [said('x')], { cwd })
    await folder.transcripts.append({ sessionId: 'young' }, [said('x')], { cwd })
    const hourAgo = (Date.now() - 2 * 3_600_000) / 1000
    utimesSync(join(folder.dir, 'orphan.jsonl'), hourAgo, hourAgo)
    const plan = await planCleanup(folder.parts, limits)
    expect(plan.orphans.map(({ sessionId }) => sessionId)).toEqual(['orphan'])
    await applyCleanup(folder.parts, plan)
    expect(existsSync(join(folder.dir, 'orphan.jsonl'))).toBe(false)
    expect(await folder.transcripts.archives()).toHaveLength(1)
    folder.clock.set(folder.clock.now() + 31 * day)
    await applyCleanup(folder.parts, await planCleanup(folder.parts, limits))
    expect((await folder.transcripts.archives()).map(({ sessionId }) => sessionId)).toEqual(['young'])
  })

  test('makes room on the disk with the oldest archives first, then with the oldest sessions', async () => {
    const folder = sessionFolder()
    for (let n = 0; n < 4; n++) {
      folder.clock.set(folder.clock.now() + 1000)
      await talked(folder, `agent:main:telegram:direct:${n}`)
      if (n === 0) await resetSession(folder.parts, 'agent:main:telegram:direct:0')
    }
    const { bytes } = await planCleanup(folder.parts, limits)
    const some = await planCleanup(folder.parts, { ...limits, maxDiskBytes: bytes - 1 })
    expect(some.archives).toHaveLength(1)
    expect(some.sessions).toEqual([])
    const most = await planCleanup(folder.parts, { ...limits, maxDiskBytes: bytes / 2 })
    expect(most.sessions.map(({ key, why }) => `${key.at(-1)} ${why}`)).toEqual([
      '0 disk',
      '1 disk',
      '2 disk',
    ])
    expect(most.bytesAfter).toBeLessThanOrEqual(bytes / 2)
  })
})

describe('the transcript itself', () => {
  test('is shortened to its last lines, with a word on Claude', async () => {
    const folder = sessionFolder()
    await talked(folder)
    expect(await truncateTranscript(folder.parts, key, 4)).toMatchObject({
      compacted: true,
      kept: 4,
      claudeUnchanged: true,
      archived: expect.stringContaining('.bak.'),
    })
    expect(await truncateTranscript(folder.parts, key)).toEqual({
      key,
      compacted: false,
      kept: 4,
      claudeUnchanged: true,
    })
    await expect(truncateTranscript(folder.parts, key, 0)).rejects.toMatchObject({ code: 'input-invalid' })
  })

  test('mirrors what was delivered by another way', async () => {
    const folder = sessionFolder()
    const session = await talked(folder)
    await mirrorDelivery(folder.parts, session, { text: 'Sent by a tool.' })
    await mirrorDelivery(folder.parts, session, {
      text: 'Here is the plan.',
      mediaUrls: ['https://x.example/a%20b.png?x=1', '/tmp/c.pdf'],
    })
    expect(await mirrorDelivery(folder.parts, session, { text: '  ' })).toEqual({
      ok: false,
      reason: 'empty text',
    })
    const { entries } = await folder.transcripts.tail(transcriptOf(session), 2)
    expect(entries).toMatchObject([
      {
        message: {
          role: 'assistant',
          api: 'openai-responses',
          provider: 'openclaw',
          model: 'delivery-mirror',
          content: [{ text: 'Sent by a tool.' }],
        },
      },
      { message: { content: [{ text: 'Here is the plan.\n\na b.png, c.pdf' }] } },
    ])
  })
})
