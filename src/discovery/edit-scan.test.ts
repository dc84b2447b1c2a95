import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { EditTable } from './edit-table.ts'
import { hashesOfText, hashOfLine } from './line-hash.ts'
import { TranscriptScanner } from './transcript-scanner.ts'
import { shellEdits } from './shell-edits.ts'

test('a line has one hash, whatever the space around it, and only if it has letters', () => {
  const hash = hashOfLine('const a = "b\\t"')
  for (const line of ['  const a = "b\\t"', '\tconst a = "b\\t" \t', 'const a = "b\\t"\r'])
    expect(hashOfLine(line)).toBe(hash)
  expect(hashOfLine('const a = "b\\"')).not.toBe(hash)
  expect(hashOfLine('a\\t')).toBe(hashOfLine(' a\\t'))
  for (const line of ['', '  ', '}', '});', '\t\\n', 'a']) expect(hashOfLine(line)).toBeUndefined()
})

test('the lines of a text have the hashes of each line', () => {
  const lines = ['first line', '', '  second \\n line', '}', '\tthird "line" ☃', 'a\\']
  expect([...hashesOfText(lines.join('\n'))]).toEqual(lines.flatMap((line) => hashOfLine(line) ?? []))
})

const folder = mkdtempSync(join(tmpdir(), 'rockpool-edits-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Scanned = EditTable & { offsets: number[] }

/** Scans a transcript with these records. `offsets`: where each of them begins. */
function scanned(...records: Array<{ reply?: object[]; result?: object }>): Scanned {
  const offsets: number[] = []
  let text = ''
  records.forEach(({ reply, result }, i) => {
    const timestamp = new Date((1_000 + i) * 1_000).toISOString()
    const said = {
      type: 'assistant',
      message: { role: 'assistant', content: reply },
      timestamp,
      cwd: '/repo',
    }
    offsets.push(Buffer.byteLength(text))
    text += `${JSON.stringify(reply ? said : { type: 'user', ...result, timestamp })}\n`
  })
  const path = join(folder, 'session.jsonl')
  writeFileSync(path, text)
  return Object.assign(new TranscriptScanner().scan(path).edits, { offsets })
}

const call = (id: string, name: string, input: object): object => ({ type: 'tool_use', id, name, input })
const result = (id: string, more: object = {}, toolUseResult?: unknown): object => ({
  message: { content: [{ tool_use_id: id, type: 'tool_result', content: 'ok', ...more }] },
  toolUseResult,
})
const hashes = (...lines: string[]): Uint32Array => Uint32Array.from(lines, (line) => hashOfLine(line)!)

test('what a tool has really changed counts, not what it was asked for', () => {
  const asked = call('a', 'Edit', { file_path: '/repo/a.ts', old_string: 'one', new_string: 'two asked' })
  const structuredPatch = [{ lines: [' kept line', '-one', '+two applied'] }]
  const { edits, offsets } = scanned({ reply: [asked] }, { result: result('a', {}, { structuredPatch }) })
  expect(edits).toMatchObject([
    { file: '/repo/a.ts', kind: 'edit', seconds: 1_000, offset: offsets[1], lines: hashes('two applied') },
  ])
})

test.each([
  [
    'Edit',
    { file_path: '/f', old_string: 'same\nold line', new_string: 'same\nnew line' },
    hashes('new line'),
  ],
  [
    'MultiEdit',
    {
      file_path: '/f',
      edits: [
        { old_string: 'aaa', new_string: 'first new' },
        { old_string: 'bbb', new_string: 'second new' },
      ],
    },
    hashes('first new', 'second new'),
  ],
  ['Write', { file_path: '/f', content: 'line one\nline two\n' }, hashes('line one', 'line two')],
  ['NotebookEdit', { notebook_path: '/f', new_source: 'print(1 + 1)' }, hashes('print(1 + 1)')],
])('%s without a patch in its result adds the lines of its input', (name, input, lines) => {
  const { edits } = scanned({ reply: [call('a', name, input)] }, { result: result('a') })
  expect(edits).toMatchObject([{ file: '/f', lines }])
})

test('a new file has the lines of its content, a changed one those of its patch, and removed lines are no edit', () => {
  const write = (id: string): object => call(id, 'Write', { file_path: `/repo/${id}`, content: 'asked' })
  const shown = (id: string, lines: string[]): object =>
    result(
      id,
      {},
      {
        filePath: `/repo/${id}.ts`,
        content: 'whole\nfile',
        structuredPatch: lines.length > 0 ? [{ lines }] : [],
      },
    )
  const { edits } = scanned(
    { reply: [write('new'), write('changed'), write('shorter')] },
    { result: shown('new', []) },
    { result: shown('changed', [' kept', '-gone', '+added', '+ two "quotes"']) },
    { result: shown('shorter', [' kept', '-gone']) },
  )
  expect(edits.map(({ file, lines }) => ({ file, lines }))).toEqual([
    { file: '/repo/new.ts', lines: hashes('whole', 'file') },
    { file: '/repo/changed.ts', lines: hashes('added', 'two "quotes"') },
  ])
})

test('calls that were refused, failed or have no result add nothing; several calls in one record count', () => {
  const write = (id: string, file: string): object =>
    call(id, 'Write', { file_path: file, content: 'some content' })
  const table = scanned(
    { reply: [write('a', '/a'), { type: 'text', text: '"type":"tool_use"' }, write('b', '/b')] },
    { reply: [write('c', '/c')] },
    { reply: [write('d', '/d')] },
    { result: result('a', { is_error: true }, 'Error: refused') },
    // As Claude Code writes an edit that failed: the mark comes before the id.
    { result: { message: { content: [{ is_error: true, tool_use_id: 'd' }] }, toolUseResult: 'Error: no' } },
    { result: result('b') },
  )
  expect(table.edits.map(({ file }) => file)).toEqual(['/b'])
  expect([...table.pending.keys()]).toEqual(['c'])
})

test('a packed table is the same after it was unpacked', () => {
  const table = scanned(
    { reply: [call('a', 'Write', { file_path: '/repo/ä.ts', content: 'line one\nline two' })] },
    { result: result('a') },
    { reply: [call('b', 'Bash', { command: 'git commit -m "x"' })] },
    { result: result('b', { content: '[main 0a1b2c3] x' }) },
    { reply: [call('c', 'Edit', { file_path: '/repo/c.ts', old_string: 'x', new_string: 'one' })] },
    { reply: [call('d', 'Bash', { command: "cat > d <<'E'\npending line\nE" })] },
  )
  const copy = new EditTable(table.pack())
  expect(copy.edits).toEqual(table.edits)
  expect(copy.commits).toEqual([{ sha: '0a1b2c3', seconds: 1_002, offset: table.offsets[3] }])
  expect(copy.pending).toEqual(table.pending)
  expect(copy.pending.get('c')).toMatchObject({ kind: 'edit', seconds: 1_004, offset: table.offsets[4] })
  expect(copy.pending.get('d')?.written).toEqual([{ file: '/repo/d', lines: hashes('pending line') }])
})

test.each([
  ["cat > a.txt <<'EOF'\none\n$two\nEOF", [{ file: '/repo/a.txt', lines: ['one', '$two'] }]],
  ['cat <<EOF >> b/a.txt\none\n$two\nEOF\nls', [{ file: '/repo/b/a.txt', lines: ['one'] }]],
  ["cd sub && tee /tmp/x <<-'E'\n\tone\n\tE", [{ file: '/tmp/x', lines: ['\tone'] }]],
  ["cd sub\ncat >y <<'E'\none\nE", [{ file: '/repo/sub/y', lines: ['one'] }]],
  [
    "git apply <<'P'\n--- a/s.ts\n+++ b/s.ts\n@@ -1 +1 @@\n-old\n+new\nP",
    [{ file: '/repo/s.ts', lines: ['new'] }],
  ],
  [
    "apply_patch <<'P'\n*** Begin Patch\n*** Update File: s.ts\n-old\n+new\n*** End Patch\nP",
    [{ file: '/repo/s.ts', lines: ['new'] }],
  ],
  ["python3 - <<'E'\nprint(1)\nE", []],
  ["cat > a <<'EOF'\nno end", []],
])('the command %j writes %j', (command, edits) => {
  expect(shellEdits(command, '/repo')).toEqual(edits)
})

test('the hash of a line does not depend on the text around it', () => {
  const parts = ['a', 'bc', 'def ', '\\', '"', '\t', '\r', ' ', '☃', 'x\\n', '\\\\', 'word', '}']
  let state = 7
  const random = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below
  for (let round = 0; round < 500; round++) {
    const lines = Array.from({ length: 1 + random(5) }, () =>
      Array.from({ length: random(12) }, () => parts[random(parts.length)]!).join(''),
    )
    const each = lines.flatMap((line) => [...hashesOfText(line)])
    expect([...hashesOfText(lines.join('\n'))], JSON.stringify(lines)).toEqual(each)
  }
})
