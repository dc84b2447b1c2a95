// Several machines on one PostgreSQL, small: the real program twice, and a turn during which the database was away. At
// size, with kills and outages: test/full/machines.test.ts and test/full/outage.test.ts.
import { randomBytes, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { formatOriginChannel } from '../src/domain/address.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Approval, Grant } from '../src/domain/coding-session.ts'
import { silentLog } from '../src/domain/log.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import type { PostgresTranscripts } from '../src/store/postgres/transcript-store.ts'
import { attachmentFolder, sessionMediaFolder } from '../src/store/media/media-files.ts'
import { StoreUnavailable } from '../src/store/store-unavailable.ts'
import { openMachine } from './support/machine-flow.ts'
import { machineLeaves } from './support/machines.ts'
import { NetworkLine } from './support/network-line.ts'
import { wordsOf } from './support/flow-bench.ts'
import { startPostgres } from './support/postgres.ts'
import { openSharedHome } from './support/shared-homes.ts'
import type { SharedHome } from './support/shared-homes.ts'
import { said } from './support/talk.ts'
import { aDelivery, aMessage, anInput } from './support/work-store-contract.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

test('of two programs with homes of their own one is stopped in the middle: all is answered once, in order', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const report = await machineLeaves(url, { chats: 6, each: 3 })
  expect(report).toMatchObject({
    answered: 18,
    lost: [],
    unrecorded: [],
    recordedTwice: [],
    unmarkedDuplicates: [],
    crossChat: [],
    outOfOrder: [],
    ends: { answered: 18 },
  })
}, 60_000)

test('a turn during which the database was away is taken again, marked, before what came later', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  let isAway = true
  const failOnce = (transcripts: PostgresTranscripts): void => {
    const append = transcripts.append.bind(transcripts)
    transcripts.append = async (...given) => {
      const [, [body]] = given
      const isAnswer = body?.type === 'message' && body.message.role === 'assistant'
      if (isAnswer && isAway) {
        isAway = false
        throw new StoreUnavailable('PostgreSQL cannot be reached: ECONNREFUSED.')
      }
      return append(...given)
    }
  }
  const machine = await openMachine({
    url,
    schema: 'away',
    machine: 'a',
    maxConnections: 4,
    change: failOnce,
  })
  const { channel } = machine.flow
  try {
    machine.start()
    for (const n of [1, 2, 3]) await channel.say(`word-${n}`)
    await channel.untilSent(3)
    const words = channel.texts.map((text) => /word-\d/.exec(text)?.[0])
    expect(words).toEqual(['word-1', 'word-2', 'word-3'])
    expect(channel.texts.map((text) => text.includes('Retried'))).toEqual([true, false, false])
    const answer = expect.stringMatching(/^assistant: /)
    const recorded = [1, 2, 3].flatMap((n) => [`user: word-${n}`, answer])
    expect(wordsOf(await machine.flow.transcript('agent:main:memory:direct:7'))).toEqual(recorded)
  } finally {
    await machine.stop()
  }
}, 60_000)

test('an answer of the database that comes after another machine sent the reply does not send it again', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const { line, url: cuttable } = await NetworkLine.open(url)
  const schema = 'late'
  const late = await openMachine({ url: cuttable, schema, machine: 'late', maxConnections: 4 })
  const other = await openMachine({ url, schema, machine: 'other', maxConnections: 4 })
  const postgres = new Postgres({ url, schema, clock: systemClock, log: silentLog, maxConnections: 2 })
  const isTrue = async (sql: string): Promise<boolean> => (await postgres.read(sql)).length > 0
  try {
    await postgres.write(`CREATE FUNCTION wait_a_second() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$`)
    await postgres.write(`CREATE TRIGGER slow BEFORE INSERT ON outbox EXECUTE FUNCTION wait_a_second()`)
    const ended = new Promise((resolve) =>
      late.flow.events.on(({ type }) => {
        if (type === 'turn-ended') resolve(type)
      }),
    )
    late.start()
    await late.flow.channel.say('hello')
    await expect.poll(() => isTrue("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).toBe(true)
    line.holdAnswers()
    await expect.poll(() => isTrue("SELECT 1 FROM outbox WHERE state = 'attempting'")).toBe(true)
    line.cut()
    // No member is declared dead within 3 seconds after a heartbeat; until then it may send.
    const silence = "UPDATE member SET seen_at = now() - interval '1 minute' WHERE machine = 'late'"
    const isSilent = "seen_at < clock_timestamp() - interval '3 seconds'"
    const silenced = (): Promise<unknown[]> => postgres.write(`${silence} AND ${isSilent} RETURNING id`)
    await expect.poll(silenced).toHaveLength(1)
    const { converse, channel } = other.flow
    await vi.waitFor(
      async () => {
        await converse.deliverer.lookForMore()
        await converse.deliverer.idle()
        expect(channel.sent).toMatchObject([{ resent: true }])
      },
      { timeout: 20_000 },
    )
    line.mend()
    await ended
    await late.flow.converse.deliverer.idle()
    expect(late.flow.channel.sent).toEqual([])
  } finally {
    await Promise.all([late.stop(), other.stop()])
    await postgres.close()
    line.close()
  }
}, 60_000)

test('what is said on one machine is found on another, and no longer after it was purged', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const [here, there] = [await openSharedHome(url, 'here'), await openSharedHome(url, 'there')]
  try {
    const key = 'agent:main:telegram:direct:7'
    const sessionId = 'walnuts'
    const say = (words: string): Promise<unknown> =>
      here.app.storage.transcripts('main').append({ sessionId }, [said(words)], { cwd: '/', key })
    const find = async (query: string, home = there): Promise<Hit[]> =>
      (await home.ask<{ hits: Hit[] }>('sessions.search', { query })).hits
    await here.app.storage
      .sessions('main')
      .update(key, () => ({ sessionId, updatedAt: 1, channel: 'telegram' }))
    await say('the first walnut')
    // A command reads what is new itself, a gateway follows.
    expect(await find('walnut')).toMatchObject([{ sessionKey: key, channel: 'telegram', source: 'rockpool' }])
    await there.app.search().follow()
    await say('a hazelnut too')
    await vi.waitFor(async () => expect(await find('hazelnut')).toHaveLength(1))
    const [hit] = await find('hazelnut')
    const fork = await there.ask<{ key: string }>('sessions.fork', { key, leafId: hit!.messageId })
    expect(fork.key).not.toBe(key)
    await there.ask('sessions.delete', { key: fork.key, purge: true })
    const { approvals: approvalStore } = here.app.storage
    await approvalStore.add({ ...anApproval, sessionKey: key })
    await approvalStore.add({ ...anApproval, id: 'kept', sessionKey: `${key}0` })
    await approvalStore.grant({ ...aGrant, sessionKey: key })
    const stopping = { codingId: 'machine:there', action: 'stop-turn', input: { sessionKey: key } }
    await here.app.storage.coding.ask({ id: 'stopping', ...stopping, askedAt: Date.now() })
    const known = (home: SharedHome): string[] => {
      const { approvals: store } = home.app.storage
      return [...store.pending(), ...store.grants()].map(({ id }) => id).sort()
    }
    for (const home of [here, there])
      await expect.poll(() => known(home)).toEqual(['asked', 'granted', 'kept'])
    await here.ask('sessions.delete', { key, purge: true })
    // What was asked and allowed there goes with it, on every machine; what belongs to another session stays.
    for (const home of [here, there]) await expect.poll(() => known(home)).toEqual(['kept'])
    const bodies = await here.app.storage.cluster!.connection.read(
      "SELECT id FROM record WHERE body LIKE '%direct:7\"%'",
    )
    expect(bodies).toEqual([])
    expect(await find('walnut', here)).toEqual([])
    await vi.waitFor(async () => expect(await find('walnut')).toEqual([]))
    // Not a byte of it is left on the other machine: no copy, no word in its index.
    await vi.waitFor(() => expect(filesWith(there.app.paths.root, 'hazelnut')).toEqual([]))
  } finally {
    await here.close()
    await there.close()
  }
}, 60_000)

test('a damaged event or record of another machine stops neither what follows from it nor the own work', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const [here, there] = [
    await openSharedHome(url, 'here'),
    await openSharedHome(url, 'there', { isGateway: true }),
  ]
  const { connection } = here.app.storage.cluster!
  const { approvals } = here.app.storage
  const known = (home: SharedHome): string[] =>
    home.app.storage.approvals.pending().flatMap(({ id }) => (['broken', 'next'].includes(id) ? [id] : []))
  try {
    for (const home of [there, here]) await home.app.conversations()
    const heard: string[] = []
    there.app.events.on(({ type }) => heard.push(type))
    await approvals.add({ ...anApproval, id: 'broken' })
    await expect.poll(() => known(there)).toEqual(['broken'])
    // Without the file that such an event names; every user of the database may send notifications.
    const event = { type: 'transcript-appended', agentId: 'main', sessionId: 'walnuts' }
    const payload = JSON.stringify({ from: 'nobody', signals: [{ kind: 'event', event }] })
    await connection.write('SELECT pg_notify($1, $2)', [`rockpool ${connection.schema}`, payload])
    const bodies = { approval: '{', coding: '{}', grant: '[]' }
    for (const [kind, body] of Object.entries(bodies))
      await connection.write('SELECT put_record($1, $2, NULL, 0, $3)', [kind, 'broken', body])
    await approvals.add({ ...anApproval, id: 'next' })
    // The old content of a damaged record does not count either.
    for (const home of [here, there]) await expect.poll(() => known(home)).toEqual(['next'])
    here.app.events.emit({ type: 'mail-changed' })
    await expect.poll(() => heard).toContain('mail-changed')
  } finally {
    await connection.write("DELETE FROM record WHERE id IN ('broken', 'next')")
    await here.close()
    await there.close()
  }
}, 60_000)

test('notes are the same on every machine: added at once, rewritten on both, removed, found, and there before a turn', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const [here, there] = [await openSharedHome(url, 'here'), await openSharedHome(url, 'there')]
  const fileOf = ({ app }: SharedHome, name: string): string => join(app.paths.workspace('main'), name)
  const notesOf = async (home: SharedHome): Promise<string[]> =>
    (await home.ask<{ notes: Array<{ name: string }> }>('memory.list')).notes.map(({ name }) => name).sort()
  const show = async (home: SharedHome, name: string): Promise<string> =>
    (await home.ask<{ text: string }>('memory.show', { name })).text
  try {
    const { name } = await here.ask<{ name: string }>('memory.add', { text: 'Prefers green tea.' })
    // The offline agent answers; the note is there when it is asked.
    await there.ask('turns.run', { message: 'hello' })
    expect(readFileSync(fileOf(there, name), 'utf8')).toContain('green tea')
    appendFileSync(fileOf(here, name), 'From here.\n')
    appendFileSync(fileOf(there, name), 'From there.\n')
    writeFileSync(fileOf(here, 'MEMORY.md'), 'first\n')
    const both = [await show(there, name), await show(here, name), await show(there, name)]
    expect(both[1]).toBe(both[2])
    for (const words of ['green tea', 'From here.', 'From there.']) expect(both[2]).toContain(words)
    expect(await show(there, 'MEMORY.md')).toBe('first\n')
    writeFileSync(fileOf(here, 'MEMORY.md'), 'one\n')
    writeFileSync(fileOf(there, 'MEMORY.md'), 'other\n')
    await notesOf(here)
    const names = await notesOf(there)
    const beside = names.find((each) => each.startsWith('memory/MEMORY (there '))!
    expect([await show(there, 'MEMORY.md'), await show(here, beside)]).toEqual(['one\n', 'other\n'])
    expect(await notesOf(here)).toEqual(names)
    rmSync(fileOf(there, beside))
    expect(await notesOf(there)).not.toContain(beside)
    expect(await notesOf(here)).toEqual(['MEMORY.md', name])
    const { hits } = await there.ask<{ hits: Hit[] }>('memory.search', { query: 'tea' })
    expect(hits[0]!.path).toBe(fileOf(there, name))
    // A workspace that was lost is filled again, and takes nothing from the others.
    rmSync(there.app.paths.workspace('main'), { recursive: true })
    expect(await notesOf(there)).toEqual(['MEMORY.md', name])
    // A database that was put back from a backup, or is another one, takes nothing from them either.
    const { connection } = here.app.storage.cluster!
    await connection.write("UPDATE memory_file SET revision = 1, body = 'older' WHERE name = 'MEMORY.md'")
    await connection.write('DELETE FROM memory_file WHERE name = $1', [name])
    expect([await show(here, 'MEMORY.md'), await show(here, name)]).toEqual(['older\n\none\n', both[2]])
    expect([await show(there, 'MEMORY.md'), await show(there, name)]).toEqual(['older\n\none\n', both[2]])
  } finally {
    await here.close()
    await there.close()
  }
}, 60_000)

test('a file that one machine took in is there for the turn and for the reply on another, once, and goes with its session', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const here = await openSharedHome(url, 'here')
  const there = await openSharedHome(url, 'there', { isGateway: true })
  const key = 'agent:main:web:direct:file'
  const bytes = randomBytes(2_500_000)
  const keep = async (folder: string, name: string): Promise<string> => {
    const path = join(sessionMediaFolder(here.app.paths.media, 'main', key), folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
    await here.app.storage.media.give(path)
    return path
  }
  const count = async (table: string): Promise<number> =>
    (await here.app.storage.cluster!.connection.read<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]!
      .n
  try {
    const [received, sent] = [await keep('received', 'a.bin'), await keep('one', 'b.bin')]
    expect([await count('media_file'), await count('media_blob'), await count('media_piece')]).toEqual([
      2, 1, 10,
    ])
    const address = { channel: 'web', accountId: 'default', to: 'page' }
    const file = {
      path: received,
      mimeType: 'application/octet-stream',
      bytes: bytes.length,
      kind: 'file' as const,
    }
    const message = aMessage('file', { address, media: [file] })
    await here.app.storage.work.inbox.accept(anInput('file', key, { message }))
    const reply = { text: 'look', media: [sent] }
    const { expiresAt: _, ...delivery } = aDelivery('file', {
      lane: `notices:${formatOriginChannel(address)}`,
      address,
      reply,
    })
    await here.app.storage.work.outbox.add([{ ...delivery, createdAt: Date.now() }])
    const shown: unknown[] = []
    there.app.events.on((event) => event.type === 'web-output' && shown.push(event.output))
    // Another machine has another disk.
    rmSync(here.app.paths.media, { recursive: true })
    await (await there.app.conversations()).start()
    const copy = join(attachmentFolder(there.app.paths.workspace('main'), { agentId: 'main', key }), 'a.bin')
    await vi.waitFor(() => expect(readFileSync(copy).equals(bytes)).toBe(true))
    const files = [{ name: 'b.bin', bytes: bytes.length }]
    await vi.waitFor(() =>
      expect(shown).toContainEqual(
        expect.objectContaining({
          type: 'message',
          message: expect.objectContaining({ text: 'look', files: [expect.objectContaining(files[0])] }),
        }),
      ),
    )
    const told = (): Promise<unknown> => there.ask('web.notices', { chatId: 'page' })
    await vi.waitFor(async () =>
      expect(await told()).toMatchObject({
        notices: [{ text: 'look', files }],
      }),
    )
    await vi.waitFor(async () => expect(await there.app.storage.sessions('main').peek(key)).toBeDefined())
    await (await there.app.conversations()).converse.idle()
    // Claude's own record: entries in the database, and a file where it was resumed.
    const sdkSessionId = randomUUID()
    await there.app.storage.sessions('main').update(key, (entry) => entry && { ...entry, sdkSessionId })
    await here.app.storage.cluster!.connection.write(
      "INSERT INTO claude_entry (project, session, subpath, entry) VALUES ('rockpool', $1, '', '{}')",
      [sdkSessionId],
    )
    const record = join(there.app.environment.claudeConfigDir!, 'projects', 'p', `${sdkSessionId}.jsonl`)
    mkdirSync(dirname(record), { recursive: true })
    writeFileSync(record, '{}\n')
    await here.ask('sessions.delete', { key, purge: true, claudeFile: true })
    expect(await count(`claude_entry WHERE session = '${sdkSessionId}'`)).toBe(0)
    expect([await count('media_file'), await count('media_blob'), await count('media_piece')]).toEqual([
      0, 0, 0,
    ])
    const mine = sessionMediaFolder(there.app.paths.media, 'main', key)
    const left = (): string[] =>
      readdirSync(mine, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => name)
    await vi.waitFor(() => expect([left(), existsSync(copy), existsSync(record)]).toEqual([[], false, false]))
  } finally {
    await here.close()
    await there.close()
  }
}, 60_000)

test('notes and media go to PostgreSQL and to another machine, equal, and a second time nothing is copied', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const config = { store: 'sqlite' }
  const [from, to] = [
    await openSharedHome(url, 'from', { config }),
    await openSharedHome(url, 'to', { config }),
  ]
  const placesOf = ({ app }: SharedHome): string[] => [
    join(app.paths.workspace('main'), 'memory', 'deep', 'é 🦞.md'),
    join(app.paths.agent('main'), 'memory', 'own.md'),
    join(sessionMediaFolder(app.paths.media, 'main', 'k'), 'received', 'a.png'),
    join(app.paths.media, 'outgoing', 'one', 'a b.pdf'),
  ]
  const contents = Buffer.from([0, 255, 10, 13])
  try {
    for (const path of placesOf(from)) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, contents)
    }
    const empty = join(dirname(placesOf(from)[2]!), 'empty.bin')
    writeFileSync(empty, '')
    expect(await from.ask('db.import')).toMatchObject({ media: 3, problems: [] })
    expect(await from.ask('db.import')).toMatchObject({ media: 0, problems: [] })
    expect(await to.ask('db.export')).toMatchObject({ media: 3, problems: [] })
    expect(await to.ask('db.export')).toMatchObject({ media: 0, problems: [] })
    for (const path of placesOf(to)) expect([path, readFileSync(path)]).toEqual([path, contents])
    expect(readFileSync(join(dirname(placesOf(to)[2]!), 'empty.bin'))).toHaveLength(0)
  } finally {
    await from.close()
    await to.close()
  }
}, 60_000)

const anApproval: Approval = {
  id: 'asked',
  agentId: 'main',
  kind: 'tool',
  toolName: 'Bash',
  input: {},
  inputHash: '',
  shown: 'ls',
  state: 'pending',
  askedAt: 1,
  expiresAt: Number.MAX_SAFE_INTEGER,
}
const aGrant: Grant = { id: 'granted', tool: 'Bash', pattern: '*', grantedAt: 1, grantedBy: 'ada' }

/** Files below a folder that have these bytes. */
function filesWith(folder: string, words: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const paths = files.map((entry) => join(entry.parentPath, entry.name))
  return paths.filter((path) => existsSync(path) && readFileSync(path).includes(words))
}

interface Hit {
  sessionKey?: string
  messageId?: string
  path: string
}
