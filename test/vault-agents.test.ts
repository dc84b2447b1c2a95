// Sessions of other agents in the vault: files byte for byte, and the rows of opencode's database in one transaction, never over rows
// that are there.
import { readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readRows, writeRows } from '../src/store/sqlite/session-rows.ts'
import { AgentsHome } from './support/agents-home.ts'

const home = new AgentsHome({
  '.gemini': 'gemini/resumed-later',
  '.local/share/opencode': 'opencode/data',
})

beforeAll(() => home.open())
beforeEach(() => home.fill())
afterAll(() => home.close())

function inDatabase<T>(act: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(home.database)
  try {
    return act(db)
  } finally {
    db.close()
  }
}

/** Every row of a session, by table. */
function rowsOf(id: string): Record<string, unknown[]> {
  const keys = {
    session: 'id',
    message: 'session_id',
    part: 'session_id',
    event: 'aggregate_id',
    event_sequence: 'aggregate_id',
  }
  return inDatabase((db) =>
    Object.fromEntries(
      Object.entries(keys).map(([table, key]) => [
        table,
        db.prepare(`SELECT * FROM ${table} WHERE ${key} = ? ORDER BY 1`).all(id),
      ]),
    ),
  )
}

function deleteRows(id: string): void {
  inDatabase((db) => {
    db.prepare('DELETE FROM event_sequence WHERE aggregate_id = ?').run(id)
    db.prepare('DELETE FROM session WHERE id = ?').run(id)
  })
}

function sessionIds(): string[] {
  return inDatabase((db) => db.prepare('SELECT id FROM session ORDER BY id').all()).map(({ id }) =>
    String(id),
  )
}

test('sessions of other agents are listed, read, found and restored after their files were deleted', async () => {
  const sessions = await home.expectComesBack()
  expect(new Set(sessions.map(({ agentKind }) => agentKind))).toEqual(new Set(['gemini', 'opencode']))
})

test('the rows of one session come back beside the others, with those of its sub-agents', async () => {
  await home.keep()
  const ids = sessionIds()
  const child = inDatabase((db) =>
    db.prepare('SELECT id, parent_id AS parent FROM session WHERE parent_id IS NOT NULL').get(),
  ) as { id: string; parent: string }
  const before = new Map(ids.map((id) => [id, rowsOf(id)]))
  for (const id of [child.parent, child.id]) deleteRows(id)
  expect(await home.call('cc.info', { id: child.parent })).toMatchObject({ session: { kept: true } })
  expect(await home.call('vault.restore', { id: child.parent.toLowerCase() })).toMatchObject({
    conflicts: 0,
    sessions: [{ toContinue: expect.stringContaining(`opencode -s ${child.parent}`) as string }],
  })
  expect(sessionIds()).toEqual(ids)
  for (const id of ids) expect(rowsOf(id), id).toEqual(before.get(id))
})

test('rows that are in the database are never changed, and a restore that fails leaves none behind', async () => {
  await home.keep()
  const vault = await home.app.vault()
  const [first, second] = sessionIds() as [string, string]
  inDatabase((db) => db.exec(`UPDATE session SET title = 'newer', time_updated = 9e12 WHERE id = '${first}'`))
  inDatabase((db) => db.exec(`UPDATE session SET title = 'other' WHERE id = '${second}'`))
  const before = [first, second].map(rowsOf)
  const outcomeOf = async (id: string) => (await vault.restore(id)).at(-1)?.outcome
  expect(await outcomeOf(first)).toBe('longer')
  expect(await outcomeOf(second)).toBe('different')
  expect([first, second].map(rowsOf)).toEqual(before)
  deleteRows(first)
  inDatabase((db) =>
    db.exec("CREATE TRIGGER no BEFORE INSERT ON part BEGIN SELECT RAISE(ABORT, 'a constraint'); END"),
  )
  await expect(vault.restore(first)).rejects.toMatchObject({ code: 'refused' })
  expect(rowsOf(first)).toMatchObject({ session: [], message: [], part: [] })
})

test('forged rows of a session reach no other session, and no table that is not about sessions', async () => {
  await home.keep()
  const [first, second] = sessionIds() as [string, string]
  const text = readRows({ database: home.database, sessionId: first })!.toString()
  const [message] = rowsOf(second)['message'] as [Record<string, unknown>]
  const forged = [
    ['message', { ...message, id: 'msg_forged' }],
    ['session', { ...(rowsOf(second)['session']![0] as object), id: 'ses_forged' }],
    ['project', { id: 'forged', worktree: '/', time_created: 1, time_updated: 1, sandboxes: '[]' }],
  ].map((row) => `${JSON.stringify(row)}\n`)
  const before = [first, second].map(rowsOf)
  const projects = inDatabase((db) => db.prepare('SELECT * FROM project').all())
  deleteRows(first)
  const lines = text.split('\n')
  const mixed = [...lines.slice(0, 1), ...forged.map((line) => line.trim()), ...lines.slice(1)].join('\n')
  expect(writeRows({ database: home.database, sessionId: first }, Buffer.from(mixed))).toBe('restored')
  expect([first, second].map(rowsOf)).toEqual(before)
  expect(sessionIds()).not.toContain('ses_forged')
  expect(inDatabase((db) => db.prepare('SELECT * FROM project').all())).toEqual(projects)
})

test('a forged copy makes only empty tables in a database that is missing: it runs no query, which may never end', async () => {
  await home.keep()
  const [sessionId] = sessionIds() as [string]
  const [head, ...rows] = readRows({ database: home.database, sessionId })!.toString().split('\n')
  const forged = JSON.parse(head!) as { schema: string[] }
  const endless = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9) SELECT x FROM n'
  forged.schema.push(`CREATE TABLE endless AS ${endless}`, `CREATE TABLE "(" AS ${endless}`)
  const database = join(dirname(home.database), 'made', 'opencode.db')
  const text = [JSON.stringify(forged), ...rows].join('\n')
  expect(writeRows({ database, sessionId }, Buffer.from(text))).toBe('restored')
  const made = new DatabaseSync(database)
  const names = made.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
  made.close()
  expect(names.map(({ name }) => name)).toContain('session')
  expect(names.map(({ name }) => name)).not.toContain('endless')
  expect(names.map(({ name }) => name)).not.toContain('(')
})

test('what is appended to a session of opencode is kept, an unchanged one is not read again, and a lost database is made', async () => {
  await home.keep()
  expect(await home.keep()).toBe(0)
  const [id] = sessionIds() as [string]
  inDatabase((db) => {
    const { data } = db.prepare('SELECT data FROM message WHERE session_id = ?').get(id)!
    const insert = db.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?)')
    insert.run('msg_zz', id, 2e12, 2e12, String(data))
  })
  expect(await home.keep()).toBeGreaterThan(0)
  const now = rowsOf(id)
  const folder = dirname(home.database)
  for (const name of readdirSync(folder)) if (name.startsWith('opencode.db')) rmSync(join(folder, name))
  await (await home.app.vault()).restore(id)
  expect(rowsOf(id)).toEqual(now)
})
