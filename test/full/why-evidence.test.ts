// What proves that a session wrote a line: edits of every kind, commands that show or hide what they write, sub-agents, forks, working
// trees, and sessions of other agents. And what proves nothing.
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EditTable } from '../../src/discovery/edit-table.ts'
import { hashesOfText } from '../../src/discovery/line-hash.ts'
import type { AgentConversation } from '../../src/domain/agent-records.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { DiscoveredSession, Discovery } from '../../src/domain/discovered-session.ts'
import type { LineAnswer } from '../../src/domain/why-answers.ts'
import { EditReader } from '../../src/why/edit-reader.ts'
import { explainCommit } from '../../src/why/explain-commit.ts'
import { explainLines, type WhyParts } from '../../src/why/explain-lines.ts'
import { Repositories } from '../../src/why/open-repository.ts'
import { EditedRepository, EditingSession } from '../support/edited-repository.ts'

let world: EditedRepository
let discovery: Discovery

beforeAll(() => {
  world = new EditedRepository()
  discovery = world.discovery()
})
afterAll(async () => {
  await discovery.close()
  world.remove()
})

async function partsOf(root = world.root): Promise<WhyParts> {
  const variables = { PATH: process.env['PATH'], HOME: world.folder }
  const repository = await new Repositories(variables, join(world.folder, 'graphs'), systemClock).open(root)
  return { discovery, reader: new EditReader(discovery), repository, mayRead: () => true }
}

async function why(file: string, text: string, parts?: WhyParts): Promise<LineAnswer> {
  const line =
    world
      .read(file)
      .split('\n')
      .findIndex((one) => one.includes(text)) + 1
  expect(line, text).toBeGreaterThan(0)
  return explainLines(parts ?? (await partsOf()), { file, from: line, to: line })
}

/** Who wrote it, how certain that is, and why. */
async function answer(file: string, text: string): Promise<unknown[]> {
  const { session, confidence, evidence } = await why(file, text)
  return [session?.sessionId, confidence, evidence]
}

const unknown = [undefined, 'unknown', undefined]

const diffOf = (file: string, from: string, to: string): string =>
  `--- a/${file}\n+++ b/${file}\n@@ -1 +1 @@\n-${from}\n+${to}\n`

test('a patch in a command belongs to the session: from a here-document, and from a file that the command writes', async () => {
  world.write('src/boat.ts', "export const boatName = 'nameless vessel'\n")
  world.commit('Add the boat')
  const session = world.session('Rename the boat')
  const [first, second, third, fourth] = [
    'nameless vessel',
    'the grey gull',
    'the white gull',
    'the black gull',
  ].map((name) => `export const boatName = '${name}'`)
  session.run(`git apply <<'END'\n${diffOf('src/boat.ts', first!, second!)}END`)
  world.commit('Apply a patch')
  expect(await answer('src/boat.ts', 'grey')).toEqual([session.sessionId, 'exact', 'shell'])
  session.run(`patch -p1 <<'END'\n${diffOf('src/boat.ts', second!, third!)}END`)
  world.commit('Patch it')
  expect(await answer('src/boat.ts', 'white')).toEqual([session.sessionId, 'exact', 'shell'])
  session.run(
    `cat > /tmp/boat-$$.patch <<'END'\n${diffOf('src/boat.ts', third!, fourth!)}END\ngit apply /tmp/boat-$$.patch; rm /tmp/boat-$$.patch`,
  )
  world.commit('Patch it from a file')
  expect(await answer('src/boat.ts', 'black')).toEqual([session.sessionId, 'exact', 'shell'])
})

test('a formatter that names no file counts if the session had seen the file before and read it afterwards', async () => {
  const before = 'const harbourLights={red:1,green:2}\n'
  const after = 'const harbourLights = { red: 0x1, green: 0x2 }\n'
  const session = world.session('Format everything')
  const look = (content: string): string =>
    session.call('Read', { file_path: join(world.root, 'src/lights.js') }, content, {
      type: 'text',
      file: {
        filePath: join(world.root, 'src/lights.js'),
        content,
        startLine: 1,
        numLines: 2,
        totalLines: 2,
      },
    })
  world.write('src/lights.js', before)
  world.commit('Add lights')
  look(before)
  world.write('src/lights.js', after)
  session.call('Bash', { command: 'npm run format' }, 'done', {
    stdout: 'done',
    stderr: '',
    interrupted: false,
  })
  const committed = world.commit('Format')
  expect(await answer('src/lights.js', '0x1')).toEqual(unknown)
  world.git('reset', '-q', '--soft', `${committed}~1`)
  look(after)
  world.commit('Format, and look at it')
  expect(await why('src/lights.js', '0x1')).toMatchObject({
    session: { sessionId: session.sessionId },
    confidence: 'likely',
    evidence: 'command',
    command: 'npm run format',
    reason: expect.stringContaining('This line was changed by a command in this session'),
  })
})

test("a person's line is not taken for a command's: after tests, after a look without it, and in a part that was not shown", async () => {
  const path = join(world.root, 'src/tide.ts')
  const base = "export const tide = 'high at the northern pier'\n"
  world.write('src/tide.ts', base)
  world.commit('Add the tide')
  const session = world.session('Check the tide')
  const look = (content: string, totalLines = content.split('\n').length): string =>
    session.call('Read', { file_path: path }, content, {
      type: 'text',
      file: { filePath: path, content, startLine: 1, numLines: content.split('\n').length, totalLines },
    })
  look(base)
  session.call('Bash', { command: 'npm test' }, 'ok', { stdout: 'ok', stderr: '' })
  world.write('src/tide.ts', `${base}const writtenDuringTheTests = true\n`)
  look(world.read('src/tide.ts'))
  world.commit('By hand, during the tests')
  expect(await answer('src/tide.ts', 'DuringTheTests')).toEqual(unknown)

  session.run('sed -i s/northern/southern/ src/tide.ts')
  look(world.read('src/tide.ts'))
  world.write('src/tide.ts', `${world.read('src/tide.ts')}const writtenAfterTheLook = true\n`)
  look(world.read('src/tide.ts'))
  world.commit('By hand, after the look')
  expect(await answer('src/tide.ts', 'southern')).toEqual([session.sessionId, 'likely', 'command'])
  expect(await answer('src/tide.ts', 'AfterTheLook')).toEqual(unknown)
})

test("lines of a person are unknown between a session's, in the same commit, too; a brace belongs to the lines around it", async () => {
  const session = world.session('Write the crane')
  session.create(
    'src/crane.ts',
    'export function liftWithCrane(): void {\n  startTheMotor()\n  liftTheLoad()\n}\n',
  )
  world.write('src/crane.ts', world.read('src/crane.ts').replace('  lift', '  warnEverybodyAround()\n  lift'))
  world.commit('Add the crane')
  expect(await answer('src/crane.ts', 'warnEverybody')).toEqual(unknown)
  expect((await why('src/crane.ts', 'warnEverybody')).guess?.sessionId).toBe(session.sessionId)
  expect(await answer('src/crane.ts', 'liftTheLoad')).toEqual([session.sessionId, 'exact', 'edit'])
  expect(await answer('src/crane.ts', '}')).toEqual([session.sessionId, 'exact', 'neighbours'])
})

test('MultiEdit, NotebookEdit and a rewritten file are edits; the message and the decision are named', async () => {
  const session = world.session('Edit in all ways')
  const notebook = join(world.root, 'analysis.ipynb')
  const source = 'average_tide = tides.mean(axis="hours")'
  writeFileSync(notebook, JSON.stringify({ cells: [{ cell_type: 'code', source }] }, null, 1))
  session.call('NotebookEdit', { notebook_path: notebook, new_source: source }, 'Updated.', {
    new_source: source,
  })
  session.create(
    'src/multi.ts',
    "export const one = 'first of many ships'\nexport const two = 'second of many ships'\n",
  )
  world.commit('Begin with many')
  const changed = "export const one = 'renamed first ship'\nexport const two = 'renamed second ship'\n"
  const original = world.read('src/multi.ts')
  world.write('src/multi.ts', changed)
  const edits = original
    .split('\n')
    .map((line, i) => ({ old_string: line, new_string: changed.split('\n')[i] }))
  session.call(
    'MultiEdit',
    { file_path: join(world.root, 'src/multi.ts'), edits: edits.slice(0, 2) },
    'Updated.',
    {
      filePath: join(world.root, 'src/multi.ts'),
      originalFileContents: original,
    },
  )
  world.commit('Rename both')
  expect(await answer('src/multi.ts', 'renamed second')).toEqual([session.sessionId, 'exact', 'edit'])
  const found = (await discovery.edits()).find({ names: ['analysis.ipynb'] })
  const { edits: ofNotebook } = new EditTable(found[0]!.edits)
  expect(ofNotebook.find(({ file }) => file === notebook)?.lines).toEqual(hashesOfText(source))
})

test('a fork has only the edits that it made itself, and a resumed copy none of its original', async () => {
  const parent = world.session('Write the mast')
  parent.create('src/mast.ts', "export const mast = 'the tall wooden mast'\n")
  const fork = new EditingSession(world, 'ffffffff-0000-4000-8000-0000000000fa')
  copyFileSync(parent.path, fork.path)
  fork.prompt('Write another one')
  fork.create('src/second-mast.ts', "export const mast = 'the short iron mast'\n")
  world.commit('Two masts')
  expect(await answer('src/mast.ts', 'wooden')).toEqual([parent.sessionId, 'exact', 'edit'])
  expect(await answer('src/second-mast.ts', 'iron')).toEqual([fork.sessionId, 'exact', 'edit'])
})

test('a working tree that was removed, and a clone of the same remote without the first commit, are the same repository', async () => {
  const main = world.root
  world.git('worktree', 'add', '-q', '-b', 'anchor', join(main, '.claude/worktrees/anchor'))
  world.root = join(main, '.claude/worktrees/anchor')
  const session = world.session('Write the anchor')
  const anchor = "export const anchor = 'heavy as a stone'\nexport const chain = 'long as a rope'\n"
  session.create('src/anchor.ts', anchor)
  const sha = world.commit('Add the anchor')
  world.root = main
  world.git('merge', '-q', '--squash', 'anchor')
  world.commit('Bring the anchor')
  world.git('worktree', 'remove', '--force', '.claude/worktrees/anchor')
  world.git('branch', '-q', '-D', 'anchor')
  expect(await answer('src/anchor.ts', 'heavy')).toEqual([session.sessionId, 'exact', 'edit'])
  expect(sha).toMatch(/^[0-9a-f]{40}$/)

  // A shallow clone has another first commit, and the same remote.
  world.git('remote', 'add', 'origin', 'https://me:secret@example.org/shop.git')
  const shallow = join(world.folder, 'shallow')
  world.git('clone', '-q', '--depth', '1', `file://${main}`, shallow)
  world.root = shallow
  world.git('remote', 'set-url', 'origin', 'https://example.org/shop')
  expect((await answer('src/crane.ts', 'liftTheLoad'))[1]).toBe('exact')
  // The working tree of this session is gone, and was never one of this clone.
  expect(await answer('src/anchor.ts', 'heavy')).toEqual([session.sessionId, 'likely', 'edit'])
  // Another repository that has the same file.
  const crane = world.read('src/crane.ts')
  const other = join(world.folder, 'other')
  mkdirSync(join(other, 'src'), { recursive: true })
  world.root = other
  world.git('init', '-q', '-b', 'main')
  world.write('src/crane.ts', crane)
  world.commit('A copy by hand')
  expect(await answer('src/crane.ts', 'liftTheLoad')).toEqual(unknown)
  world.root = main
  rmSync(other, { recursive: true })
})

test('a session of another agent is named with its prompt, its words and the cost of the turn', async () => {
  const text = "export const buoy = 'red on the left side'"
  world.write('src/buoy.ts', `${text}\n`)
  const seconds = world.seconds
  const at = new Date(seconds * 1_000).toISOString()
  const sha = world.commit('Add the buoy')
  const table = new EditTable()
  const file = join(world.root, 'src/buoy.ts')
  table.edits.push({ file, kind: 'edit', seconds, offset: 0, id: 7, lines: hashesOfText(text) })
  const records: AgentConversation['records'] = [
    { kind: 'prompt', text: 'Add a buoy', id: 'p1', at },
    { kind: 'answer', text: 'I put it on the left.', at },
    { kind: 'edit', path: file, change: 'add', diff: text, at },
    {
      kind: 'usage',
      id: 'u1',
      model: 'gpt-5',
      costUsd: 0.25,
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      reasoning: 0,
      at,
    },
  ]
  const [claude] = (await discovery.list()).sessions
  const codex: DiscoveredSession = { ...claude!, sessionId: 'codex-1', agentKind: 'codex', title: 'Buoys' }
  const agents: WhyParts['discovery'] = {
    known: async (ids) => ([...ids].includes('codex-1') ? [codex] : []),
    edits: async () => ({
      find: () => [
        { sessionId: 'codex-1', agentKind: 'codex', path: '/nowhere/store.db#codex-1', edits: table.pack() },
      ],
      inUse: () => [],
    }),
  }
  const reader = new EditReader({ conversation: async () => ({ records, damaged: 0 }) })
  const parts = { ...(await partsOf()), discovery: agents, reader }
  expect(await why('src/buoy.ts', 'red', parts)).toMatchObject({
    session: { sessionId: 'codex-1', agentKind: 'codex' },
    confidence: 'exact',
    prompt: 'Add a buoy',
    said: 'I put it on the left.',
    message: `@${seconds * 1_000}`,
    costUsd: 0.25,
  })
  expect(await explainCommit(parts, sha)).toMatchObject({
    session: { sessionId: 'codex-1' },
    sessions: [{ lines: 1, prompt: 'Add a buoy' }],
  })
})

test('a file that was renamed in the commit that changed it has its sessions under both names', async () => {
  const session = world.session('Write the old name')
  const lines = Array.from({ length: 12 }, (_, i) => `export const step${i} = 'walk along the quay ${i}'`)
  session.create('src/old-name.ts', `${lines.join('\n')}\n`)
  world.commit('Add the old name')
  renameSync(join(world.root, 'src/old-name.ts'), join(world.root, 'src/new-name.ts'))
  world.write(
    'src/new-name.ts',
    world.read('src/new-name.ts').replace('walk along the quay 5', 'run by hand'),
  )
  world.commit('Rename and change by hand')
  expect((await answer('src/new-name.ts', 'quay 4')).slice(0, 2)).toEqual([session.sessionId, 'exact'])
  expect(await answer('src/new-name.ts', 'run by hand')).toEqual(unknown)
})

test('a new copy of a line belongs to the edit that wrote it together with the next line, not to the first copy', async () => {
  const [common, first] = [`import { join } from 'node:path'`, world.session('Write the first mast')]
  const block = (name: string): string =>
    `${common}\nexport const ${name} = join('ropes', '${name} of oak')\n`
  first.create('src/mast.ts', block('foremast'))
  world.commit('Add a mast')
  const second = world.session('Write the second mast')
  second.edit('src/mast.ts', block('foremast'), `${block('foremast')}${block('mizzenmast')}`)
  world.commit('Add another mast')
  const at = (line: number): Promise<LineAnswer> =>
    partsOf().then((parts) => explainLines(parts, { file: 'src/mast.ts', from: line, to: line }))
  expect((await at(1)).session?.sessionId).toBe(first.sessionId)
  expect((await at(3)).session?.sessionId).toBe(second.sessionId)
})

test('a here-document that repeats a line which the session had seen did not write it', async () => {
  world.write('src/net.ts', "export const mesh = 'forty knots'\n")
  world.commit('Add the net')
  const byHand = `${world.read('src/net.ts')}export const floats = 'cork, added by hand'\n`
  world.write('src/net.ts', byHand)
  const session = world.session('Add weights to the net')
  session.run('cat src/net.ts')
  session.run(`cat > src/net.ts <<'END'\n${byHand}export const weights = 'lead at the bottom'\nEND`)
  const sha = world.commit('Add floats and weights')
  expect(await answer('src/net.ts', 'lead')).toEqual([session.sessionId, 'exact', 'shell'])
  expect(await answer('src/net.ts', 'cork')).toEqual(unknown)
  expect(await explainCommit(await partsOf(), sha)).toMatchObject({ lines: 2, unknownLines: 1 })
})

test('a short line that a formatter changed belongs to an edit only together with the lines next to it', async () => {
  const tail = (name: string): string =>
    `export const ${name} = 'a crane on the ${name}'\n  return undefined\n`
  const session = world.session('Add a crane')
  session.create('src/crane.ts', `${tail('quay')}${'\n'.repeat(3)}  return result\n`)
  world.write(
    'src/crane.ts',
    `${world.read('src/crane.ts').replaceAll('undefined', 'undefined;')}by hand\n  return result;\n`,
  )
  world.commit('Format, and add lines by hand')
  expect(await answer('src/crane.ts', 'return undefined;')).toEqual([
    session.sessionId,
    'likely',
    'reformatted',
  ])
  expect(await answer('src/crane.ts', 'return result;')).toEqual(unknown)
})

test('a command that only changed the form of words did not write them', async () => {
  const path = join(world.root, 'src/sail.ts')
  const look = (by: EditingSession, content: string): string =>
    by.call('Read', { file_path: path }, content, {
      type: 'text',
      file: { filePath: path, content, startLine: 1, numLines: 1, totalLines: 1 },
    })
  const before = `export const sail = canvas('red', 'patched twice')\n`
  const after = `export const sail = canvas("red", "patched twice");\n`
  const session = world.session('Format the sail')
  world.write('src/sail.ts', before)
  look(session, before)
  world.write('src/sail.ts', after)
  session.call('Bash', { command: 'format src/sail.ts' }, 'ok', { stdout: 'ok', stderr: '' })
  look(session, after)
  world.commit('Add the sail')
  expect(await answer('src/sail.ts', 'canvas')).toEqual(unknown)
})

test('a short line that a session wrote days ago is not its own when a person writes it again', async () => {
  const session = world.session('Write the locks')
  const lines = ['function lower(lock: Lock) {', 'await lock.water.sink()', 'throw error', '}']
  session.create('src/locks.ts', `${lines.join('\n')}\n`)
  world.commit('Add the locks')
  expect(await answer('src/locks.ts', 'throw error')).toEqual([session.sessionId, 'exact', 'edit'])
  world.seconds += 3 * 86_400
  world.write('src/locks.ts', `throw error\n// by the keeper of the lock\n${world.read('src/locks.ts')}`)
  world.commit('Throw at once')
  expect(await answer('src/locks.ts', 'throw error')).toEqual(unknown)
})
