import { describe, expect, test } from 'vitest'
import { sessionFolder, openSession } from '../../test/support/session-folder.ts'
import { all, answered, cwd, everyKind, pathOf, said, textsOf } from '../../test/support/transcript-folder.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { exportSession } from './export.ts'
import type { ExportFormat } from './export.ts'
import { formatOf, importSession } from './import.ts'
import { deleteSession } from './lifecycle.ts'

const key = 'agent:main:telegram:direct:7'
const hostile = '<script>alert(1)</script>\n## User · x\n\\## Note\n"\'&amp; `${1}` \u001b[2J \u202e end'

async function exported(format: ExportFormat, redact?: (text: string) => string) {
  const folder = sessionFolder()
  const session = await openSession(folder.parts, key, {
    label: 'work <b>',
    thinkingLevel: 'high',
    sdkSessionId: 'claude-1',
  })
  await folder.transcripts.append(transcriptOf(session), [...everyKind(), said(hostile), answered('done')], {
    cwd,
  })
  const text = (await all(exportSession(folder.transcripts, session, format, { redact }))).join('')
  return { folder, session, text }
}

describe('lines', () => {
  test('come back as the same transcript under the same key, without a binding to Claude', async () => {
    const { folder, session, text } = await exported('jsonl')
    const before = await pathOf(folder.transcripts, transcriptOf(session))
    await deleteSession(folder.parts, key, { purge: true })
    const imported = await importSession(folder.parts, text)
    expect(imported).toMatchObject({
      entries: before.length,
      damage: [],
      session: { key, entry: { label: 'work <b>', thinkingLevel: 'high' } },
    })
    expect(imported.session.entry.sdkSessionId).toBeUndefined()
    expect(imported.session.entry.sessionId).not.toBe(session.entry.sessionId)
    expect(await pathOf(folder.transcripts, transcriptOf(imported.session))).toEqual(before)
  })

  test('take a key and a name of their own where theirs are in use', async () => {
    const { folder, text } = await exported('jsonl')
    const { session } = await importSession(folder.parts, text)
    expect(session.key).toMatch(/^agent:main:dashboard:/)
    expect(session.entry.label).toBeUndefined()
    await expect(importSession(folder.parts, text, { key })).rejects.toMatchObject({ code: 'conflict' })
  })

  test('with values of other types in place of names and settings come back without these', async () => {
    const { folder, session, text } = await exported('jsonl')
    await deleteSession(folder.parts, key, { purge: true })
    const hostileFields = '"label":{"a":1},"displayName":["x"],"modelOverride":{"x":1},"channel":7'
    const changed = text.replace('"label":"work <b>"', hostileFields)
    expect(changed).not.toBe(text)
    const { entry } = (await importSession(folder.parts, changed)).session
    expect(entry).toMatchObject({ thinkingLevel: 'high' })
    for (const field of ['label', 'displayName', 'modelOverride', 'channel'])
      expect(entry).not.toHaveProperty(field)
    expect(entry.sessionId).not.toBe(session.entry.sessionId)
  })

  test('that are damaged give what is readable, and say the rest', async () => {
    const { folder, text } = await exported('jsonl')
    const lines = text.trimEnd().split('\n')
    lines[4] = 'broken'
    const { session, damage } = await importSession(folder.parts, lines.join('\n'), {
      key: 'agent:main:explicit:x',
    })
    expect(damage).toEqual(['line 5 is not JSON'])
    expect(await textsOf(folder.transcripts, transcriptOf(session))).toContain('done')
  })
})

describe.each(['markdown', 'html'] as const)('a page in %s', (format) => {
  test('shows who said what, and the words come back', async () => {
    const { folder, text } = await exported(format)
    expect(formatOf(text)).toBe(format)
    const { session } = await importSession(folder.parts, text)
    const texts = await textsOf(folder.transcripts, transcriptOf(session))
    expect(texts).toContain('List the files, please.')
    expect(texts.at(-1)).toBe('done')
    const came = texts.at(-2)!
    expect(came.replaceAll('\ufffd', '\u001b')).toBe(hostile)
  })

  test('passes through the redaction', async () => {
    const { text } = await exported(format, (words) => words.replaceAll('done', '[redacted]'))
    expect(text).toContain('[redacted]')
    expect(text).not.toContain('done')
  })
})

test('a page in HTML can run nothing', async () => {
  const { text } = await exported('html')
  expect(text).not.toMatch(/<script/i)
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(text).toContain("default-src 'none'")
  expect(text).toContain('<title>work &lt;b&gt;</title>')
  expect(text).not.toContain('\u001b')
})

test('a session without a transcript is a page without words, and nothing is imported from it', async () => {
  const folder = sessionFolder()
  const session = await openSession(folder.parts, key)
  for (const format of ['markdown', 'html'] as const) {
    const text = (await all(exportSession(folder.transcripts, session, format))).join('')
    await expect(importSession(folder.parts, text)).rejects.toMatchObject({ code: 'input-invalid' })
  }
})
