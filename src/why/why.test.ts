import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EditedRepository } from '../../test/support/edited-repository.ts'
import { ProgramShells } from '../discovery/program-shells.ts'
import { systemClock } from '../domain/clock.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import type { LineAnswer } from '../domain/why-answers.ts'
import { annotate } from './annotate.ts'
import { EditReader } from './edit-reader.ts'
import { explainCommit } from './explain-commit.ts'
import { explainLines, type WhyParts } from './explain-lines.ts'
import { linesOfSession, mapFile } from './living-lines.ts'
import { Repositories } from './open-repository.ts'

let world: EditedRepository
let discovery: Discovery
/** As in the gateway. */
const shells = new ProgramShells(systemClock)

beforeAll(() => {
  world = new EditedRepository()
  discovery = world.discovery()
})
afterAll(async () => {
  await discovery.close()
  shells.close()
  world.remove()
})

function repositories(variables: Record<string, string | undefined>): Repositories {
  return new Repositories(variables, join(world.folder, 'graphs'), systemClock, shells.run)
}

async function partsOf(mayRead: WhyParts['mayRead'] = () => true): Promise<WhyParts> {
  const variables = { PATH: process.env['PATH'], HOME: world.folder }
  const repository = await repositories(variables).open(world.root)
  return { discovery, reader: new EditReader(discovery), repository, mayRead }
}

/** The answer for the line that has this text. */
async function why(file: string, text: string, mayRead?: WhyParts['mayRead']): Promise<LineAnswer> {
  const lines = world.read(file).split('\n')
  const line = lines.findIndex((one) => one.includes(text)) + 1
  expect(line, text).toBeGreaterThan(0)
  return explainLines(await partsOf(mayRead), { file, from: line, to: line })
}

/** Who wrote it, and how certain that is. */
async function writer(file: string, text: string): Promise<[string | undefined, string]> {
  const { session, confidence } = await why(file, text)
  return [session?.sessionId, confidence]
}

const code = (name: string): string => `export function ${name}(name: string): Session {
  const person = findPersonFor${name}(name)
  if (!person) throw new Error('${name}: there is no such person.')
  return openSessionOf${name}(person)
}
`

test('a transcript with spaces after its colons, as other programs write JSON, has the same prompt and cost', async () => {
  const session = world.session('Write the spaced part')
  session.create('src/spaced.ts', code('spaced'))
  const spaced = readFileSync(session.path, 'utf8').replaceAll(/"(\w+)":/g, '"$1": ')
  writeFileSync(session.path, spaced)
  world.commit('Add the spaced part')
  expect(await why('src/spaced.ts', 'findPerson')).toMatchObject({
    confidence: 'exact',
    prompt: 'Write the spaced part',
    costUsd: expect.closeTo(0.0045, 6),
  })
})

test('a line has the session, the prompt, the words before the edit, the commit and the cost of the turn', async () => {
  const session = world.session('Write the login')
  session.say('I will look up the person first.')
  const message = session.create('src/login.ts', code('login'))
  session.say('Done.')
  session.prompt('Thanks, now something else')
  const sha = world.commit('Add the login')
  const answer = await why('src/login.ts', 'findPerson')
  expect(answer).toMatchObject({
    file: 'src/login.ts',
    line: 2,
    confidence: 'exact',
    evidence: 'edit',
    session: { sessionId: session.sessionId, title: 'Write the login' },
    message,
    prompt: 'Write the login',
    said: 'I will look up the person first.',
    commit: { sha, subject: 'Add the login', author: 'Ada' },
  })
  // Three calls of 1,000 tokens and 100 tokens of output each.
  expect(answer.costUsd).toBeCloseTo(3 * (0.003 + 0.0015), 6)
  expect(await writer('src/login.ts', '}')).toEqual([session.sessionId, 'exact'])
})

test("a person's lines are unknown, also between a session's, and so is an edit that was refused", async () => {
  const session = world.session('Write the door')
  session.create('src/door.ts', code('door'))
  world.commit('Add the door')
  const counted = world.read('src/door.ts').replace('  const', '  countAttempt(name)\n  const')
  session.call('Write', { file_path: `${world.root}/src/door.ts`, content: counted }, 'The user refused.')
  world.write('src/door.ts', counted)
  world.commit('Count attempts')
  const answer = await why('src/door.ts', 'countAttempt')
  expect(answer).toMatchObject({ confidence: 'unknown', commit: { subject: 'Count attempts' } })
  expect(answer.session).toBeUndefined()
  expect(await writer('src/door.ts', 'const person')).toEqual([session.sessionId, 'exact'])
})

test('two sessions in one file have their own lines, and the second knows what was there before and tried', async () => {
  const first = world.session('Write the key')
  first.create('src/key.ts', code('key'))
  world.commit('Add the key')
  const second = world.session('Make the error friendlier')
  const old = "'key: there is no such person.'"
  second.edit('src/key.ts', old, "'Try again with another key, please.'")
  second.edit('src/key.ts', "'Try again with another key, please.'", old)
  second.edit('src/key.ts', old, "'Please check the name of the key.'")
  world.commit('Be friendly')
  expect(await writer('src/key.ts', 'openSession')).toEqual([first.sessionId, 'exact'])
  const answer = await why('src/key.ts', 'Please check')
  expect(answer.session?.sessionId).toBe(second.sessionId)
  const tried = answer.earlier.map(({ session, isGone, added }) => [
    session.sessionId,
    isGone,
    added[0]?.trim(),
  ])
  expect(tried[1]).toEqual([
    second.sessionId,
    true,
    "if (!person) throw new Error('Try again with another key, please.')",
  ])
  expect(tried.at(-1)?.[0]).toBe(first.sessionId)
})

test('a formatter changes lines: the session that wrote the words is likely', async () => {
  const session = world.session('Write the format')
  session.create(
    'src/format.ts',
    "const greeting={hello:'world',farewell:'see you tomorrow'}\nexport default greeting\n",
  )
  const formatted =
    'const greeting = {\n  hello: "world",\n  farewell: "see you tomorrow",\n};\nexport default greeting;\n'
  world.write('src/format.ts', formatted)
  world.commit('Format')
  expect(await writer('src/format.ts', 'see you')).toEqual([session.sessionId, 'likely'])
  expect((await why('src/format.ts', 'see you')).evidence).toBe('reformatted')
})

test('a revert, a rebase, a cherry-pick and a squash keep the session', async () => {
  const session = world.session('Write the history')
  world.git('checkout', '-q', '-b', 'side')
  session.create('src/past.ts', code('past'))
  const past = world.commit('Add the past')
  session.create('src/future.ts', code('future'))
  world.commit('Add the future')
  world.git('checkout', '-q', 'main')
  world.write('other.txt', 'other\n')
  world.commit('Meanwhile')
  world.git('cherry-pick', past)
  world.git('revert', '--no-edit', 'HEAD')
  world.git('revert', '--no-edit', 'HEAD')
  expect(await writer('src/past.ts', 'findPerson')).toEqual([session.sessionId, 'exact'])
  world.git('rebase', '-q', 'main', 'side')
  expect(await writer('src/future.ts', 'findPerson')).toEqual([session.sessionId, 'exact'])
  world.git('checkout', '-q', 'main')
  world.git('merge', '-q', '--squash', 'side')
  world.commit('Everything at once')
  expect(await writer('src/future.ts', 'openSession')).toEqual([session.sessionId, 'exact'])
})

test('an edit after the commit cannot be its source', async () => {
  world.write('src/late.ts', code('late'))
  world.commit('Written by hand')
  world.seconds += 10_000
  world.session('Write it again').create('src/late.ts', code('late'))
  expect(await writer('src/late.ts', 'findPerson')).toEqual([undefined, 'unknown'])
})

test('lines that are not committed have their session, in new files, too', async () => {
  const session = world.session('Write a draft')
  session.create('src/draft.ts', code('draft'))
  session.edit('src/login.ts', 'const person', 'const somebodyElse')
  expect(await why('src/draft.ts', 'findPerson')).toMatchObject({
    confidence: 'exact',
    session: { sessionId: session.sessionId },
  })
  expect((await why('src/login.ts', 'somebodyElse')).commit).toBeUndefined()
  expect(await writer('src/login.ts', 'somebodyElse')).toEqual([session.sessionId, 'exact'])
  session.edit('src/login.ts', 'const somebodyElse', 'const person')
})

test('of several lines the answer says how many are of the session', async () => {
  world.commit('Keep what is there')
  world.write('src/mixed.ts', `const byHand = writtenByAPerson()\n${code('mixed')}`)
  world.commit('By hand')
  const session = world.session('Add a line')
  session.edit('src/mixed.ts', 'const byHand', 'const added = bySession()\nconst byHand')
  world.commit('By the session')
  const asked = async (to: number): Promise<string> =>
    (await explainLines(await partsOf(), { file: 'src/mixed.ts', from: 1, to })).reason
  expect(await asked(1)).toBe('The session added exactly this line to this file.')
  expect(await asked(2)).toBe(
    '1 of 2 lines are of this session; the evidence is clearest for line 1. The session added exactly this line to this file.',
  )
  const { reason } = await explainLines(await partsOf(), { file: 'src/mixed.ts', from: 2, to: 3 })
  expect(reason).toBe('No session is known to have written any of these lines before the commit.')
})

test('here-documents and commits of a command belong to the session', async () => {
  world.commit('Keep the draft')
  const session = world.session('Write the shell')
  session.run(
    "mkdir -p src && cat > src/shell.ts <<'END'\nexport const shellWriter = 'here document'\nEND\ngit add -A && git commit -m 'From the shell'",
  )
  expect(await why('src/shell.ts', 'shellWriter')).toMatchObject({
    confidence: 'exact',
    evidence: 'shell',
    session: { sessionId: session.sessionId },
    command: expect.stringContaining('cat > src/shell.ts'),
  })
  const answer = await explainCommit(await partsOf(), 'HEAD')
  expect(answer).toMatchObject({
    confidence: 'exact',
    unknownLines: 0,
    session: { sessionId: session.sessionId },
  })
  expect(answer.reason).toContain('made the commit')
})

test('a line that a command changed belongs to the session if it saw the line afterwards', async () => {
  const session = world.session('Rename the lamp')
  session.create('src/lamp.ts', code('lamp'))
  world.commit('Add the lamp')
  session.run("sed -i 's/const person = .*/const inhabitant = lookUpTheInhabitant(name)/' src/lamp.ts")
  session.run('git --no-pager diff src/lamp.ts')
  world.commit('Rename by command')
  expect(await why('src/lamp.ts', 'inhabitant')).toMatchObject({
    confidence: 'likely',
    evidence: 'command',
    session: { sessionId: session.sessionId },
    reason: expect.stringContaining('This line was changed by a command in this session'),
    command: expect.stringContaining('sed -i'),
  })
  session.run("sed -i 's/return openSession.*/return somethingThatNobodyLookedAt(person)/' src/lamp.ts")
  world.commit('Not looked at')
  expect(await writer('src/lamp.ts', 'NobodyLookedAt')).toEqual([undefined, 'unknown'])
})

test('a command of a session that was started above the repository belongs to it only if it names the repository', async () => {
  const rope = "export const rope = 'as long as the pier'\n"
  world.write('src/rope.ts', rope)
  world.commit('Add the rope')
  const other = join(world.folder, 'other/src')
  mkdirSync(other, { recursive: true })
  writeFileSync(join(other, 'rope.ts'), rope)
  const session = world.session('Change ropes everywhere', world.folder)
  session.run("sed -i 's/the pier/two ships together/' other/src/rope.ts")
  session.run('cat other/src/rope.ts')
  world.write('src/rope.ts', rope.replace('the pier', 'two ships together'))
  world.commit('The same by hand')
  expect(await writer('src/rope.ts', 'two ships')).toEqual([undefined, 'unknown'])
  session.run("sed -i 's/two ships together/three ships together/' shop/src/rope.ts")
  session.run('cd shop && git --no-pager diff src/rope.ts')
  world.commit('By a command from above')
  expect(await why('src/rope.ts', 'three ships')).toMatchObject({
    confidence: 'likely',
    evidence: 'command',
    session: { sessionId: session.sessionId },
  })
})

test("a sub-agent's edits belong to its session, and a fork does not take the edits of its parent", async () => {
  const session = world.session('Let somebody write it')
  session.subagent('ab12').create('src/helper.ts', code('helper'))
  world.commit('Add the helper')
  expect(await why('src/helper.ts', 'findPerson')).toMatchObject({
    session: { sessionId: session.sessionId },
    subagent: 'ab12',
    prompt: 'Let somebody write it',
  })
  const parent = world.session('Write the original')
  parent.create('src/original.ts', code('original'))
  const fork = parent.path.replace(parent.sessionId, 'ffffffff-0000-4000-8000-00000000000a')
  copyFileSync(parent.path, fork)
  world.commit('Add the original')
  expect(await writer('src/original.ts', 'findPerson')).toEqual([parent.sessionId, 'exact'])
})

test('a plan and an answered question are the decision around the edit', async () => {
  const session = world.session('Decide')
  session.call('ExitPlanMode', { plan: 'First the index, then the page.' }, 'Approved.', {})
  session.call('AskUserQuestion', { questions: [{ question: 'Which colour?' }] }, 'Blue', {})
  session.create('src/colour.ts', "export const colour = 'blue as decided'\n")
  expect((await why('src/colour.ts', 'colour')).decisions).toEqual([
    { kind: 'plan', text: 'First the index, then the page.', answer: 'Approved.' },
    { kind: 'question', text: 'Which colour?', answer: 'Blue' },
  ])
})

test('a file that was renamed, before the commit or after it, keeps its session', async () => {
  const session = world.session('Write and rename')
  session.create('src/before.ts', code('renamed'))
  renameSync(join(world.root, 'src/before.ts'), join(world.root, 'src/after.ts'))
  world.commit('Add under another name')
  expect(await writer('src/after.ts', 'findPerson')).toEqual([session.sessionId, 'likely'])
  world.git('mv', 'src/key.ts', 'src/moved-key.ts')
  world.commit('Rename the key')
  expect((await writer('src/moved-key.ts', 'openSession'))[1]).toBe('exact')
})

test('no commit of a bot is attributed', async () => {
  world.session('Update the packages').create('packages.txt', 'left-pad = 1.3.0 as a dependency\n')
  world.commit('Bump left-pad', '--author', 'dependabot[bot] <support@github.com>')
  const answer = await why('packages.txt', 'left-pad')
  expect(answer).toMatchObject({ confidence: 'unknown', reason: expect.stringContaining('dependabot') })
  expect(answer.guess).toBeUndefined()
})

test('the answer contains nothing about a session that the caller may not read', async () => {
  const secret = world.session('herring under the stairs')
  secret.create('src/secret.ts', code('secret'))
  world.commit('Add a secret')
  const hides = ({ sessionId }: DiscoveredSession): boolean => sessionId !== secret.sessionId
  const told = JSON.stringify([
    await why('src/secret.ts', 'findPerson', hides),
    await explainCommit(await partsOf(hides), 'HEAD'),
    await mapFile(await partsOf(hides), 'src/secret.ts', false),
  ])
  expect(told).not.toContain('herring')
  expect(told).not.toContain(secret.sessionId)
  expect(told).toContain('"confidence":"unknown"')
})

test('a commit, its file, its session and the block for a pull request count the same lines, those without letters too', async () => {
  const session = world.session('Write the counted part')
  session.create('src/counted.ts', `${code('counted')}\n${code('countedAgain')}`)
  const sha = world.commit('Add the counted part')
  const parts = await partsOf()
  const commit = await explainCommit(parts, sha)
  const [known] = await discovery.known([session.sessionId])
  expect(commit).toMatchObject({ lines: 11, unknownLines: 0, sessions: [{ lines: 11 }] })
  expect(annotate(commit, false)).toContain('11 of 11 lines')
  expect(await mapFile(parts, 'src/counted.ts', false)).toMatchObject({
    lines: 11,
    sessions: [{ lines: 11 }],
  })
  expect(await linesOfSession(parts, known!)).toMatchObject({ aliveLines: 11 })
})

test('a file is mapped to its sessions, and a session to its commits and lines in HEAD', async () => {
  const session = world.session('Write the map')
  session.create('src/map.ts', code('map'))
  const sha = world.commit('Add the map')
  world.write('src/map.ts', `${world.read('src/map.ts')}export const byHand = 'a person wrote this'\n`)
  world.commit('By hand')
  const map = await mapFile(await partsOf(), 'src/map.ts', true)
  expect(map.segments).toMatchObject([
    { from: 1, to: 5, sha, sessionId: session.sessionId, confidence: 'exact' },
    { from: 6, to: 6, confidence: 'unknown' },
  ])
  expect(map.texts).toHaveLength(6)
  const [known] = await discovery.known([session.sessionId])
  expect(await linesOfSession(await partsOf(), known!)).toMatchObject({
    aliveLines: 5,
    commits: [{ sha, lines: 5 }],
    files: [{ file: 'src/map.ts', lines: 5 }],
  })
})

test('the block for a pull request has prompts only on request, and no markup of theirs', async () => {
  const session = world.session('Write <b>the</b> | block')
  session.create('src/block.ts', code('block'))
  world.commit('Add the block')
  const answer = await explainCommit(await partsOf(), 'HEAD')
  expect(annotate(answer, false)).toContain(`\`${session.sessionId.slice(0, 8)}\``)
  expect(annotate(answer, false)).not.toContain('block |')
  expect(annotate(answer, true)).toContain(String.raw`Write \<b\>the\</b\> \| block`)
})

test('bad questions get an answer that helps', async () => {
  const parts = await partsOf()
  await expect(explainLines(parts, { file: 'src/map.ts', from: 99, to: 99 })).rejects.toThrow('has 6 lines')
  await expect(explainCommit(parts, 'no-such-thing')).rejects.toThrow('no file and no commit')
  await expect(explainCommit(parts, '--output=/tmp/x')).rejects.toThrow('no file and no commit')
  await expect(repositories({ PATH: process.env['PATH'] }).open('/')).rejects.toThrow(
    'not in a git repository',
  )
})

test('a shallow clone says that an earlier commit may have written the line', async () => {
  const clone = join(world.folder, 'shallow')
  world.git('clone', '-q', '--depth', '1', `file://${world.root}`, clone)
  const variables = { PATH: process.env['PATH'], HOME: world.folder }
  const parts = { ...(await partsOf()), repository: await repositories(variables).open(clone) }
  const remedy = { reason: expect.stringContaining('git fetch --unshallow') as string }
  expect(await explainLines(parts, { file: 'src/login.ts', from: 2, to: 2 })).toMatchObject(remedy)
  expect(await explainCommit(parts, 'HEAD')).toMatchObject(remedy)
  expect((await why('src/login.ts', 'findPerson')).reason).not.toContain('clone')
})

test("programs that a hostile repository names don't run", async () => {
  const session = world.session('Write the trap')
  session.create('src/trap.ts', code('trap'))
  world.write('.gitattributes', '*.ts diff=trap filter=trap\n')
  const [program, trace] = [join(world.folder, 'trap.sh'), join(world.folder, 'trapped')]
  writeFileSync(program, `#!/bin/sh\ntouch ${trace}\ncat "$@"\n`)
  world.commit('Set the trap')
  chmodSync(program, 0o755)
  for (const name of [
    'diff.trap.textconv',
    'diff.trap.command',
    'filter.trap.clean',
    'core.fsmonitor',
    'diff.external',
  ])
    world.git('config', name, program)
  expect(await writer('src/trap.ts', 'findPerson')).toEqual([session.sessionId, 'exact'])
  await mapFile(await partsOf(), 'src/trap.ts', true)
  expect(existsSync(trace)).toBe(false)
  for (const name of ['diff.trap', 'filter.trap']) world.git('config', '--remove-section', name)
  for (const name of ['core.fsmonitor', 'diff.external']) world.git('config', '--unset', name)
})

test('between two questions a repository may get a content filter, another HEAD, or another repository inside', async () => {
  const open = repositories({ PATH: process.env['PATH'], HOME: world.folder })
  const [folder, trace] = [join(world.root, 'src'), join(world.folder, 'filtered')]
  const shaNow = async (): Promise<string | undefined> =>
    (await (await open.open(folder)).blame('src/between.ts', { withCopies: false }))?.[0]?.sha
  world.write('src/between.ts', code('between'))
  world.write('.gitattributes', '*.ts filter=later\n')
  const first = world.commit('Ask before')
  expect(await shaNow()).toBe(first)
  world.git('config', 'filter.later.clean', `touch ${trace}; cat`)
  world.write('src/between.ts', `// By hand.\n${code('between')}`)
  expect(await shaNow()).toBeUndefined()
  writeFileSync(join(world.folder, 'included'), '')
  world.git('config', '--remove-section', 'filter.later')
  world.git('config', 'include.path', join(world.folder, 'included'))
  expect(await shaNow()).toBeUndefined()
  writeFileSync(join(world.folder, 'included'), `[filter "later"]\n\tclean = "touch ${trace}; cat"\n`)
  world.write('src/between.ts', `// By another hand.\n${code('between')}`)
  expect(await shaNow()).toBeUndefined()
  expect(existsSync(trace)).toBe(false)
  // An include after more text than is read.
  const config = readFileSync(join(world.root, '.git/config'), 'utf8')
  writeFileSync(join(world.root, '.git/config'), `${'#\n'.repeat(600_000)}${config}`)
  writeFileSync(join(world.folder, 'included'), '')
  expect(await shaNow()).toBeUndefined()
  writeFileSync(join(world.folder, 'included'), `[filter "later"]\n\tclean = "touch ${trace}; cat"\n`)
  world.write('src/between.ts', `// By a third hand.\n${code('between')}`)
  expect(await shaNow()).toBeUndefined()
  expect(existsSync(trace)).toBe(false)
  writeFileSync(join(world.root, '.git/config'), config)
  world.git('config', '--remove-section', 'include')
  const second = world.commit('Ask after')
  expect(await shaNow()).toBe(second)
  world.git('init', '-q', 'src')
  expect((await open.open(folder)).root).toBe(folder)
  rmSync(join(folder, '.git'), { recursive: true })
  expect((await open.open(folder)).root).toBe(world.root)
})

test('a line that Codex wrote has its session, its prompt and the cost of its turn', async () => {
  const id = '01a1e4c8-ef42-70d2-bd42-fae609cc165c'
  const folder = join(world.folder, 'codex/sessions/2026/09/21')
  const timestamp = new Date((world.seconds += 60) * 1_000).toISOString()
  const event = (payload: object) => ({ timestamp, type: 'event_msg', payload })
  const item = (done: object) => event({ type: 'item_completed', item: done })
  const content = code('payment')
  const changes = { [join(world.root, 'src/payment.ts')]: { type: 'add', content } }
  const usage = { input_tokens: 1_000, cached_input_tokens: 0, output_tokens: 100 }
  const lines = [
    { timestamp, type: 'session_meta', payload: { id, timestamp, cwd: world.root, cli_version: '0.166.0' } },
    { timestamp, type: 'turn_context', payload: { turn_id: id, cwd: world.root, model: 'gpt-5.5' } },
    item({ type: 'UserMessage', id: 'u1', content: [{ type: 'text', text: 'Write the payment' }] }),
    item({
      type: 'AgentMessage',
      id: 'a1',
      content: [{ type: 'Text', text: 'I look up the person first.' }],
    }),
    item({ type: 'FileChange', id: 'c1', status: 'completed', changes }),
    { timestamp, type: 'token_usage_record', payload: { response_id: 'r1', usage } },
  ]
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `rollout-2026-09-21T10-00-00-${id}.jsonl`)
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  world.write('src/payment.ts', content)
  const sha = world.commit('Add the payment')
  expect(await why('src/payment.ts', 'findPerson')).toMatchObject({
    confidence: 'exact',
    session: { sessionId: id, agentKind: 'codex' },
    prompt: 'Write the payment',
    said: 'I look up the person first.',
    costUsd: (1_000 * 5 + 100 * 30) / 1e6,
  })
  expect(await explainCommit(await partsOf(), sha)).toMatchObject({
    sessions: [{ sessionId: id, prompt: 'Write the payment', lines: 5 }],
  })
})

test('a repository that was moved, and a clone of it, have the sessions of the old place', async () => {
  const session = world.session('Write before the move')
  session.create('src/moving.ts', code('moving'))
  world.commit('Add what moves')
  const old = world.root
  world.root = join(world.folder, 'clone')
  mkdirSync(dirname(world.root), { recursive: true })
  execGit(['clone', '-q', old, world.root])
  expect(await writer('src/moving.ts', 'findPerson')).toEqual([session.sessionId, 'exact'])
  renameSync(old, join(world.folder, 'moved'))
  world.root = join(world.folder, 'moved')
  expect(await writer('src/moving.ts', 'findPerson')).toEqual([session.sessionId, 'likely'])
})

function execGit(args: string[]): void {
  const [root, target] = [world.root, world.folder]
  world.root = target
  world.git(...args)
  world.root = root
}
