// Who may give messages to a coding session that works without asking: not by mail, not by a launch, a schedule or an undo, if the caller
// could not let a new session do the same.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import type { CodingSession } from '../src/domain/coding-session.ts'
import type { Mail } from '../src/domain/mail.ts'
import { perform } from '../src/operations/all.ts'
import { bridgeWorld } from '../src/operations/cc/bridge-world.ts'
import { hashOf, newToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { connect, http, openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

const tokens = { write: newToken(), bound: newToken() }
const codexFiles = new URL('fixtures/agents/codex/old-versions/0.145.0/sessions/', import.meta.url)
let house: House
let workdir: string
let started: string

beforeAll(async () => {
  house = await openHouse({
    config: {
      claude: { credential: 'none' },
      agents: { defaults: { allowedTools: ['Read'] }, list: [{ id: 'main' }, { id: 'work' }] },
    },
    before(dir) {
      const record = (name: keyof typeof tokens, agentId?: string) => {
        const hash = hashOf(tokens[name]).toString('base64url')
        return { name, scopes: ['read', 'write'], createdAt: 0, hash, agentId }
      }
      writeTokenRecords(dir, [record('write'), record('bound', 'main')])
      cpSync(codexFiles, join(dir, '.codex/sessions'), { recursive: true })
    },
  })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
  workdir = join(house.dir, 'project')
  mkdirSync(workdir)
  started = join(house.dir, 'codex-started')
  const codex = join(house.dir, 'codex.sh')
  writeFileSync(codex, `#!/bin/sh\necho started >> ${started}\nexit 1\n`, { mode: 0o755 })
  Object.assign(house.app.config.coding, {
    repos: { project: workdir },
    programs: { codex: { path: codex } },
  })
  house.app.mail().carrier.start()
})
afterAll(async () => {
  await house.app.mail().carrier.stop()
  await house.close()
})

async function call<T>(method: string, params: object, token = house.token): Promise<T> {
  const { result, error } = await rpc(house, method, params, token)
  expect(error).toBeUndefined()
  return result as T
}

async function errorOf(method: string, params: object, token = house.token): Promise<string> {
  const { error } = await rpc(house, method, params, token)
  return `${error?.data?.code}: ${error?.message}`
}

const sessionOf = (ref: string): CodingSession => house.app.coding().pool.resolve(ref)

/** A session that has taken its first turn and waits. */
async function launch(name: string, more: object = {}, token = house.token): Promise<CodingSession> {
  const task = { prompt: '[[offline: say hello]]', fresh: true, workdir, name }
  const { id } = await call<{ id: string }>('coding.launch', { ...task, ...more }, token)
  await vi.waitFor(() => expect(sessionOf(id)).toMatchObject({ lifecycle: 'awaiting-input', turns: 1 }))
  return sessionOf(id)
}

const tokenNames = ['write', 'bound'] as const
const unasked = /^refused: wide has the use of Bash without asking, which this caller cannot give/

test('mail of a caller that may not approve neither reaches nor resumes a session that works without asking', async () => {
  const { id } = await launch('wide', { allowedTools: ['Bash'] })
  for (const token of tokenNames) {
    expect(await errorOf('mail.send', { to: 'wide', text: 'EVIL' }, tokens[token])).toMatch(unasked)
  }
  // Mail may wait until the session of its address works without asking.
  const names = { senderName: 'w', recipientName: 'wide', sender: 'program:w', recipient: `session:${id}` }
  const rest = { body: 'EVIL', resume: false, giver: { mayApprove: false } }
  const waiting = await house.app.mail().office.send({ ...names, ...rest }, {})
  const read = (): Promise<Mail> => call<Mail>('mail.read', { message: waiting.id })
  await vi.waitFor(async () => expect((await read()).note).toMatch(/use of Bash without asking/))
  // The session does not get it with its next turn or by asking for its mail, either.
  await call('coding.respond', { session: 'wide', message: '[[offline: wait 1500]]' })
  const seat = { agentId: 'main', repoPath: workdir, codingId: id }
  expect(await bridgeWorld(house.app, seat).receiveMail()).toBe('There is no new mail.')
  await vi.waitFor(
    () => expect(sessionOf(id)).toMatchObject({ lifecycle: 'awaiting-input', turns: 2 }),
    5_000,
  )
  expect(await read()).toMatchObject({ state: 'accepted' })
  await call('mail.send', { to: 'wide', text: '[[offline: say mail]]' })
  await vi.waitFor(
    () => expect(sessionOf(id)).toMatchObject({ lifecycle: 'awaiting-input', turns: 3 }),
    5_000,
  )
  await call('coding.kill', { session: 'wide' })
  for (const token of tokenNames) {
    const mail = { to: 'wide', text: 'EVIL', resume: true }
    expect(await errorOf('mail.send', mail, tokens[token])).toMatch(unasked)
    expect(await errorOf('coding.kill', { session: 'wide', undo: true }, tokens[token])).toMatch(unasked)
  }
  await call('coding.kill', { session: 'wide', undo: true })
  expect(sessionOf(id)).toMatchObject({ lifecycle: 'suspended' })
})

test('a conversation in which a session worked without asking stays closed when a session that asks continues it', async () => {
  await launch('before', { allowedTools: ['Bash'] })
  const sdkSessionId = sessionOf('before').sdkSessionId!
  await launch('after', { resumeSessionId: 'before', fresh: undefined })
  const closed = /^refused: before has the use of Bash without asking, which this caller cannot give/
  expect(sessionOf('after')).toMatchObject({ sdkSessionId, request: { allowedTools: [] } })
  const schedule = { when: 'every 1 hours', do: 'coding', text: 'EVIL', workdir }
  for (const isWaiting of [true, false]) {
    for (const token of tokenNames)
      for (const ref of ['before', 'after', sdkSessionId]) {
        const attempts: Array<[method: string, params: object]> = [
          ['coding.launch', { prompt: 'EVIL', workdir, resumeSessionId: ref }],
          ['mail.send', { to: ref, text: 'EVIL', resume: true }],
          ['schedules.add', { ...schedule, session: ref }],
          ['coding.resume', { session: ref, prompt: 'EVIL' }],
        ]
        for (const [method, params] of attempts)
          expect([method, ref, await errorOf(method, params, tokens[token])]).toEqual([
            method,
            ref,
            expect.stringMatching(closed),
          ])
      }
    if (isWaiting) await call('coding.kill', { session: 'after' })
  }
})

test('a caller that may not approve does not run a schedule of the owner that continues such a session', async () => {
  const every = { when: 'every 1 hours', do: 'coding', text: 'go on', workdir }
  await launch('wider', { allowedTools: ['Bash'] })
  await call('schedules.add', { ...every, name: 'nightly', session: 'wider' })
  await call('schedules.add', { ...every, name: 'fresh' })
  for (const token of tokenNames) {
    expect(await errorOf('schedules.run', { schedule: 'nightly' }, tokens[token])).toMatch(
      /^refused: wider has the use of Bash/,
    )
    expect(await errorOf('schedules.run', { schedule: 'fresh' }, tokens[token])).toBe('undefined: undefined')
  }
  const { runs } = await call<{ runs: object[] }>('schedules.log', { schedule: 'nightly' })
  expect(runs).toEqual([])
  expect(await errorOf('schedules.run', { schedule: 'nightly' })).toBe('undefined: undefined')
})

test('a caller that may not approve neither resumes nor runs what waits for the owner, and does not pause as the owner', async () => {
  const reminder = { when: 'every 1 hours', do: 'message', text: 'drink', to: 'telegram|503', name: 'drink' }
  const { id } = await call<{ id: string }>('schedules.add', reminder)
  const { schedules } = house.app.storage
  const addedIn = 'telegram|503'
  const removed = `The chat in which it was added, ${addedIn}, is no longer the owner's.`
  await schedules.change(id, () => ({ addedIn, strangers: undefined, paused: removed }))
  const refusedAct = /^refused: This caller cannot (?:resume|run) what the owner paused/
  for (const act of ['resume', 'run'])
    for (const token of tokenNames)
      expect(await errorOf(`schedules.${act}`, { schedule: id }, tokens[token])).toMatch(refusedAct)
  // A schedule that was not yet paused for it is not taken over, either.
  await schedules.change(id, () => ({ paused: undefined }))
  const pause = (token?: string) => call('schedules.pause', { schedule: id }, token)
  expect(await pause(tokens.write)).toMatchObject({ paused: 'Paused by a program.' })
  await call('schedules.resume', { schedule: id }, tokens.write)
  expect(schedules.resolve(id)).toMatchObject([{ addedIn }])
  expect(schedules.resolve(id)[0]).not.toHaveProperty('strangers')
  expect(await pause(tokens.write)).toMatchObject({ paused: 'Paused by a program.' })
  expect(await pause()).toMatchObject({ paused: 'Paused by the owner.' })
  expect(await errorOf('schedules.resume', { schedule: id }, tokens.write)).toMatch(refusedAct)
  await call('schedules.resume', { schedule: id })
  const [taken] = schedules.resolve(id)
  expect([taken!.paused, taken!.addedIn, taken!.strangers]).toEqual([undefined, undefined, [addedIn]])
})

test('a token that may not approve writes mail under its own name, and does not decide who may wake', async () => {
  const { id } = await launch('narrow')
  const sent = await call<Mail>('mail.send', { to: 'narrow', text: 'hello' }, tokens.write)
  expect(sent).toMatchObject({ sender: 'program:token:write', senderName: 'token:write' })
  const seat = { agentId: 'main', repoPath: workdir, codingId: id }
  const received = await bridgeWorld(house.app, seat).receiveMail()
  expect(received).toContain('From: program "token:write" (program:token:write)')
  expect(received).not.toContain('the owner')
  expect(sessionOf(id).turns).toBe(1)
  await call('mail.send', { to: 'owner', text: 'for the owner' }, tokens.bound)
  const answer = { to: 'program:token:write', text: 'an answer' }
  await call('mail.send', answer)
  const { mail } = await call<{ mail: Mail[] }>('mail.inbox', {}, tokens.write)
  expect(mail.map(({ body }) => body)).toEqual(['an answer'])
  expect(await errorOf('mail.send', { ...answer, to: 'program:nobody' })).toMatch(/^not-found/)
  const allow = { session: 'narrow', wake: 'anyone' }
  expect(await errorOf('mail.allow', allow, tokens.write)).toMatch(/^forbidden/)
})

test('a session writes to another one that may do no more without asking than itself', async () => {
  const writers = { asks: await launch('asks'), equal: await launch('equal', { allowedTools: ['Bash'] }) }
  await launch('reader', { allowedTools: ['Bash'] })
  const sendFrom = ({ id }: CodingSession): Promise<unknown> =>
    bridgeWorld(house.app, { agentId: 'main', repoPath: workdir, codingId: id }).sendMail({
      to: 'reader',
      text: 'hello',
    })
  await expect(sendFrom(writers.asks)).rejects.toMatchObject({ code: 'refused' })
  await expect(sendFrom(writers.equal)).resolves.toMatchObject({ state: 'accepted' })
})

test('a session that writes with the token of the owner has its own rights; a token gets none by naming a session', async () => {
  const [asks, equal] = [await launch('plain'), await launch('same', { allowedTools: ['Bash'] })]
  await launch('target', { allowedTools: ['Bash'] })
  const terminal = 'aaaaaaaa-0000-4000-8000-000000000002'
  const { mail } = house.app.storage
  await mail.sessionStarted({ session: terminal, root: terminal, machine: 'here', startedAt: 0 })
  const sendFrom = async (session: string, token = house.token): Promise<string> => {
    const params = { to: 'target', text: '[[offline: say mail]]' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'mail.send', params })
    const headers = { 'rockpool-session': session }
    return (await http(house, '/rpc', { method: 'POST', token, headers, body })).body
  }
  const refused = 'target has the use of Bash without asking'
  expect(await sendFrom(terminal)).toContain(refused)
  expect(await sendFrom(asks.sdkSessionId!)).toContain(refused)
  expect(await sendFrom(equal.sdkSessionId!, tokens.write)).toContain(refused)
  expect(await sendFrom(equal.sdkSessionId!)).toContain('"state":"accepted"')
})

test('a token that may not approve is no session and no agent by naming one: it writes as itself and takes no mail of theirs', async () => {
  const [terminal, other] = ['bbbbbbbb-0000-4000-8000-000000000003', 'bbbbbbbb-0000-4000-8000-000000000004']
  const { mail } = house.app.storage
  for (const id of [terminal, other])
    await mail.sessionStarted({ session: id, root: id, machine: 'here', startedAt: 0 })
  const asked = await call<Mail>('mail.send', { to: terminal, text: 'which port?' })
  const named = async <T>(
    method: string,
    params: object,
    { token = tokens.write, ...headers }: Record<string, string> = { 'rockpool-session': terminal },
  ): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return (await http(house, '/rpc', { method: 'POST', token, headers, body })).json()['result'] as T
  }
  const mails = async (client: Promise<{ mail: Mail[] }>): Promise<string[]> =>
    (await client).mail.map(({ body }) => body)
  expect(await mails(named('mail.inbox', {}))).toEqual([])
  const spoken = { to: other, text: 'I am the other session' }
  const own = { sender: 'program:token:write', senderName: 'token:write' }
  expect(await named('mail.send', spoken)).toMatchObject(own)
  expect(await named('mail.send', spoken, { 'rockpool-agent': 'main' })).toBeUndefined()
  expect(await named('mail.send', { ...spoken, to: 'owner' }, { 'rockpool-agent': 'main' })).toMatchObject(
    own,
  )
  const socket = await connect(house)
  await socket.call('connect', { token: tokens.write, claudeSession: terminal })
  expect((await socket.call('mail.send', spoken)).result).toMatchObject(own)
  expect((await socket.call('mail.inbox')).result).toMatchObject({ mail: [] })
  socket.socket.close()
  // What the session would see is not widened, either: the token alone lists the mail of all.
  expect(await mails(named('mail.list', {}))).not.toContain('which port?')
  expect(await mails(named('mail.list', {}, {}))).toContain('which port?')
  expect(await call<Mail>('mail.read', { message: asked.id })).toMatchObject({ state: 'accepted' })
  const honest = { 'rockpool-session': terminal, token: house.token }
  expect(await mails(named('mail.inbox', {}, honest))).toEqual(['which port?'])
})

test('no launch, schedule or mail of such a caller starts a program that cannot ask', async () => {
  const [file] = readdirSync(codexFiles, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.jsonl'),
  )
  const session = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(file!)![0]
  expect(readFileSync(new URL(file!, codexFiles), 'utf8')).toContain(session)
  const closed = /^refused: This caller cannot start sessions of Codex/
  const launched = { prompt: 'EVIL', resumeSessionId: session, workdir }
  expect(await errorOf('coding.launch', launched, tokens.write)).toMatch(closed)
  const schedule = { when: 'every 1 hours', do: 'coding', text: 'EVIL', name: 'cx', session, workdir }
  expect(await errorOf('schedules.add', schedule, tokens.write)).toMatch(closed)
  // Rights may have been lost since it was added.
  await call('schedules.add', schedule)
  const [added] = house.app.storage.schedules.resolve('cx')
  await house.app.storage.schedules.change(added!.id, () => ({ withoutApprove: true }))
  expect(await errorOf('schedules.run', { schedule: 'cx' }, tokens.write)).toMatch(closed)
  await call('schedules.run', { schedule: 'cx' })
  const names = { senderName: 'w', recipientName: 'c', sender: 'owner', recipient: `session:${session}` }
  const rest = { body: 'EVIL', resume: true, session, giver: { mayApprove: false } }
  const { id } = await house.app.mail().office.send({ ...names, ...rest }, {})
  await vi.waitFor(
    async () =>
      expect((await call<Mail>('mail.read', { message: id })).note).toMatch(/cannot start sessions/),
    10_000,
  )
  expect(() => readFileSync(started)).toThrow()
})

test('a session of a removed agent is neither resumed by mail nor reopened', async () => {
  await call('agents.add', { id: 'gone' })
  await launch('ghost', { agent: 'gone' })
  await call('agents.remove', { id: 'gone' })
  for (const token of [house.token, tokens.write]) {
    const mail = { to: 'ghost', text: 'go on', resume: true }
    expect(await errorOf('mail.send', mail, token)).toBe('not-found: There is no agent "gone".')
    const undo = { session: 'ghost', undo: true }
    expect(await errorOf('coding.kill', undo, token)).toBe('not-found: There is no agent "gone".')
  }
  expect(sessionOf('ghost')).toMatchObject({ lifecycle: 'ended' })
})

test('a rule for one session holds for those who launched it; a rule for all sessions holds for everybody', async () => {
  await launch('mine')
  await launch('theirs', {}, tokens.bound)
  const say = (session: string, token: keyof typeof tokens): Promise<string> =>
    errorOf('coding.respond', { session, message: '[[offline: say more]]' }, tokens[token])
  const allowed = 'undefined: undefined'
  const rule = { command: 'touch *', folder: workdir }
  await call('rules.add', rule)
  for (const token of tokenNames) expect(await say('mine', token)).toBe(allowed)
  const { id } = await call<{ id: string }>('rules.add', { ...rule, session: 'mine' })
  await call('rules.add', { ...rule, session: 'theirs' })
  for (const token of tokenNames) {
    expect(await say('mine', token)).toMatch(/^refused: mine has the rule: touch \* in .*, which this caller/)
    expect(await say('theirs', token)).toBe(allowed)
  }
  await call('rules.remove', { id })
  expect(await say('mine', 'write')).toBe(allowed)
})

test('a caller that may not approve does not move a session that works without asking', async () => {
  const move = { session: 'wide', machine: 'elsewhere' }
  const bound = { via: 'mcp', scopes: ['read', 'write'], agentId: 'main' } as const
  await expect(perform(house.app, 'coding.move', move, bound)).rejects.toMatchObject({ code: 'refused' })
})
