// The trimmed resume with the real binary: thirty recorded sessions with large tool results are trimmed and resumed.
import { execFile } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isRecord } from '../../src/domain/json.ts'
import { parseHandle, recallCut } from '../../src/discovery/trim/recall-cut.ts'
import { writeTrimmed } from '../../src/discovery/trim/write-trim.ts'
import { checkHealth } from '../../src/discovery/transcript-health.ts'
import { claudeBinary, makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { TrimmableTranscript } from '../support/trimmable-transcript.ts'
import { recordSession, runClaude, type RecordedSession } from '../support/recorded-sessions.ts'

const missing = existsSync(claudeBinary) ? undefined : 'the Claude binary is not installed'
const sessions = Number(process.env['TRIM_SESSIONS'] ?? 30)
let api: MessagesApi
let home: ClaudeHome

beforeAll(async () => {
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'trim' })
})
afterAll(async () => {
  await api.close()
  home.remove()
})

test('thirty sessions continue trimmed, with a first request that is at least 40 % smaller', async (ctx) => {
  if (missing) ctx.skip(missing)
  const shares: number[] = []
  for (let n = 0; n < sessions; n++) {
    const recorded = await recordSession(home, api, n)
    shares.push(await trimAndResume(recorded))
  }
  shares.sort((a, b) => a - b)
  const median = shares[Math.floor(shares.length / 2)]!
  console.log(
    `first request, trimmed / whole: median ${median.toFixed(3)}, ${shares[0]!.toFixed(3)} to ${shares.at(-1)!.toFixed(3)}`,
  )
  expect(median).toBeLessThanOrEqual(0.6)
}, 1_800_000)

test('a line of 600 MB is trimmed and recalled with 300 MB of memory at most', async () => {
  const filePath = join(home.tmp, '11111111-2222-4333-8444-555555555555.jsonl')
  writeLongLine(filePath, 300)
  const trim = new URL('../../src/discovery/trim/', import.meta.url)
  const program = `
    import { writeTrimmed } from '${new URL('write-trim.ts', trim).href}'
    import { parseHandle, recallCut } from '${new URL('recall-cut.ts', trim).href}'
    const original = { sessionId: '11111111-2222-4333-8444-555555555555', filePath: ${JSON.stringify(filePath)}, firstMessage: 'x' }
    const copy = await writeTrimmed(original, 'normal', '99999999-2222-4333-8444-555555555555')
    const cut = await recallCut(original.filePath, parseHandle(copy.planned[0].handle), { from: 250_000_000, limit: 10 })
    console.log(JSON.stringify({ cuts: copy.cuts, text: cut.text, megabytes: process.resourceUsage().maxRSS / 1024 }))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  const { megabytes, ...found } = JSON.parse(stdout) as { megabytes: number; cuts: number; text: string }
  console.log(`a line of 600 MB: ${Math.round(megabytes)} MB of memory`)
  expect(found).toEqual({ cuts: 2, text: 'xxxxxxxxxx' })
  expect(megabytes).toBeLessThan(300)
  expect(statSync(join(home.tmp, '99999999-2222-4333-8444-555555555555.jsonl')).size).toBeLessThan(1 << 20)
})

/** A transcript whose first result has this many megabytes, twice in one line, as Claude Code writes it. */
function writeLongLine(filePath: string, megabytes: number): void {
  const talk = new TrimmableTranscript().prompt('Go').call('Bash', { command: 'big' }, 'LONG')
  for (let i = 0; i < 6; i++) talk.prompt('more').call('Bash', { command: 'ls' }, 'z'.repeat(50_000))
  const [before, between, after] = talk.text().split('LONG')
  const fd = openSync(filePath, 'w')
  const chunk = 'x'.repeat(1 << 20)
  for (const text of [before!, between!]) {
    writeSync(fd, text)
    for (let i = 0; i < megabytes; i++) writeSync(fd, chunk)
  }
  writeSync(fd, after!)
  closeSync(fd)
}

/** The size of the first request after the trim, as a share of the last one before it. */
async function trimAndResume({
  sessionId,
  filePath,
  requestBytes,
  keptWords,
}: RecordedSession): Promise<number> {
  const before = readFileSync(filePath)
  const newId = randomUUID()
  const copy = await writeTrimmed({ sessionId, filePath, firstMessage: 'harbour' }, 'normal', newId)
  expect((await checkHealth(newId, copy!.filePath)).verdict).toBe('sound')
  const answer = `As ${keptWords.join(' and ')} say.`
  api.script(`go-on-${newId}`, [{ text: answer }])
  expect(await runClaude(home, `Continue: go-on-${newId}`, '--resume', newId)).toBe(answer)
  const [first] = api.calls().filter((call) => call.sdkSessionId === newId)
  for (const word of keptWords) expect(JSON.stringify(first!.body.messages)).toContain(word)
  expect(readFileSync(filePath).equals(before)).toBe(true)
  await expectRecalled(filePath, before.toString('utf8'), copy!.planned)
  return JSON.stringify(first!.body).length / requestBytes
}

/** Every cut comes back as it stands in the original. */
async function expectRecalled(
  filePath: string,
  original: string,
  cuts: Array<{ handle: string; uuid: string; block: number }>,
): Promise<void> {
  const records = original
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  for (const { handle, uuid, block } of cuts) {
    const { message } = records.find((record) => record['uuid'] === uuid) as {
      message: { content: unknown[] }
    }
    const { content } = message.content[block] as { content: unknown }
    const recalled = await recallCut(filePath, parseHandle(handle), { from: 0, limit: 10_000_000 })
    if (typeof content === 'string') expect(recalled.text === content, handle).toBe(true)
    else expect(recalled.images).toEqual((content as unknown[]).flatMap(imageOf))
  }
}

function imageOf(block: unknown): unknown[] {
  if (!isRecord(block) || block['type'] !== 'image') return []
  const source = block['source'] as { media_type: string; data: string }
  return [{ mediaType: source.media_type, data: source.data }]
}
