// The least-rights walk: every path into a turn is taken by somebody with few rights, everything that the turn then has is
// tried on what belongs to the owner, and what was found stands as tables in docs/security.md.
// `WRITE_PAGES=1 vitest run test/least-rights.test.ts` writes them.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { openclawPrefix } from '../src/domain/agent.ts'
import type { ConversationOptions } from '../src/domain/agent.ts'
import type { Message } from '../src/domain/message.ts'
import { commandInfos } from '../src/inbound/command.ts'
import { allOperations } from '../src/operations/all.ts'
import { authorizeOperation } from '../src/operations/perform-operation.ts'
import type { Caller } from '../src/operations/operation.ts'
import { authors } from '../src/rights/author.ts'
import { refusalOf, refusedEverywhere, toolsOf } from '../src/rights/tools.ts'
import { hashOf, newToken, writeHookToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { attachmentFolder } from '../src/store/media/media-files.ts'
import { http, openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'
import { MemoryChannel } from './support/memory-channel.ts'

const secret = 'herring-under-the-stairs'
const page = new URL('../docs/security.md', import.meta.url)
const [hookToken, boundToken] = [newToken(), newToken()]
const outside = mkdtempSync(join(tmpdir(), 'rockpool-outside-'))
const main = 'agent:main:main'
const group = { channel: 'telegram', accountId: 'default', to: '-100777' }
const namingGroup = { ...group, to: '-100778' }
const inGroup = (address = group): Partial<Message> => ({ chatType: 'group', address })
let house: House
let channel: MemoryChannel
/** How each conversation was opened, in order. */
const opened: ConversationOptions[] = []
/** Where the turn that is looked at begins in that list. */
let mark = 0

beforeAll(async () => {
  house = await openHouse({ before: writeConfiguration })
  const offline = makeOfflineAgent({ clock: house.app.clock, directions: true })
  const runtime = {
    ...offline,
    open: (options: ConversationOptions) => {
      opened.push(options)
      return offline.open(options)
    },
  }
  house.app.runtime = async () => runtime
  channel = new MemoryChannel({ name: 'telegram' })
  await (await house.app.conversations()).addChannel(channel)
  for (const path of Object.values(files())) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, secret)
  }
  await rpc(house, 'turns.run', { message: `remember: ${secret}` })
  await rpc(house, 'sessions.patch', { key: main, label: secret })
})
afterAll(() => house.close())

function writeConfiguration(dir: string): void {
  const hash = hashOf(boundToken).toString('base64url')
  writeTokenRecords(dir, [{ name: 'bound', scopes: ['read', 'write'], agentId: 'main', createdAt: 0, hash }])
  writeHookToken(dir, hookToken)
  const groups = { [group.to]: {}, [namingGroup.to]: { allowFrom: ['502'] } }
  const config = {
    hooks: { enabled: true },
    claude: { credential: 'none' },
    agents: { defaults: { shared: { files: ['handbook.md', 'memory/public/'] } } },
    channels: {
      messagesPerMinute: 1_000,
      ownerAllowFrom: ['telegram:501'],
      telegram: { enabled: false, allowFrom: ['502'], groups },
    },
  }
  writeFileSync(join(dir, 'rockpool.json'), JSON.stringify(config))
}

function files(): Record<'note' | 'file' | 'attachment' | 'machine', string> {
  const workspace = house.app.paths.workspace('main')
  const owners = attachmentFolder(workspace, { agentId: 'main', key: 'agent:main:telegram:direct:501' })
  return {
    note: join(workspace, 'memory', '2026-01-01.md'),
    file: join(workspace, 'plans.md'),
    attachment: join(owners, 'letter.txt'),
    machine: join(outside, 'diary.txt'),
  }
}

interface Path {
  /** Says something by this path. */
  take: (text: string) => Promise<unknown>
  /** The conversation in which that must be answered. */
  key: RegExp
}

/** Takes one path into a turn; resolves to how Claude was opened for it. */
async function turnBy({ take, key }: Path, text = 'hello'): Promise<ConversationOptions> {
  mark = opened.length
  await take(text)
  const found = (): ConversationOptions | undefined => opened.slice(mark).find((one) => key.test(one.key))
  await vi.waitFor(() => expect(found()).toBeDefined(), { timeout: 60_000, interval: 20 })
  await (await house.app.conversations()).converse.idle()
  return found()!
}

const say =
  (from: string, more: Partial<Message> = {}) =>
  (text: string): Promise<unknown> =>
    channel.say(text, { from, ...more })
const hook =
  (path: string, field: string, more: object = {}) =>
  (text: string): Promise<unknown> =>
    http(house, path, { method: 'POST', token: hookToken, body: JSON.stringify({ [field]: text, ...more }) })
const asBound =
  (method: string, more: object = {}) =>
  (message: string): Promise<unknown> =>
    rpc(house, method, { message, ...more }, boundToken)

/** An answer to something that the owner's main session said in this chat. */
function answering(from: string, to: string, more: Partial<Message> = {}) {
  return async (text: string): Promise<unknown> => {
    const asked = { message: 'greet them', sessionKey: main, deliver: true, channel: 'telegram', to }
    await rpc(house, 'turns.run', asked)
    await (await house.app.conversations()).converse.idle()
    const { id } = channel.sent.at(-1)!
    mark = opened.length
    return say(from, { ...more, replyTo: { id } })(text)
  }
}

function launch(prompt: string): Promise<unknown> {
  return rpc(house, 'coding.launch', { prompt, workdir: house.app.paths.workspace('main') }, boundToken)
}

/** A turn in main, run by the bound token, launches a coding session with its own tool. */
async function launchFromMain(prompt: string): Promise<void> {
  const { tools } = await turnBy(paths['bound token: turns.run in main']!, prompt)
  const tool = tools.flatMap((server) => server.tools).find(({ name }) => name === 'claude_launch')!
  mark = opened.length
  const { text } = await tool.call({ prompt, fresh: true })
  expect(text).toContain('aunched')
}

const inMain = /^agent:main:main$/
const owners = /:telegram:direct:501$/
const guests = /:telegram:direct:502$/
const groups = /:telegram:group:-100777$/

const paths: Record<string, Path> = {
  'owner: private message': { take: say('501'), key: owners },
  'guest: private message': { take: say('502'), key: guests },
  "guest: answer to the owner's session": { take: answering('502', '502'), key: guests },
  'group: message of a member': { take: say('503', inGroup()), key: groups },
  'group: message of the owner': { take: say('501', inGroup()), key: groups },
  "group: answer to the owner's session": { take: answering('503', group.to, inGroup()), key: groups },
  'hook: /hooks/agent': { take: hook('/hooks/agent', 'message'), key: /:hook:/ },
  'hook: /hooks/wake': { take: hook('/hooks/wake', 'text', { mode: 'now' }), key: inMain },
  'bound token: turns.run in main': { take: asBound('turns.run', { sessionKey: main }), key: inMain },
  'bound token: turns.wake in main': {
    take: (text) => rpc(house, 'turns.wake', { text, sessionKey: main }, boundToken),
    key: inMain,
  },
  "bound token: turns.run in the guest's session": {
    take: asBound('turns.run', { sessionKey: 'agent:main:telegram:direct:502' }),
    key: guests,
  },
  'bound token: coding session': { take: launch, key: /^coding:/ },
  // Last: a session that launched another is woken when that one waits or ends.
  'bound token: main woken by its coding session': { take: launchFromMain, key: inMain },
}

/** Calls every tool of Rockpool's that the turn has, with every input that names something of the owner's. */
async function findsSecret({ tools }: ConversationOptions): Promise<boolean> {
  const inputs = [
    {},
    { sessionKey: main },
    { key: main },
    { query: secret },
    { query: 'herring' },
    { limit: 50 },
  ]
  const readers = tools.flatMap((server) => server.tools).filter(({ readOnly }) => readOnly)
  for (const tool of readers) {
    for (const input of inputs) {
      const { text } = await tool.call(input)
      if (text.replaceAll(/"query": ?"[^"]*"/g, '').includes(secret)) return true
    }
  }
  return false
}

/** Which of the owner's files the turn can send, by any way to write their path. */
async function sends(path: Path, cwd: string): Promise<string[]> {
  const sent = new Set<string>()
  for (const [name, file] of Object.entries(files())) {
    for (const written of [file, relative(cwd, file), `./${relative(cwd, file)}`]) {
      const before = channel.sent.length
      await turnBy(path, `please [[offline: say MEDIA:${written}]]`)
      if (channel.sent.slice(before).some(({ reply }) => reply.media?.length)) sent.add(name)
    }
  }
  return [...sent]
}

async function asksOwner({ askPermission }: ConversationOptions): Promise<boolean> {
  const request = { requestId: 'r', kind: 'tool' as const, toolName: 'Bash', input: { command: 'id' } }
  const stopped = new AbortController()
  let isAnswered = false
  const answer = askPermission(request, stopped.signal).then(
    () => void (isAnswered = true),
    () => void (isAnswered = true),
  )
  const isAsked = (): boolean => house.app.coding().approvals.pending().length > 0
  await vi.waitFor(() => expect(isAnswered || isAsked()).toBe(true), { timeout: 60_000, interval: 10 })
  const asked = isAsked()
  stopped.abort()
  await answer
  return asked
}

async function walk(name: string): Promise<string> {
  const path = paths[name]!
  const options = await turnBy(path)
  const workspace = house.app.paths.workspace('main')
  const own = options.tools.flatMap((server) => server.tools.map((tool) => tool.name))
  const folder = relative(workspace, options.cwd).replace(/[0-9a-f]{32}/, '<session>')
  const cells = [
    name,
    summary(options.toolRights.open),
    summary(own),
    folder === '' ? 'the workspace' : `\`${folder}\``,
    options.allowedTools.map((rule) => `\`${rule.replace(`/${workspace}`, '…')}\``).join(', ') || 'nothing',
    (await asksOwner(options)) ? 'yes' : 'no',
    options.beforeCompaction ? 'yes' : 'no',
    (await findsSecret(options)) ? 'found' : 'not found',
    name.startsWith('owner') || /guest: private|group: message/.test(name)
      ? (await sends(path, options.cwd)).join(', ') || 'none'
      : '–',
  ]
  return `| ${cells.join(' | ')} |`
}

function summary(names: readonly string[]): string {
  return names.length > 6 ? `${names.length} tools` : names.join(', ') || 'none'
}

const turnHeading = [
  '| path into a turn | Claude Code’s tools | Rockpool’s tools | works in | uses without asking | may ask the owner | writes notes | a secret of the owner by tools | files of the owner that it could send |',
  '|---|---|---|---|---|---|---|---|---|',
]

function toolTable(): string[] {
  const rows = [...authors, 'coding' as const].map((author) => {
    const name = author === 'coding' ? 'a coding session' : author
    return `| ${name} | ${toolsOf(author).open.join(' ') || 'none'} |`
  })
  return [
    '| author | tools of Claude Code that are open |',
    '|---|---|',
    ...rows,
    `| none, whatever is configured | ${refusedEverywhere.join(' ')}, and every tool that is not named here |`,
  ]
}

async function commandTable(): Promise<string[]> {
  const givers: Record<string, (text: string) => Promise<unknown>> = {
    'the owner in private': say('501'),
    'a guest in private': say('502'),
    'the owner in a group': say('501', inGroup()),
    'a member of a group': say('503', inGroup()),
    'a member whom the group names': say('502', inGroup(namingGroup)),
  }
  const names = [...commandInfos(), { name: 'claude_sessions' }, { name: 'approve' }].map(({ name }) => name)
  const rows: string[] = []
  for (const [giver, path] of Object.entries(givers)) {
    const refused: string[] = []
    for (const name of names) {
      const before = channel.sent.length
      await path(`/${name}`)
      await vi.waitFor(() => expect(channel.sent.length).toBeGreaterThan(before), 60_000)
      if (channel.sent[before]!.reply.text?.startsWith('Only the owner')) refused.push(`/${name}`)
    }
    rows.push(`| ${giver} | ${refused.join(' ') || 'none'} |`)
  }
  return ['| who | commands that are refused |', '|---|---|', ...rows]
}

async function operationTable(): Promise<string[]> {
  const operations = await allOperations()
  const open = (caller: Caller): string[] =>
    operations
      .filter((operation) => {
        try {
          authorizeOperation(caller, operation)
          return true
        } catch {
          return false
        }
      })
      .map(({ name }) => name)
  const bound = (...scopes: Caller['scopes']) => open({ via: 'rpc', scopes, agentId: 'main' })
  const host: Caller = {
    via: 'rpc',
    scopes: ['read', 'write', 'approve', 'admin'],
    agentId: openclawPrefix,
    agentPrefix: openclawPrefix,
  }
  const cell = (names: string[]): string => names.map((name) => `\`${name}\``).join(' ')
  return [
    '| who | operations that are open, each within that agent’s world |',
    '|---|---|',
    `| a token bound to an agent, scope read | ${cell(bound('read'))} |`,
    `| … scope write, besides | ${cell(bound('write').filter((name) => !bound('read').includes(name)))} |`,
    `| … scope approve, besides | ${cell(bound('approve').filter((name) => !bound('read').includes(name)))} |`,
    `| … scope admin, besides | ${cell(bound('admin').filter((name) => !bound('write', 'approve').includes(name))) || 'none'} |`,
    `| an agent host (the OpenClaw plugin) that names no agent, all scopes | ${cell(open(host))} |`,
    '| … that names one of its agents | what a token that is bound to that agent may do, and the row above |',
    '| the hook token | none: it opens `/hooks/wake` and `/hooks/agent` only |',
  ]
}

test('the walk finds no way up, and docs/security.md shows what it found', { timeout: 300_000 }, async () => {
  const rows: string[] = []
  for (const name of Object.keys(paths)) rows.push(await walk(name))
  const tables = [[...turnHeading, ...rows], toolTable(), await commandTable(), await operationTable()].map(
    (lines) => lines.join('\n'),
  )
  const text = readFileSync(page, 'utf8')
  const found = text.replace(
    /(<!-- walk -->\n)[\s\S]*(\n<!-- \/walk -->)/,
    (_, from: string, to: string) => `${from}\n${tables.join('\n\n')}\n${to}`,
  )
  if (process.env['WRITE_PAGES']) writeFileSync(page, found)
  expect(readFileSync(page, 'utf8')).toBe(found)
  for (const row of rows.filter((row) => !/^\| (owner|bound)/.test(row))) {
    expect(row).toMatch(/\| no \| no \| not found \| (none|–) \|$/)
  }
})

test('no turn has a tool that reaches other sessions or later turns, or one that we do not know', () => {
  for (const { toolRights, tools } of opened) {
    for (const name of [...refusedEverywhere, 'BrandNewTool'])
      expect(refusalOf(name, toolRights, tools)).toBeDefined()
  }
})

test('the hook token opens no operation', async () => {
  const answers = await Promise.all(
    (await allOperations()).map(({ name }) =>
      http(house, '/rpc', {
        method: 'POST',
        token: hookToken,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: {} }),
      }),
    ),
  )
  // After so many wrong tokens from one place the gateway does not look any more.
  expect(answers.filter(({ status }) => status !== 401 && status !== 429)).toEqual([])
})
