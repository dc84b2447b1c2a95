import {
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { breakSync } from '../../../test/support/break-sync.ts'
import { Database } from './database.ts'

const folders: string[] = []
const schema = ['CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT']

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-db-'))
  folders.push(folder)
  return join(folder, 'x.sqlite')
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

test('writes that meet share a transaction, and one that throws undoes only itself', async () => {
  const db = Database.open(newPath(), schema)
  const insert = (name: string) => db.write((q) => q.run('INSERT INTO thing (name) VALUES (?)', name))
  const outcomes = await Promise.allSettled([insert('a'), insert('b'), insert('a'), insert('c')])
  expect(outcomes.map((o) => o.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(
    db.read((q) => q.all<{ name: string }>('SELECT name FROM thing ORDER BY name').map((r) => r.name)),
  ).toEqual(['a', 'b', 'c'])
  await db.close()
})

test('a write that throws by itself is run once; one whose neighbour throws may be run again', async () => {
  const db = Database.open(newPath(), schema)
  let runs = 0
  const refused = db.write((q) => {
    runs++
    q.run('INSERT INTO thing (name) VALUES (?)', 'undone')
    throw new Error('no')
  })
  await expect(refused).rejects.toThrow('no')
  expect(runs).toBe(1)
  expect(db.read((q) => q.all('SELECT name FROM thing'))).toEqual([])
  const other = db.write((q) => {
    runs++
    return q.run('INSERT INTO thing (name) VALUES (?)', 'a').changes
  })
  const failing = db.write((q) => q.exec('INSERT INTO nothing VALUES (1)'))
  await expect(failing).rejects.toThrow(/nothing/)
  expect(await other).toBe(1)
  expect(runs).toBe(3)
  await db.close()
})

test.runIf(process.platform === 'linux')(
  'a write fails if the log cannot be synced, and the next one writes everything again, to the database itself',
  async () => {
    const path = newPath()
    const db = Database.open(path, schema)
    const insert = (name: string) => db.write((q) => q.run('INSERT INTO thing (name) VALUES (?)', name))
    await insert('a')
    const repair = breakSync(`${path}-wal`)
    await expect(insert('b')).rejects.toMatchObject({ code: 'disk-failed' })
    repair()
    await insert('c')
    expect(statSync(`${path}-wal`).size).toBe(0)
    await insert('d')
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
    await db.close()
  },
)

test('a database of a newer Rockpool is refused and left alone', async () => {
  const path = newPath()
  await Database.open(path, [...schema, 'CREATE TABLE more (id INTEGER)']).close()
  expect(() => Database.open(path, schema)).toThrow(/newer Rockpool/)
})

test('a migration keeps the rows and leaves a copy of the older file', async () => {
  const path = newPath()
  const old = Database.open(path, schema)
  await old.write((q) => q.run("INSERT INTO thing (name) VALUES ('kept')"))
  await old.close()
  const migrated = Database.open(path, [...schema, 'ALTER TABLE thing ADD COLUMN size INTEGER'])
  expect(migrated.read((q) => q.get('SELECT name, size FROM thing'))).toEqual({ name: 'kept', size: null })
  await migrated.close()
  const backup = Database.open(`${path}.before-migration-1`, schema, { readOnly: true })
  expect(backup.read((q) => q.get('SELECT count(*) AS n FROM thing'))).toEqual({ n: 1 })
  await backup.close()
})

test('a file that is no database is reported as damaged', async () => {
  const path = newPath()
  writeFileSync(
    path,
    'this is not a database, it is a text of more than a hundred bytes, so that SQLite looks at it properly',
  )
  expect(() => Database.open(path, schema)).toThrow(/cannot be read/)
})

test('an empty file is reported as damaged where nothing else has its content, and its log is kept', async () => {
  const path = newPath()
  const db = Database.open(path, schema)
  await db.write((q) => q.run("INSERT INTO thing (name) VALUES ('in the log')"))
  const logBytes = statSync(`${path}-wal`).size
  truncateSync(path)
  utimesSync(path, 1, 1)
  for (const readOnly of [false, true])
    expect(() => Database.open(path, schema, { readOnly, isOnlyCopy: true })).toThrow(
      /is damaged and cannot be read/,
    )
  expect(statSync(`${path}-wal`).size).toBe(logBytes)
})

test('a new database has its schema from the first moment, and leaves no other file', async () => {
  const path = newPath()
  const seesFile: boolean[] = []
  const look = (): string => {
    seesFile.push(existsSync(path))
    return ''
  }
  await Database.open(path, [...schema, look]).close()
  expect(seesFile).toEqual([false])
  expect(readdirSync(join(path, '..'))).toEqual(['x.sqlite'])
})

test('a link to nothing is not followed', () => {
  const path = newPath()
  symlinkSync(`${path}.elsewhere`, path)
  expect(() => Database.open(path, schema)).toThrow(/is a link/)
  expect(readdirSync(join(path, '..'))).toEqual(['x.sqlite'])
})

test('a write that comes after the end is refused, and nothing waits for it', async () => {
  const db = Database.open(newPath(), schema)
  await db.close()
  await expect(db.write((q) => q.run('INSERT INTO thing (name) VALUES (1)'))).rejects.toThrow(/not open/)
})
