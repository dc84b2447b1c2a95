// Coding sessions with the real Claude binary: tools that really run, questions, budgets, kills.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { findTranscript } from '../src/agent/transcripts.ts'
import { asOwner } from '../src/coding/machines/owner.ts'
import { launched } from '../src/coding/session/session-changes.ts'
import { cardsOf } from '../src/discovery/cards.ts'
import { conversationRecords } from '../src/discovery/conversation-records.ts'
import { TranscriptScanner } from '../src/discovery/transcript-scanner.ts'
import type { CodingSession } from '../src/domain/coding-session.ts'
import { conversationOf, mayConverse } from '../src/search/passages.ts'
import { identifyProcess, isSameProcess } from '../src/store/disk/process-identity.ts'
import { descendantsOf } from './support/descendants.ts'
import { claudeBinary, testModel } from './support/claude-home.ts'
import { deadProcess } from './support/coding-bench.ts'
import { inline } from './support/messages-api.ts'
import { realCoding } from './support/real-coding.ts'

const coding = realCoding()
/** Sessions that wait for a message, for the tests that come later: a process of Claude takes a second to start. */
const waiting: string[] = []

/** Sends a message, and allows what the session then asks for. */
async function sayAndAllow(id: string, text: string): Promise<void> {
  await coding.house.pool.respond(id, text, { userInitiated: true })
  const { waiting: asked } = await coding.until(id, 'awaiting-approval')
  await coding.house.approvals.answer(asked!.approvalId!, { behavior: 'allow', by: 'ada' })
  await coding.until(id, 'awaiting-input')
}

test('a tool that was approved really runs, a denied one does not, and the marker is on the first message only', async () => {
  const workdir = coding.house.repo('approve')
  const touch = (name: string) => ({
    tools: [{ name: 'Bash', input: { command: `python3 -c "open('${name}','w')"` } }],
  })
  const { id } = await coding.launch(inline(touch('yes'), { text: 'made it' }), { workdir })
  waiting.push(id)
  const asked = await coding.until(id, 'awaiting-approval')
  expect(asked.waiting?.about).toContain("open('yes','w')")
  await coding.house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'allow', by: 'ada' })
  await coding.until(id, 'awaiting-input')
  expect(existsSync(join(workdir, 'yes'))).toBe(true)
  await coding.house.pool.respond(id, inline(touch('no'), { text: 'went on without' }), {
    userInitiated: true,
  })
  const again = await coding.until(id, 'awaiting-approval')
  await coding.house.approvals.answer(again.waiting!.approvalId!, {
    behavior: 'deny',
    text: 'not here',
    by: 'ada',
  })
  expect(await coding.until(id, 'awaiting-input')).toMatchObject({ inbox: [], given: [] })
  expect(existsSync(join(workdir, 'no'))).toBe(false)
  const said = coding.house.store.lastOutput(id, 50).map((block) => block.text)
  expect(said).toContain('went on without')
  expect(said).toContain('denied: not here')
  expect(said.filter((text) => text.startsWith('failed: '))).toEqual([])
  const failing = { tools: [{ name: 'Bash', input: { command: 'echo broken >&2; exit 3' } }] }
  await sayAndAllow(id, inline(failing, { text: 'it failed' }))
  expect(coding.said(id).findLast((text) => text.startsWith('failed: '))).toContain('broken')
  const sent = coding.real.api.calls().map((call) => call.prompt)
  expect(sent[0]).toMatch(/(^|\n)\[openclaw:agent=main\]\n/)
  expect(sent.some((prompt) => prompt.includes('"no"') && prompt.includes('[openclaw:'))).toBe(false)
})

test('a message that is sent while a tool waits for permission is part of the conversation, once, and is searched', async () => {
  const touch = { tools: [{ name: 'Bash', input: { command: `python3 -c "open('pots','w')"` } }] }
  const { id } = await coding.launch(inline(touch, { text: 'made it' }), {
    workdir: coding.house.repo('joined'),
  })
  const asked = await coding.until(id, 'awaiting-approval')
  await coding.house.pool.respond(id, 'please also water the petunias', { userInitiated: true })
  const path = findTranscript(coding.real.home.configDir, asked.sdkSessionId!)!
  // Claude has it now, and gives it to the model with the result of the tool.
  const isQueued = (): void => expect(readFileSync(path, 'utf8')).toContain('petunias')
  await vi.waitFor(isQueued, { timeout: 60_000, interval: 20 })
  await coding.house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'allow', by: 'ada' })
  await coding.until(id, 'awaiting-input')
  const { cards } = await cardsOf(path, { limit: 50 })
  expect(cards.map(({ kind }) => kind)).toEqual(['prompt', 'tool', 'result', 'prompt', 'text'])
  const spoken = cards.filter(({ text }) => text.includes('petunias'))
  expect(spoken).toMatchObject([{ kind: 'prompt', text: 'please also water the petunias' }])
  const kinds: string[] = []
  for await (const { kind } of conversationRecords(path)) kinds.push(kind)
  expect(kinds.filter((kind) => kind === 'prompt')).toHaveLength(2)
  expect(new TranscriptScanner().scan(path).facts.promptCount).toBe(2)
  const lines = readFileSync(path).toString('utf8').split('\n')
  const passages = lines.filter((line) => mayConverse(Buffer.from(line), 'native'))
  const found = passages
    .map((line) => conversationOf(line, 'native'))
    .filter((passage) => passage?.text.includes('petunias'))
  expect(found).toMatchObject([{ role: 'user', text: 'please also water the petunias', id: spoken[0]!.uuid }])
})

test('a question of Claude is answered by number, and Claude gets the chosen label', async () => {
  const questions = [
    {
      question: 'Which color?',
      header: 'Color',
      multiSelect: false,
      options: [
        { label: 'Red', description: 'r' },
        { label: 'Blue', description: 'b' },
      ],
    },
  ]
  const [asking] = waiting as [string]
  const question = inline({ tools: [{ name: 'AskUserQuestion', input: { questions } }] }, { text: 'thanks' })
  await coding.house.pool.respond(asking, question, { userInitiated: true })
  const asked = await coding.until(asking, 'awaiting-answer')
  await coding.house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'allow', text: '2', by: 'ada' })
  await coding.until(asking, 'awaiting-input')
  expect(JSON.stringify(coding.real.api.calls().at(-1)?.body.messages)).toContain('Blue')
})

test('a tool that was asked about before a restart runs when it is allowed afterwards, and is not asked about again', async () => {
  const workdir = coding.house.repo('restart')
  const touch = { tools: [{ name: 'Bash', input: { command: `python3 -c "open('later','w')"` } }] }
  coding.real.api.script(/A person allowed: python3/, [touch, { text: 'made it later' }])
  const { id, name } = await coding.launch(inline(touch, { text: 'not said' }), { workdir })
  const asked = await coding.until(id, 'awaiting-approval')
  await coding.house.pool.killAll()
  await coding.house.pool.recover()
  expect(coding.house.pool.resolve(id)).toMatchObject({ lifecycle: 'suspended', waiting: asked.waiting })
  await coding.house.approvals.answer(asked.waiting!.approvalId!, { behavior: 'allow', by: 'ada' })
  expect(await coding.until(id, 'awaiting-input')).toMatchObject({ name, lastWords: 'made it later' })
  expect(existsSync(join(workdir, 'later'))).toBe(true)
  waiting.push(id)
})

test('at the budget the next tool waits, no further call is made, and the session continues when the budget is raised', async () => {
  const workdir = coding.house.repo('budget')
  writeFileSync(join(workdir, 'a.txt'), 'a')
  const read = { tools: [{ name: 'Read', input: { file_path: join(workdir, 'a.txt') } }] }
  const marker = 'spend-within-limits'
  coding.real.api.script(marker, [read, read, read, { text: 'all read' }])
  const { id } = await coding.launch(marker, { workdir, budgetUsd: 2 })
  const held = await coding.until(id, 'awaiting-budget')
  const calls = (): number => coding.real.api.calls().filter((call) => call.text.includes(marker)).length
  // The limit is two calls; one more may have been under way.
  const spent = calls()
  expect(spent).toBeLessThanOrEqual(3)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(calls()).toBe(spent)
  await coding.house.approvals.answer(held.waiting!.approvalId!, { behavior: 'allow', text: '10', by: 'ada' })
  await coding.until(id, 'awaiting-input')
  expect(coding.house.store.lastOutput(id, 3).map((block) => block.text)).toContain('all read')
  waiting.push(id)
})

test('a kill ends the process and the command that it runs; the killed session is resumed with its context', async () => {
  const workdir = coding.house.repo('kill')
  const command = "python3 -c \"import time,os; open('pid','w').write(str(os.getpid())); time.sleep(60)\""
  const { id } = await coding.launch(
    inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'never' }),
    {
      workdir,
      allowedTools: ['Bash'],
    },
  )
  const pid = await vi.waitFor(
    () => {
      const text = existsSync(join(workdir, 'pid')) ? readFileSync(join(workdir, 'pid'), 'utf8') : ''
      expect(text).not.toBe('')
      return Number(text)
    },
    { timeout: 30_000, interval: 50 },
  )
  const before = descendantsOf(process.pid).map((child) => child.pid)
  expect(before).toContain(pid)
  await coding.house.pool.kill(id)
  expect(coding.house.pool.resolve(id)).toMatchObject({ status: 'killed', end: { reason: 'user' } })
  await vi.waitFor(() => expect(identifyProcess(pid)).toBeUndefined(), { timeout: 5_000 })
  const resumed = await coding.house.pool.resume(id, inline({ text: 'still there' }))
  expect(resumed.sdkSessionId).toBe(coding.house.pool.resolve(id).sdkSessionId)
  await coding.until(resumed.id, 'awaiting-input')
  expect(coding.real.api.calls().at(-1)!.text).toContain('time.sleep(60)')
})

/** Starts three processes that leave Claude's process tree: their shell ends, and one of them has closed its output. */
const detaching = [
  "setsid sh -c 'echo $$ >> pids; exec sleep 300' &",
  "sh -c 'echo $$ >> pids; exec sleep 300' &",
  '(setsid sh -c \'trap "" TERM; echo $$ >> pids; sleep 300; true\' > /dev/null 2>&1 < /dev/null &)',
  'until [ "$(wc -l < pids)" = 3 ]; do sleep 0.05; done',
].join('\n')

test.each(['kill', 'shutdown', 'crash of Claude'] as const)(
  'after the %s nothing is left that the session started, not even detached processes',
  async (end) => {
    const id = waiting.shift()!
    const { workdir } = coding.house.pool.resolve(id).request
    const tools = [{ name: 'Bash', input: { command: detaching } }]
    await sayAndAllow(id, inline({ tools }, { text: 'started them' }))
    const detached = readFileSync(join(workdir, 'pids'), 'utf8').trim().split('\n').map(Number)
    const before = detached.map((pid) => identifyProcess(pid)!)
    expect(before).toHaveLength(3)
    expect(descendantsOf(process.pid).map(({ pid }) => pid)).not.toContain(before[0]!.pid)
    if (end === 'kill') await coding.house.pool.kill(id)
    const conversation = coding.real.agent.live(`coding:${id}`)
    if (end === 'shutdown') await conversation!.close()
    if (end === 'crash of Claude') process.kill(conversation!.pid!, 'SIGKILL')
    await vi.waitFor(() => expect(before.filter(isSameProcess)).toEqual([]), { timeout: 10_000 })
  },
)

test('a session whose Rockpool was killed just after the start continues under the id that was chosen for it: Claude gets the first prompt once', async () => {
  const promptOf = (bird: string): string => `the first word of ${bird} ${inline({ text: 'I listen' })}`
  const [reached, lost] = [leftBehind(promptOf('a heron')), leftBehind(promptOf('an egret'))]
  const claude = await coding.real.open({
    key: 'started',
    newSdkSessionId: reached.newSdkSessionId!,
    cwd: reached.request.workdir,
  })
  const { uuid, text } = reached.given[0]!
  expect(await claude.turn({ uuid, text }, () => {})).toMatchObject({ end: { kind: 'completed' } })
  // Claude writes its transcript a moment later, and a slow process is killed before that.
  const received = (): Promise<Set<string>> =>
    coding.real.agent.received(reached.newSdkSessionId!, reached.given)
  await vi.waitFor(async () => expect((await received()).size).toBe(1), { timeout: 30_000 })
  await claude.close()
  for (const row of [reached, lost]) await coding.house.store.save(row)
  await coding.house.pool.recover()
  for (const row of [reached, lost]) {
    const { sdkSessionId } = await coding.until(row.id, 'awaiting-input')
    expect(sdkSessionId).toBe(row.newSdkSessionId)
  }
  const sentAbout = (bird: string): string[] =>
    coding.real.api
      .calls()
      .filter((call) => call.text.includes(`the first word of ${bird}`))
      .map((call) => call.prompt)
  expect(sentAbout('a heron')).toEqual([
    expect.stringContaining('the first word of a heron'),
    expect.stringContaining('Continue where you left off.'),
  ])
  expect(sentAbout('an egret')).toEqual([expect.stringContaining('an egret')])
})

test('a new session has its name as the title of its Claude session, although the id was chosen before', async () => {
  const workdir = coding.house.repo('title')
  const prompt = `remember the plover ${inline({ text: 'a plover' })}`
  const { id } = await coding.launch(prompt, { workdir, name: 'plover-watch' })
  const { sdkSessionId, newSdkSessionId } = await coding.until(id, 'awaiting-input')
  expect(sdkSessionId).toBe(newSdkSessionId)
  expect(titlesOf(sdkSessionId!)).toContain('plover-watch')
})

function titlesOf(sdkSessionId: string): Array<string | undefined> {
  const projects = join(coding.real.home.configDir, 'projects')
  const names = readdirSync(projects, { recursive: true, encoding: 'utf8' })
  const file = join(
    projects,
    names.find((name) => name.endsWith(`${sdkSessionId}.jsonl`))!,
  )
  const records = readFileSync(file, 'utf8').trimEnd().split('\n')
  return records.map((line) => (JSON.parse(line) as { customTitle?: string }).customTitle)
}

test('a resume sends the tools, the system prompt and the messages that Claude has cached for the session, so that it is priced as warm', async () => {
  const { id } = coding.house.pool.resolve('plover-watch')
  await coding.house.pool.kill(id)
  const resumed = await coding.house.pool.resume(id, `which bird? ${inline({ text: 'the plover' })}`)
  await coding.until(resumed.id, 'awaiting-input')
  const [first, second] = ['remember the plover', 'which bird?'].map(
    (words) => coding.real.api.calls().findLast(({ prompt }) => prompt.includes(words))!.body,
  )
  expect(cachedParts(second!.tools)).toEqual(cachedParts(first!.tools))
  expect(cachedParts(second!.system)).toEqual(cachedParts(first!.system))
  expect(cachedParts(second!.messages!.slice(0, first!.messages!.length))).toEqual(
    cachedParts(first!.messages),
  )
})

/** Marks of the cache itself move from message to message; they are no part of what is compared. */
function cachedParts(part: unknown): unknown {
  return JSON.parse(JSON.stringify(part, (key, value) => (key === 'cache_control' ? undefined : value)))
}

test('a session is resumed in a trimmed copy: the real Claude gets notes for old results and everything else, and the original stays', async () => {
  const workdir = coding.house.repo('trim')
  const read = (i: number) => {
    writeFileSync(join(workdir, `${i}.txt`), `tide ${i} `.repeat(1_500))
    return { tools: [{ name: 'Read', input: { file_path: join(workdir, `${i}.txt`) } }] }
  }
  coding.real.api.script('read-the-tides', [
    ...Array.from({ length: 8 }, (_, i) => read(i)),
    { text: 'All read.' },
  ])
  const { id } = await coding.launch('read-the-tides', { workdir })
  const { sdkSessionId } = await coding.until(id, 'awaiting-input')
  const whole = JSON.stringify(coding.real.api.calls().at(-1)!.body)
  const prompt = inline({ text: 'Tide 7 was the last.' })
  const trimmed = await coding.house.pool.resume(id, prompt, { trim: 'hard' })
  const ended = await coding.until(trimmed.id, 'awaiting-input')
  expect(ended.sdkSessionId).not.toBe(sdkSessionId)
  expect(ended).toMatchObject({ resumedFrom: sdkSessionId, lastWords: 'Tide 7 was the last.' })
  expect(coding.said(trimmed.id)[1]).toMatch(/^Continuing in a trimmed copy: 6 old results cut/)
  const [first] = coding.real.api.calls().filter((call) => call.sdkSessionId === ended.sdkSessionId)
  const sent = JSON.stringify(first!.body)
  expect(sent.length).toBeLessThan(whole.length * 0.7)
  for (const text of ['tide 7 tide 7', 'read-the-tides', 'All read.', '[Cut by Rockpool: Read '])
    expect(sent).toContain(text)
  expect(sent).not.toContain('tide 3 tide 3')
})

test('a waiting session that is continued in a terminal is noticed before its next turn: resumed with those words, or forked while it is open there', async () => {
  const { id, sdkSessionId, request } = coding.house.pool.resolve('plover-watch')
  const { workdir } = request
  await inTerminal(workdir, sdkSessionId!, `the heron landed ${inline({ text: 'seen' })}`).ended
  const resumed = await coding.say(id, `what landed? ${inline({ text: 'a heron' })}`)
  expect(resumed.sdkSessionId).toBe(sdkSessionId)
  expect(coding.real.api.calls().at(-1)!.text).toContain('the heron landed')
  expect(coding.said(id)).toContainEqual(expect.stringContaining('Another process continued this session'))
  // Its own commands are no other writer.
  await coding.say(id, '/compact')
  await coding.say(id, inline({ text: 'and on' }))
  expect(coding.said(id).filter((text) => text.startsWith('Another process continued'))).toHaveLength(1)
  const terminal = inTerminal(workdir, sdkSessionId!, `stay ${inline({ text: 'bye', hold: 'terminal' })}`)
  await coding.real.api.requested((request) => request.prompt.includes('stay '))
  const forked = await coding.say(id, inline({ text: 'on my own' }))
  expect(forked.sdkSessionId).not.toBe(sdkSessionId)
  expect(coding.said(id)).toContainEqual(
    expect.stringMatching(/process \d+ .*has it open\. Continuing in a fork/),
  )
  coding.real.api.release('terminal')
  await terminal.ended
})

/** Somebody resumes a session by hand. */
function inTerminal(cwd: string, sdkSessionId: string, prompt: string): { ended: Promise<unknown> } {
  const args = ['-p', '--model', testModel, '--resume', sdkSessionId, prompt]
  const child = spawn(claudeBinary, args, { cwd, env: coding.real.home.variables, stdio: 'ignore' })
  return { ended: new Promise((resolve) => child.on('close', resolve)) }
}

/** The row of a session whose Rockpool died when it had given Claude the first prompt, before it learned anything of Claude. */
function leftBehind(prompt: string): CodingSession {
  const { house } = coding
  const request = {
    prompt,
    workdir: house.repo('killed'),
    agentId: 'main',
    model: testModel,
    budgetUsd: 1_000,
    allowedTools: [],
    permissionMode: 'default' as const,
    multiTurn: true,
    originChannel: 'gateway',
    spawnDepth: 0,
  }
  const row = launched(request, {}, { owner: asOwner(deadProcess), now: Date.now() })
  const given = [{ uuid: randomUUID(), text: prompt }]
  return { ...row, lifecycle: 'starting', startedAt: Date.now(), inbox: [], given }
}
