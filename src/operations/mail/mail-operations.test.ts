// Mail as people, sessions and agents use it: addresses that one can type, who may write to whom, receipts.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../app.ts'
import type { Mail } from '../../domain/mail.ts'
import { readEnvironment } from '../../store/config-file.ts'
import { perform } from '../all.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

const home = mkdtempSync(join(tmpdir(), 'rockpool-mail-'))
const claude = join(home, 'claude')
const ids = { one: 'aaaaaaaa-0000-4000-8000-000000000001', two: 'bbbbbbbb-0000-4000-8000-000000000002' }
const fork = 'cccccccc-0000-4000-8000-000000000003'
const owner: Caller = { via: 'cli', scopes: ['admin'], name: 'cli' }
const session = (claudeSession: string): Caller => ({ ...owner, claudeSession })
const agent = (agentId: string): Caller => ({
  via: 'mcp',
  scopes: ['read', 'write'],
  agentId,
  author: 'owner',
  sessionKey: `agent:${agentId}:main`,
})
let app: App

beforeAll(async () => {
  mkdirSync(join(home, '.rockpool'), { recursive: true })
  const config = { claude: { credential: 'none' }, agents: { list: [{ id: 'main' }, { id: 'crab' }] } }
  writeFileSync(join(home, '.rockpool', 'rockpool.json'), JSON.stringify(config))
  for (const id of Object.values(ids)) writeSession(id)
  writeSession(fork, { forkedFrom: { sessionId: ids.one, messageUuid: 'u' } })
  const variables = { HOME: home, CLAUDE_CONFIG_DIR: claude, PATH: process.env['PATH'] }
  app = await openApp(readEnvironment(variables), { version: 'test' })
  for (const agentId of ['main', 'crab'])
    await app.storage
      .sessions(agentId)
      .update(`agent:${agentId}:main`, () => ({ sessionId: agentId, updatedAt: 1 }))
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

function writeSession(id: string, more: object = {}): void {
  const folder = join(claude, 'projects', '-repo')
  mkdirSync(folder, { recursive: true })
  const record = {
    type: 'user',
    sessionId: id,
    uuid: `u-${id}`,
    cwd: '/repo',
    timestamp: '2026-11-17T08:00:00Z',
    message: { role: 'user', content: `the work of ${id.slice(0, 4)}` },
    ...more,
  }
  writeFileSync(join(folder, `${id}.jsonl`), `${JSON.stringify(record)}\n`)
}

const call = <T = Mail>(name: string, input: Record<string, unknown>, caller = owner): Promise<T> =>
  perform(app, `mail.${name}`, input, caller) as Promise<T>

const send = (to: string, caller = owner, more: object = {}): Promise<Mail> =>
  call('send', { to, text: 'hello', ...more }, caller)

test('a session is addressed by the beginning of its id; its fork has the same address', async () => {
  expect(await send('aaaaaaaa')).toMatchObject({
    recipient: `session:${ids.one}`,
    session: ids.one,
    sender: 'owner',
  })
  expect(await send(fork)).toMatchObject({ recipient: `session:${ids.one}`, session: fork })
  expect(await send(`session:${ids.two}`)).toMatchObject({ recipient: `session:${ids.two}` })
  // It has reported its start, and has no transcript yet.
  const fresh = '0d18c6e2-d9e3-4169-87ec-d96fcc228ff1'
  await app.mail().office.started(fresh, { source: 'startup' })
  expect(await send(fresh)).toMatchObject({ recipient: `session:${fresh}`, session: fresh })
  await expect(send('no-such-thing')).rejects.toMatchObject({
    code: 'not-found',
    hint: expect.stringContaining('cc list') as string,
  })
  await expect(send('chat:agent:main:nowhere')).rejects.toMatchObject({ code: 'not-found' })
  await expect(send('person:nobody')).rejects.toMatchObject({ code: 'input-invalid' })
})

test('a send that is repeated with its key is one message', async () => {
  const first = await send(ids.two, owner, { key: 'k-1' })
  expect((await send(ids.two, owner, { key: 'k-1' })).id).toBe(first.id)
  await expect(send(ids.two, owner, { key: 'k-1', text: 'other' })).rejects.toMatchObject({
    code: 'conflict',
  })
})

test('a session writes as itself, receives only its own mail, and reads no other', async () => {
  const mail = await send(ids.two, session(ids.one))
  expect(mail).toMatchObject({ sender: `session:${ids.one}` })
  const inbox = await call<{ text: string; mail: Mail[] }>('inbox', {}, session(ids.two))
  expect(inbox.mail.map(({ id }) => id)).toContain(mail.id)
  expect(inbox.text).toContain(`(session:${ids.one})`)
  expect((await call<{ mail: Mail[] }>('inbox', {}, session(ids.two))).mail).toEqual([])
  const secret = await send('owner', session(ids.two))
  await expect(call('read', { message: secret.id }, session(ids.one))).rejects.toMatchObject({
    code: 'not-found',
  })
  const listed = await call<{ mail: Mail[] }>('list', { limit: 1_000 }, session(ids.one))
  const mine = `session:${ids.one}`
  expect(listed.mail.every(({ sender, recipient }) => sender === mine || recipient === mine)).toBe(true)
  await expect(call('allow', { session: ids.one, wake: 'anyone' }, session(ids.one))).rejects.toMatchObject({
    code: 'forbidden',
  })
})

test('an answer shows that a message was read; the owner reads mail with its receipt', async () => {
  const asked = await send(ids.one, session(ids.two))
  await call('inbox', {}, session(ids.one))
  expect(await call('read', { message: asked.id.slice(-6) })).toMatchObject({
    state: 'delivered',
    deliveredTo: ids.one,
  })
  await send(`session:${ids.two}`, session(ids.one), { replyTo: asked.id })
  expect(await call('read', { message: asked.id })).toMatchObject({ state: 'read' })
  const toOwner = await send('owner', session(ids.one))
  expect((await call<{ mail: Mail[] }>('inbox', {})).mail.map(({ id }) => id)).toContain(toOwner.id)
  expect(await call('read', { message: toOwner.id })).toMatchObject({ state: 'read', recipient: 'owner' })
})

test('an agent writes to its own chats and sessions and to the owner, not to others, unless they wrote to it', async () => {
  expect(await send('chat:agent:main:main', agent('main'))).toMatchObject({ sender: 'chat:agent:main:main' })
  expect(await send('owner', agent('main'))).toMatchObject({ recipient: 'owner' })
  await expect(send('person:telegram|5', agent('main'))).rejects.toMatchObject({ code: 'forbidden' })
  for (const to of ['chat:agent:crab:main', `session:${ids.one}`])
    await expect(send(to, agent('main'))).rejects.toMatchObject({ code: 'not-found' })
  await expect(send('chat:agent:main:main', session(ids.one))).rejects.toMatchObject({ code: 'forbidden' })
  for (const author of ['guest', 'group', 'hook'] as const)
    await expect(send('owner', { ...agent('main'), author })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(send('owner', { ...owner, via: 'hook' })).rejects.toMatchObject({ code: 'forbidden' })
})

test('a caller of an agent is no session of others, takes none of their mail, and learns of none of them', async () => {
  const secret = await send(ids.one, owner, { text: 'a private note' })
  for (const posed of [ids.one, ids.two, 'dddddddd-0000-4000-8000-000000000004']) {
    const caller = { ...agent('main'), sessionKey: undefined, claudeSession: posed }
    for (const [name, input] of [
      ['inbox', {}],
      ['list', {}],
      ['read', { message: secret.id }],
      ['send', { to: 'owner', text: 'hello' }],
    ] as const)
      await expect(call(name, input, caller)).rejects.toMatchObject({
        code: 'not-found',
        message: `There is no session "${posed}".`,
      })
  }
  expect(await call('read', { message: secret.id })).toMatchObject({ state: 'accepted' })
  const absent = { session: 'session:dddddddd-0000-4000-8000-000000000004', chat: 'chat:agent:crab:absent' }
  const named = { session: `session:${ids.one}`, chat: 'chat:agent:crab:main' }
  const saidOf = async (to: string): Promise<string[]> => {
    const refused = async (name: string, input: Record<string, unknown>): Promise<string> =>
      call(name, input, agent('main')).then(
        () => 'accepted',
        ({ code, message, hint }: { code: string; message: string; hint: string }) =>
          `${code}: ${message.replace(JSON.stringify(to), 'it')} ${hint}`,
      )
    return [await refused('send', { to, text: 'hello' }), await refused('list', { session: to })]
  }
  expect(await saidOf(named.session)).toEqual(await saidOf(absent.session))
  expect(await saidOf(named.chat)).toEqual(await saidOf(absent.chat))
})

test('an agent names and answers a session that wrote to it', async () => {
  const chat = 'chat:agent:main:main'
  const sender = `session:${ids.two}`
  const names = { senderName: 'two', recipientName: 'main' }
  const asked = await app
    .mail()
    .office.send(
      { sender, recipient: chat, body: 'which port?', resume: false, giver: { mayApprove: false }, ...names },
      {},
    )
  expect(await send(sender, agent('main'), { replyTo: asked.id })).toMatchObject({ recipient: sender })
  await expect(send(sender, agent('main'))).rejects.toMatchObject({ code: 'forbidden' })
})

test('a sender is limited, and a wait that ends says how far the message is', async () => {
  app.config.mail.perMinute = 2
  const sender = session(fork)
  const sent = await Promise.allSettled(Array.from({ length: 5 }, () => send(ids.two, sender)))
  app.config.mail.perMinute = 20
  expect(sent.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(2)
  await expect(send(ids.two, owner, { wait: 'read', timeout: 0.1 })).rejects.toMatchObject({
    code: 'timed-out',
  })
})

test('the owner decides who may wake a session', async () => {
  expect(await call('allow', { session: 'aaaaaaaa', wake: 'anyone' })).toMatchObject({ wake: 'anyone' })
  expect(await app.storage.mail.wakePolicy(ids.one)).toBe('anyone')
  await expect(call('allow', { session: 'owner', wake: 'anyone' })).rejects.toMatchObject({
    code: 'input-invalid',
  })
})
