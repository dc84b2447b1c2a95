import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { contextOf } from './plan-trim.ts'
import { parseHandle, recallCut } from './recall-cut.ts'
import { previewTrim, writeTrimmed } from './write-trim.ts'
import { checkHealth } from '../transcript-health.ts'
import {
  longOutput as long,
  originalId as sessionId,
  TrimmableTranscript as Talk,
} from '../../../test/support/trimmable-transcript.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-trim-'))
afterAll(() => rmSync(folder, { recursive: true }))

const copyId = '99999999-2222-4333-8444-555555555555'
type Line = Record<string, unknown>

/** Writes the transcript; the copy of an earlier test is removed. */
function written(talk: Talk): { sessionId: string; filePath: string; firstMessage: string } {
  const filePath = join(folder, `${sessionId}.jsonl`)
  writeFileSync(filePath, talk.text())
  rmSync(join(folder, `${copyId}.jsonl`), { force: true })
  return { sessionId, filePath, firstMessage: 'Look at the harbour' }
}

function linesOf(filePath: string): Line[] {
  return readFileSync(filePath, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(10) } }

test('old results become notes, the last ones, prompts, edits and short results stay, and each cut comes back', async () => {
  const talk = new Talk().prompt('Look at the harbour')
  for (let i = 0; i < 8; i++) talk.call('Bash', { command: `cat ${i}` }, `${i} ${long}`)
  talk.call('Bash', { command: 'pwd' }, '/home')
  talk.call('Edit', { file_path: '/a', old_string: long, new_string: 'x' }, 'ok')
  for (let i = 0; i < 5; i++) talk.call('Read', { file_path: `/f${i}` }, `${i} ${long}`)
  const original = written(talk)
  const before = readFileSync(original.filePath)
  const copy = (await writeTrimmed(original, 'normal', copyId))!
  expect(copy).toMatchObject({ level: 'normal', cuts: 8, tokensBefore: 90_015 })
  expect(readFileSync(original.filePath).equals(before)).toBe(true)
  const lines = linesOf(copy.filePath)
  expect((await checkHealth(copyId, copy.filePath)).verdict).toBe('sound')
  const kept = (line: Line): unknown[] => [line['type'], line['uuid'], line['parentUuid']]
  expect(lines.slice(0, -1).map(kept)).toEqual(talk.lines.map(kept))
  expect(new Set(lines.map((line) => line['sessionId']))).toEqual(new Set([copyId]))
  expect(lines.at(-1)).toMatchObject({ type: 'custom-title', customTitle: 'Look at the harbour (trimmed)' })
  const text = JSON.stringify(lines)
  expect(text).toContain('[Cut by Rockpool: Bash cat 0 (')
  expect(text.split('[Cut by').length - 1).toBe(8)
  expect(text).toContain(JSON.stringify(long).slice(1, -1))
  for (const { handle, what } of copy.planned) {
    const { text: recalled } = await recallCut(original.filePath, parseHandle(handle), {
      from: 0,
      limit: 1e6,
    })
    expect(recalled).toBe(`${what.at(-1)} ${long}`)
  }
})

test('the usage of the last answer is lowered by what was cut, so that Claude Code does not compact at once', async () => {
  const talk = new Talk().prompt('Go')
  for (let i = 0; i < 12; i++) talk.call('Bash', { command: `${i}` }, long)
  const copy = (await writeTrimmed(written(talk), 'hard', copyId))!
  const answers = linesOf(copy.filePath).filter((line) => line['type'] === 'assistant')
  const contexts = answers.map((line) => contextOf((line['message'] as Line)['usage']))
  expect(contexts.slice(0, -1)).toEqual(Array(11).fill(90_015))
  expect(contexts.at(-1)).toBe(copy.tokensAfter)
  expect(copy.tokensAfter).toBeLessThan(70_000)
})

test('a read is cut when a later call read or wrote the whole file; the notes say why', async () => {
  const short = 'x'.repeat(1_000)
  const talk = new Talk().prompt('Go')
  talk.call('Read', { file_path: '/a' }, short).call('Read', { file_path: '/b', offset: 5 }, short)
  talk.call('Read', { file_path: '/c' }, short).call('Read', { file_path: '/d' }, short)
  talk.call('Read', { file_path: '/a' }, short).call('Read', { file_path: '/b', offset: 9 }, short)
  talk.call('Write', { file_path: '/c', content: 'y' }, 'ok')
  talk.call('Read', { file_path: '/d' }, 'no such file', { is_error: true })
  talk.prompt('And now?')
  for (let i = 0; i < 3; i++) talk.prompt('more').call('Bash', { command: 'ls' }, 'z'.repeat(50_000))
  const { planned } = await previewTrim(written(talk), 'normal')
  expect(planned.map(({ what, why }) => `${what} ${why}`)).toEqual([
    'Read /a superseded',
    'Read /c superseded',
  ])
})

test('images of old results and prompts are cut, with their text kept, and come back whole', async () => {
  const talk = new Talk().prompt([{ type: 'text', text: 'See this' }, image])
  talk.joined([{ type: 'text', text: 'And this' }, image])
  talk.call('Read', { file_path: '/p.png' }, [{ type: 'text', text: 'a picture' }, image])
  for (let i = 0; i < 6; i++) talk.prompt('more').call('Bash', { command: 'ls' }, 'z'.repeat(50_000))
  const original = written(talk)
  const copy = (await writeTrimmed(original, 'normal', copyId))!
  const [prompt, joined, , result] = linesOf(copy.filePath)
  expect(JSON.stringify(prompt)).toMatch(/See this.*Cut by Rockpool: image of a prompt/)
  expect(JSON.stringify(joined)).toMatch(/And this.*Cut by Rockpool: image of a prompt/)
  expect(JSON.stringify(result)).toMatch(/a picture.*Cut by Rockpool: Read \/p\.png \(image\)/)
  expect(JSON.stringify([prompt, joined, result])).not.toContain('AAAA')
  for (const { handle } of copy.planned.filter(({ why }) => why === 'image')) {
    const { images } = await recallCut(original.filePath, parseHandle(handle), { from: 0, limit: 100 })
    expect(images).toEqual([{ mediaType: 'image/png', data: image.source.data }])
  }
})

test('what a compaction replaced and what was rewound is not counted, and without a cut there is no copy', async () => {
  const talk = new Talk().prompt('Go').call('Bash', { command: 'ls' }, long)
  talk.record({
    type: 'system',
    subtype: 'compact_boundary',
    parentUuid: null,
    logicalParentUuid: talk.lines.at(-1)!['uuid'],
  })
  talk.prompt('Summary')
  for (let i = 0; i < 5; i++) talk.call('Bash', { command: 'ls' }, long)
  expect(await writeTrimmed(written(talk), 'normal', copyId)).toBeUndefined()
})

/** Gives records other ids, and their successors the new parents. */
function withIds(talk: Talk, ids: Record<number, string>): Talk {
  for (const [i, line] of talk.lines.entries()) {
    line['uuid'] = ids[i] ?? line['uuid']
    line['parentUuid'] = talk.lines[i - 1]?.['uuid'] ?? null
  }
  return talk
}

test.each([
  { ids: { 2: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000001', 4: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000002' } },
  { ids: { 2: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000001', 4: 'aaaaaaaa-bbbb-4ccc-8ddd-000000000001' } },
  { ids: { 2: 'msg_one_result_of_a_tool', 4: 'r2' } },
])('a result that its handle could not bring back stays whole: %j', async ({ ids }) => {
  const talk = new Talk().prompt('Go')
  for (const name of ['one', 'two', 'three']) talk.call('Bash', { command: name }, `${name} ${long}`)
  for (let i = 0; i < 3; i++) talk.prompt('more').call('Bash', { command: 'ls' }, 'z'.repeat(50_000))
  const original = written(withIds(talk, ids))
  const copy = (await writeTrimmed(original, 'hard', copyId))!
  expect(copy.planned.map(({ what }) => what)).toEqual(['Bash three', 'Bash ls'])
  const text = JSON.stringify(linesOf(copy.filePath))
  for (const whole of ['one', 'two']) expect(text).toContain(JSON.stringify(`${whole} ${long}`).slice(1, -1))
  const [first] = copy.planned
  const cut = await recallCut(original.filePath, parseHandle(first!.handle), { from: 0, limit: 1e6 })
  expect(cut.text).toBe(`three ${long}`)
})

test('a prompt with very many images is trimmed; each of them once took as long as all together', async () => {
  const talk = new Talk().prompt(Array.from({ length: 220_000 }, () => ({ type: 'image' })))
  for (let i = 0; i < 3; i++) talk.prompt('more').call('Bash', { command: 'ls' }, 'z'.repeat(50_000))
  const copy = (await writeTrimmed(written(talk), 'normal', copyId))!
  expect(copy.planned.filter(({ why }) => why === 'image')).toHaveLength(220_000)
})

test('a long cut comes back in parts, and a wrong handle is refused', async () => {
  const talk = new Talk().prompt('Go').call('Bash', { command: 'big' }, 'Aß🦐\\"'.repeat(500_000))
  for (let i = 0; i < 6; i++) talk.prompt('more').call('Bash', { command: 'ls' }, 'z'.repeat(50_000))
  const original = written(talk)
  const { planned } = await previewTrim(original, 'normal')
  const handle = parseHandle(planned[0]!.handle)
  const part = await recallCut(original.filePath, handle, { from: 1_800_000, limit: 12 })
  expect(part).toEqual({ text: 'Aß🦐\\"Aß🦐\\"', from: 1_800_000, next: 1_800_012, images: [] })
  const end = await recallCut(original.filePath, handle, { from: 2_999_994, limit: 100 })
  expect(end).toMatchObject({ text: 'Aß🦐\\"', next: undefined })
  expect(() => parseHandle('../../etc/passwd')).toThrow(/is not the handle/)
  const unknown = { ...handle, record: 'ffffffff-ffff' }
  await expect(recallCut(original.filePath, unknown, { from: 0, limit: 1 })).rejects.toThrow(/has no record/)
})
