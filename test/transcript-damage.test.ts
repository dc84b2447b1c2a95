// The faults of transcripts that real OpenClaw does not survive, and worse. Reading shows what is readable and says
// what is not; appending never buries anything; no byte is destroyed.
import {
  appendFileSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { FileTranscripts } from '../src/store/transcripts/transcript-file.ts'
import { inspectTranscript, repairTranscript } from '../src/store/transcripts/transcript-repair.ts'
import {
  all,
  answered,
  cwd,
  isChain,
  lines,
  pathOf,
  put,
  said,
  talk,
  textsOf,
  transcriptFolder,
} from './support/transcript-folder.ts'

const one = { sessionId: 'aaaaaaaa-0000-4000-8000-000000000001' }

/** A transcript of ten messages, and a store that has not seen it before. */
async function tenMessages() {
  const folder = transcriptFolder()
  await folder.transcripts.append(one, talk(10), { cwd })
  const file = folder.file(one.sessionId)
  return { ...folder, file, fresh: () => new FileTranscripts({ agentId: 'main', dir: folder.dir }) }
}

async function damageOf(transcripts: FileTranscripts): Promise<string[]> {
  const said: string[] = []
  await pathOf(transcripts, one, (what) => said.push(what))
  return said
}

describe('a torn last line', () => {
  test('is reported and left in place by a reader', async () => {
    const { file, fresh } = await tenMessages()
    truncateSync(file, readFileSync(file).length - 20)
    const before = readFileSync(file)
    const page = await fresh().tail(one, 50)
    expect(page.entries).toHaveLength(9)
    expect(page.damage).toEqual([expect.stringContaining('torn')])
    expect(readFileSync(file)).toEqual(before)
  })

  test('moves beside the file when something is appended, and the conversation stays whole', async () => {
    const { file, fresh } = await tenMessages()
    const whole = readFileSync(file, 'utf8')
    truncateSync(file, Buffer.byteLength(whole) - 20)
    await fresh().append(one, [said('after the crash')], { cwd })
    expect(await textsOf(fresh(), one)).toEqual([
      ...Array.from({ length: 9 }, (_, n) => `${n % 2 ? 'a' : 'q'}${n + 1}`),
      'after the crash',
    ])
    expect(isChain(await pathOf(fresh(), one))).toBe(true)
    expect(readFileSync(`${file}.torn`, 'utf8')).toBe(`${whole.split('\n').at(-2)!.slice(0, -19)}\n`)
    expect(await damageOf(fresh())).toEqual([])
  })

  test('at any length loses nothing but itself', async () => {
    const { file, fresh } = await tenMessages()
    const whole = readFileSync(file)
    const start = whole.lastIndexOf('\n', whole.length - 2) + 1
    for (let length = start; length < whole.length; length += 7) {
      writeFileSync(file, whole.subarray(0, length))
      await fresh().append(one, [said('next')], { cwd })
      expect((await textsOf(fresh(), one)).slice(0, 9)).toHaveLength(9)
      expect((await textsOf(fresh(), one)).at(-1)).toBe('next')
    }
  })

  test('that is the header gives a new header, and keeps the bytes', async () => {
    const { file, fresh } = await tenMessages()
    put(file, readFileSync(file).subarray(0, 40))
    await fresh().append(one, [said('anew')], { cwd })
    expect(await fresh().header(one)).toMatchObject({ id: one.sessionId, version: 3 })
    expect(await textsOf(fresh(), one)).toEqual(['anew'])
    expect(existsSync(`${file}.torn`)).toBe(true)
  })
})

describe('what another program did to the end', () => {
  test('a whole last line without a newline is kept, and the next one does not stick to it', async () => {
    const { file, fresh } = await tenMessages()
    truncateSync(file, readFileSync(file).length - 1)
    await fresh().append(one, [said('next')], { cwd })
    expect(await textsOf(fresh(), one)).toHaveLength(11)
    expect(existsSync(`${file}.torn`)).toBe(false)
  })

  test('an entry that was glued to a torn line is found again, with all before it', async () => {
    const { file, fresh } = await tenMessages()
    const [last] = lines(file).slice(-1)
    truncateSync(file, readFileSync(file).length - 20)
    appendFileSync(
      file,
      `${JSON.stringify({ type: 'message', id: 'feedbeef', parentId: JSON.parse(last!).id, timestamp: '2026-01-01T00:00:00.000Z', message: { role: 'user', content: 'glued', timestamp: 1 } })}\n`,
    )
    expect(await textsOf(fresh(), one)).toEqual([
      ...Array.from({ length: 9 }, (_, n) => `${n % 2 ? 'a' : 'q'}${n + 1}`),
      'glued',
    ])
    expect(await damageOf(fresh())).toEqual([expect.stringContaining('torn')])
  })

  test('NUL bytes at the end hide neither what was before nor what comes after', async () => {
    const { file, fresh } = await tenMessages()
    appendFileSync(file, Buffer.alloc(4096))
    expect(await textsOf(fresh(), one)).toHaveLength(10)
    await fresh().append(one, [said('next')], { cwd })
    expect((await textsOf(fresh(), one)).slice(-2)).toEqual(['a10', 'next'])
  })

  test('an entry that another program appended behind NUL bytes is found', async () => {
    const { file, fresh } = await tenMessages()
    const last = JSON.parse(lines(file).at(-1)!)
    appendFileSync(file, Buffer.alloc(100))
    appendFileSync(file, `${JSON.stringify({ ...last, id: '0badcafe', parentId: last.id })}\n`)
    expect(await textsOf(fresh(), one)).toHaveLength(11)
  })

  test('an old line repeated at the end does not move the conversation back', async () => {
    const { file, fresh } = await tenMessages()
    appendFileSync(file, `${lines(file)[3]}\n`)
    expect(await textsOf(fresh(), one)).toHaveLength(10)
    expect(await damageOf(fresh())).toEqual([expect.stringContaining('repeats')])
    await fresh().append(one, [said('next')], { cwd })
    expect(await textsOf(fresh(), one)).toHaveLength(11)
  })

  test('an entry without a parent hangs below the one before it', async () => {
    const { file, fresh } = await tenMessages()
    appendFileSync(
      file,
      '{"type":"message","id":"5afe0000","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"status"}]}}\n',
    )
    await fresh().append(one, [said('next')], { cwd })
    expect((await textsOf(fresh(), one)).slice(-3)).toEqual(['a10', 'status', 'next'])
  })
})

describe('damage elsewhere', () => {
  test('a damaged or missing header hides no message; reading changes nothing, and the next append repairs it', async () => {
    for (const spoil of [
      (text: string) => `{"x${text.slice(3)}`,
      (text: string) => text.slice(text.indexOf('\n') + 1),
    ]) {
      const { file, fresh } = await tenMessages()
      put(file, spoil(readFileSync(file, 'utf8')))
      const before = readFileSync(file)
      expect(await textsOf(fresh(), one)).toHaveLength(10)
      expect((await fresh().tail(one, 3)).damage).toContain('the header is missing')
      expect(readFileSync(file)).toEqual(before)
      await fresh().append(one, [said('next')], { cwd })
      // A program that reads only files that begin with a header reads all of it again; what was there is kept.
      expect(JSON.parse(lines(file)[0]!)).toMatchObject({ type: 'session', version: 3, id: one.sessionId })
      expect(await textsOf(fresh(), one)).toHaveLength(11)
      expect(isChain(await pathOf(fresh(), one))).toBe(true)
      const [archive] = await fresh().archives()
      expect(readFileSync(join(dirname(file), archive!.name))).toEqual(before)
    }
  })

  test('one damaged line in the middle loses one message', async () => {
    const { file, fresh } = await tenMessages()
    const text = lines(file)
    text[5] = text[5]!.replace('{"type"', '{"ty\u0000e')
    put(file, `${text.join('\n')}\n`)
    expect(await textsOf(fresh(), one)).toEqual(['q1', 'a2', 'q3', 'a4', 'a6', 'q7', 'a8', 'q9', 'a10'])
    expect(await damageOf(fresh())).toEqual(['line 6 is not JSON'])
  })

  test('a circle of parents ends', async () => {
    const { file, fresh } = await tenMessages()
    const text = lines(file).map((line) => JSON.parse(line))
    text[1].parentId = text[10].id
    put(file, `${text.map((line) => JSON.stringify(line)).join('\n')}\n`)
    expect(await textsOf(fresh(), one)).toHaveLength(10)
    expect(await damageOf(fresh())).toEqual([expect.stringContaining('its own ancestor')])
    await fresh().append(one, [said('next')], { cwd })
    expect(await textsOf(fresh(), one)).toHaveLength(11)
    // Other programs follow a circle for ever, so that the append ends it.
    expect(await damageOf(fresh())).toEqual([])
    expect(isChain(await pathOf(fresh(), one))).toBe(true)
  })

  test('bytes that are no text are read past, found by an inspection and gone after a repair', async () => {
    const { file, fresh } = await tenMessages()
    const bytes = readFileSync(file)
    bytes[bytes.indexOf('"a4"') + 1] = 0xff
    put(file, bytes)
    expect(await textsOf(fresh(), one)).toHaveLength(10)
    expect(await inspectTranscript(file)).toEqual(['line 5 is not valid UTF-8'])
    await repairTranscript(file, systemClock)
    expect(await inspectTranscript(file)).toEqual([])
    expect(await textsOf(fresh(), one)).toHaveLength(10)
  })

  test('unknown types are kept and walked through', async () => {
    const { file, fresh, transcripts } = await tenMessages()
    const last = JSON.parse(lines(file).at(-1)!)
    const unknown = {
      type: 'from_the_future',
      id: '01234567',
      parentId: last.id,
      timestamp: '2026-01-01T00:00:00.000Z',
      depth: { of: 'field' },
    }
    appendFileSync(file, `${JSON.stringify(unknown)}\n`)
    await transcripts.append(one, [said('next')], { cwd })
    const path = await pathOf(fresh(), one)
    expect(path).toContainEqual(unknown)
    expect(isChain(path)).toBe(true)
  })

  test('CRLF, a byte order mark and empty lines are no damage', async () => {
    const { file, fresh } = await tenMessages()
    put(file, `\ufeff${lines(file).join('\r\n\r\n')}\r\n`)
    expect(await textsOf(fresh(), one)).toHaveLength(10)
    expect(await damageOf(fresh())).toEqual([])
    expect((await fresh().header(one))?.id).toBe(one.sessionId)
    expect((await fresh().tail(one, 3)).damage).toEqual([])
  })

  test('lines that are no objects, nested too deeply or UTF-16 are counted out', async () => {
    const { file, fresh } = await tenMessages()
    const deep = `{"type":"custom","customType":"x","data":${'['.repeat(5000)}${']'.repeat(5000)}}`
    appendFileSync(file, `42\n[]\nnull\n"text"\n{}\n${deep}\n`)
    appendFileSync(file, Buffer.from('{"type":"message"}', 'utf16le'))
    expect(await textsOf(fresh(), one)).toHaveLength(10)
    expect(await damageOf(fresh())).toHaveLength(7)
    await fresh().append(one, [said('next')], { cwd })
    expect(await textsOf(fresh(), one)).toHaveLength(11)
  })

  test('a key named __proto__ in a line changes no object', async () => {
    const { file, fresh } = await tenMessages()
    appendFileSync(
      file,
      '{"type":"custom","customType":"x","__proto__":{"polluted":true},"data":{"__proto__":{"polluted":true}}}\n',
    )
    await all(fresh().read(one))
    await pathOf(fresh(), one)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  test('the reading of an empty, blank or foreign file says so and throws nothing', async () => {
    const { dir, file, transcripts } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    for (const content of ['', '\n\n\n', 'hello\nworld\n', '\0\0\0\0', '{', '[]']) {
      put(file(one.sessionId), content)
      const page = await transcripts.tail(one, 5)
      expect(page.entries).toEqual([])
      expect(page.header).toBeUndefined()
      expect(page.damage).toContain('the header is missing')
    }
  })
})

describe('sizes', () => {
  test('a line that is too long to be held is passed over, from both ends, in bounded memory', async () => {
    const { file, fresh } = await tenMessages()
    await appendHuge(file, 120 << 20)
    await fresh().append(one, [said('behind it')], { cwd })
    const before = process.memoryUsage().rss
    expect((await fresh().tail(one, 50)).entries).toHaveLength(11)
    const damage: string[] = []
    expect(await all(fresh().read(one, (what) => damage.push(what)))).toHaveLength(11)
    expect(damage).toEqual([expect.stringMatching(/^line 12 is too long \(\d+ bytes\)$/)])
    expect(process.memoryUsage().rss - before).toBeLessThan(100 << 20)
  })

  test('the last entries and an append need only the end of a large file', async (ctx) => {
    if (!existsSync('/proc/self/io')) ctx.skip('this system does not count what a process reads')
    const { file, fresh } = await tenMessages()
    const last = JSON.parse(lines(file).at(-1)!)
    const entry = {
      ...last,
      message: { ...last.message, content: [{ type: 'text', text: 'x'.repeat(100_000) }] },
    }
    let parentId = last.id
    for (let n = 0; n < 300; n++) {
      const id = `0000${n.toString(16).padStart(4, '0')}`
      appendFileSync(file, `${JSON.stringify({ ...entry, id, parentId })}\n`)
      parentId = id
    }
    const readBytes = (): number => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))![1])
    const before = readBytes()
    expect((await fresh().tail(one, 5)).entries).toHaveLength(5)
    const [added] = await fresh().append(one, [said('next')], { cwd })
    expect(readBytes() - before).toBeLessThan(6 << 20)
    expect(added!.parentId).toBe(parentId)
  })

  test('a million empty lines cost little', async () => {
    const { file, fresh } = await tenMessages()
    appendFileSync(file, '\n'.repeat(1_000_000))
    await fresh().append(one, [answered('x')], { cwd })
    expect((await fresh().tail(one, 1)).entries).toHaveLength(1)
    expect(await textsOf(fresh(), one)).toHaveLength(11)
  })
})

async function appendHuge(file: string, bytes: number): Promise<void> {
  const out = createWriteStream(file, { flags: 'a' })
  const piece = Buffer.alloc(1 << 20, 'x')
  out.write('{"type":"message","message":"')
  for (let n = 0; n < bytes; n += piece.length) if (!out.write(piece)) await once(out, 'drain')
  out.end('"}\n')
  await once(out, 'close')
}
