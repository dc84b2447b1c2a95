import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { insertRow } from './queries.ts'
import { rebuildStateDatabase, type Salvaged } from './salvage.ts'
import { openStateDatabase } from './state-database.ts'

const count = 400
const record = (n: number): string => JSON.stringify({ text: `the words of message ${n}`.repeat(5) })

const sound = mkdtempSync(join(tmpdir(), 'rockpool-sound-'))
afterAll(() => rmSync(sound, { recursive: true, force: true }))
beforeAll(() => makeState(join(sound, 'rockpool.sqlite')))

/** A state database with rows in tables of both kinds, some of them deleted again. */
async function makeState(path: string): Promise<void> {
  const db = openStateDatabase(path)
  await db.write((q) => {
    for (let n = 1; n <= count; n++) {
      const inbox = { id: n, key: `k${n}`, lane: 'l', agent_id: 'main', state: 'waiting', accepted_at: n }
      insertRow(q, 'inbox', { ...inbox, record: record(n) })
      const answer = {
        who: 'w',
        operation: 'o',
        key: `k${String(n).padStart(5, '0')}`,
        input_hash: 'h',
        at: n,
      }
      insertRow(q, 'answer', { ...answer, output: 'an answer' })
    }
    const person = { channel: 'telegram', account: 'default', name: 'Ada', approved_at: 1 }
    insertRow(q, 'paired_person', { ...person, sender: '1', owner: 1 })
    const rule = { id: 'g', tool: 'Bash', pattern: 'npm test', granted_at: 1, granted_by: 'Ada' }
    insertRow(q, 'grant_always', rule)
  })
  await db.write((q) => q.run('DELETE FROM inbox WHERE id % 4 = 0'))
  await db.emptyLog()
  await db.close()
}

interface Content {
  inbox: Array<{ id: number; record: string }>
  answers: Array<{ key: string }>
  rights: number
}

async function contentOf(path: string): Promise<Content> {
  await using db = openStateDatabase(path)
  expect(db.faults(5)).toEqual([])
  return db.read((q) => ({
    inbox: q.all('SELECT id, record FROM inbox ORDER BY id'),
    answers: q.all('SELECT key FROM answer ORDER BY key'),
    rights: q.all('SELECT id FROM grant_always UNION SELECT sender FROM paired_person').length,
  }))
}

async function damagedBy(spoil: (bytes: Buffer) => void): Promise<{ salvaged: Salvaged; content: Content }> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-salvage-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'rockpool.sqlite')
  const bytes = readFileSync(join(sound, 'rockpool.sqlite'))
  spoil(bytes)
  writeFileSync(path, bytes)
  const salvaged = await rebuildStateDatabase(path)
  expect(readFileSync(salvaged.aside).equals(bytes)).toBe(true)
  const content = await contentOf(path)
  const left = readdirSync(join(path, '..')).filter((name) => /salvage|rebuilt/.test(name))
  expect(left).toEqual([])
  return { salvaged, content }
}

const all = count - count / 4

test('with 50 changed bytes most rows come back, none that was deleted, and what is missing is reported', async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = randomFrom(seed)
    const { salvaged, content } = await damagedBy((bytes) => {
      for (let i = 0; i < 50; i++) {
        const at = Math.floor(random() * bytes.length)
        bytes[at] = bytes[at]! ^ (1 + Math.floor(random() * 255))
      }
    })
    const { inbox, answers } = content
    expect(inbox.filter(({ id }) => id <= count && id % 4 === 0)).toEqual([])
    expect(inbox.length).toBeGreaterThan(all / 2)
    expect(answers.length).toBeGreaterThan(count / 4)
    const unchanged = inbox.filter(({ id, record: text }) => text === record(id))
    expect(unchanged.length).toBeGreaterThan(inbox.length - 50)
    const isLess = inbox.length < all || answers.length < count
    if (isLess) expect(salvaged.incomplete.length + salvaged.dropped).toBeGreaterThan(0)
  }
})

test('a destroyed header costs nothing', async () => {
  const { salvaged, content } = await damagedBy((bytes) => bytes.fill(0x55, 0, 100))
  expect(content.inbox.length).toBe(all)
  expect(content.answers.length).toBe(count)
  expect(salvaged.incomplete).toEqual([])
})

test('a damaged schema costs nothing where its entries can be recognized', async () => {
  const { content } = await damagedBy((bytes) => {
    for (const text of ['CREATE TABLE inbox', 'CREATE TABLE answer'])
      bytes.write('CREATE TXBLQ', bytes.indexOf(text))
  })
  expect(content.inbox.length).toBe(all)
  expect(content.answers.length).toBe(count)
})

test('rows on both sides of a destroyed page come back', async () => {
  const { salvaged, content } = await damagedBy((bytes) => {
    const at = bytes.indexOf(record(201).slice(0, 40))
    bytes.fill(0xff, at - (at % 4096), at - (at % 4096) + 4096)
  })
  const ids = content.inbox.map(({ id }) => id)
  expect(ids).toEqual(expect.arrayContaining([1, 399]))
  expect(ids.length).toBeGreaterThan(all - 40)
  expect(salvaged.incomplete).toEqual(['inbox'])
})

test('rights do not come back from a damaged file', async () => {
  const { content } = await damagedBy((bytes) => bytes.fill(0, 0, 16))
  expect(content.rights).toBe(0)
})

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
