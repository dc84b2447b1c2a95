// Rockpool's plugin in real terminal sessions of Claude Code: a permission dialog that is answered from the page, from a chat and in
// the terminal; and a terminal in which nothing shows that the gateway is away.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Approval } from '../../src/domain/coding-session.ts'
import { startGateway } from '../../src/gateway/server.ts'
import type { Gateway } from '../../src/gateway/server.ts'
import { writeClaudeHookFile } from '../../src/store/claude-hook-file.ts'
import { openChannelHouse } from '../support/channel-house.ts'
import type { ChannelHouse } from '../support/channel-house.ts'
import { claudeBinary } from '../support/claude-home.ts'
import { openClaudeTerminal, putPlugin } from '../support/claude-terminal.ts'
import type { ClaudeTerminal } from '../support/claude-terminal.ts'
import type { Step } from '../support/messages-api.ts'
import { TelegramApi } from '../support/telegram-api.ts'
import { noTerminal } from '../support/terminal.ts'

const patience = { timeout: 20_000, interval: 20 }
const byHook = 'Allowed by PermissionRequest hook'

let telegram: TelegramApi
let house: ChannelHouse
let gateway: Gateway
let terminal: ClaudeTerminal
let stopWatching: () => Promise<void>

beforeAll(async () => {
  if (noTerminal !== undefined) return
  telegram = await TelegramApi.listen()
  house = await openChannelHouse({
    channels: {
      ownerAllowFrom: ['telegram:501'],
      telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 },
    },
  })
  const { app, home } = house
  stopWatching = await app
    .discovery()
    .watch((sessionId, why) => app.events.emit({ type: 'native-changed', sessionId, why }))
  await openDoor()
  putPlugin(home)
  terminal = await openClaudeTerminal(home)
})

afterAll(async () => {
  terminal?.close()
  await stopWatching?.()
  await gateway?.close(100)
  await house?.close()
  await telegram?.close()
})

async function openDoor(): Promise<void> {
  gateway = await startGateway(house.app, { port: 0, bind: '127.0.0.1', allowPlaintextLan: false })
  const { claudeHookToken: token } = gateway.auth
  writeClaudeHookFile(house.home.stateDir, { url: `${gateway.url}/claude-hooks`, token, pid: process.pid })
}

type Row = Approval & { nativeId?: string; session?: string }

async function requests(all = false): Promise<Row[]> {
  return (await house.ask('approvals.list', { all }))['approvals'] as Row[]
}

/** What the session asks about this file, once it asks. */
async function asked(file: string): Promise<Row> {
  await vi.waitFor(async () => {
    expect((await requests()).map(({ shown }) => shown)).toEqual([expect.stringContaining(file)])
  }, patience)
  return (await requests())[0]!
}

async function settled({ id }: Row): Promise<Row> {
  return (await requests(true)).find((row) => row.id === id)!
}

const make = (file: string): Step => ({ tools: [{ name: 'Bash', input: { command: `mkdir ${file}` } }] })
const made = (file: string): boolean => existsSync(join(house.home.project, file))
const question = (file: string) =>
  telegram.shown.find(({ text, buttons }) => text.includes(`mkdir ${file}`) && buttons.length > 0)

test.skipIf(noTerminal)(
  "by Claude Code's own count the plugin adds less than 300 tokens to a session",
  async () => {
    const { project: cwd, variables: env } = house.home
    const details = await promisify(execFile)(claudeBinary, ['plugin', 'details', 'rockpool'], { cwd, env })
    const [, tokens] = /Always-on:\s+~(\d+) tok/.exec(details.stdout) ?? []
    expect(Number(tokens)).toBeLessThan(300)
  },
)

test.skipIf(noTerminal)('a permission is allowed from the page, and the terminal says so', async () => {
  await terminal.prompt('first', make('by-page'), { text: 'The first is done.' })
  await terminal.shows('Do you want to proceed')
  const request = await asked('by-page')
  expect(request).toMatchObject({ agentId: '', kind: 'tool', toolName: 'Bash', session: expect.any(String) })
  expect(request.shown).toContain(`directory: "${house.home.project}"`)
  await house.ask('approvals.answer', { id: request.id, inputHash: request.inputHash })
  await terminal.shows(byHook)
  await terminal.shows('The first is done.')
  expect(made('by-page')).toBe(true)
})

test.skipIf(noTerminal)('a permission is denied from the page, and Claude reads the note', async () => {
  await terminal.prompt('second', make('denied'), { text: 'The second is not done.' })
  const { id } = await asked('denied')
  await house.ask('approvals.answer', { id, decision: 'deny', text: 'not in this folder' })
  await terminal.shows('The second is not done.')
  expect(made('denied')).toBe(false)
  expect(house.api.calls().at(-1)!.text).toContain('not in this folder')
})

test.skipIf(noTerminal)('a permission is allowed in the chat of the owner', async () => {
  await terminal.prompt('third', make('by-chat'), { text: 'The third is done.' })
  await vi.waitFor(() => expect(question('by-chat')?.chat).toBe(501), patience)
  const from = { id: 501, is_bot: false, first_name: 'Ada' }
  const { id, buttons } = question('by-chat')!
  const message = { message_id: id, date: 1, chat: { id: 501, type: 'private' } }
  const data = buttons.flat().find((one) => one.data?.endsWith(':allow'))!.data
  telegram.emit({ callback_query: { id: 'press', from, message, data, chat_instance: 'c' } })
  await terminal.shows('The third is done.')
  expect(made('by-chat')).toBe(true)
})

test.skipIf(noTerminal)('a permission is allowed in the terminal, and the chat says so', async () => {
  await terminal.prompt('fourth', make('by-key'), { text: 'The fourth is done.' })
  const request = await asked('by-key')
  await terminal.choose('1')
  await terminal.shows('The fourth is done.')
  expect(made('by-key')).toBe(true)
  await vi.waitFor(async () => {
    expect(await settled(request)).toMatchObject({ state: 'expired', answeredBy: 'terminal' })
    expect(telegram.shown.map(({ text }) => text).join('\n')).toContain(
      `answered in the terminal (${request.id})`,
    )
  }, patience)
  await expect(house.ask('approvals.answer', { id: request.id })).rejects.toThrow(
    'was answered in the terminal',
  )
})

test.skipIf(noTerminal)(
  'a permission is denied in the terminal, and the question is gone elsewhere',
  async () => {
    await terminal.prompt('fifth', make('refused'), { text: 'Not reached.' })
    const request = await asked('refused')
    await terminal.choose('3')
    await vi.waitFor(async () => {
      expect(await settled(request)).toMatchObject({ state: 'expired', answeredBy: 'terminal' })
    }, patience)
    expect(await requests()).toEqual([])
    expect(made('refused')).toBe(false)
  },
)

test.skipIf(noTerminal)('two answers at once give one result', async () => {
  await terminal.prompt('sixth', make('at-once'), { text: 'The sixth is done.' })
  const { id } = await asked('at-once')
  await terminal.shows('Do you want to proceed')
  // The page is a moment later than the key, or earlier: either must do.
  const answering = house.ask('approvals.answer', { id }).catch((error: Error) => error.message)
  await terminal.choose('1')
  await terminal.shows('The sixth is done.')
  await answering
  await vi.waitFor(async () => expect(await requests()).toEqual([]), patience)
  expect(made('at-once')).toBe(true)
})

test.skipIf(noTerminal)('a question of Claude is answered from the page', async () => {
  const options = [
    { label: 'Red', description: 'r' },
    { label: 'Blue', description: 'b' },
  ]
  const input = { questions: [{ question: 'Which colour?', header: 'C', multiSelect: false, options }] }
  await terminal.prompt(
    'seventh',
    { tools: [{ name: 'AskUserQuestion', input }] },
    { text: 'The seventh is done.' },
  )
  const { id, kind } = await asked('Which colour?')
  expect(kind).toBe('question')
  await house.ask('approvals.answer', { id, text: '2' })
  await terminal.shows('Which colour? → Blue')
  await terminal.shows('The seventh is done.')
})

test.skipIf(noTerminal)('a rule of the owner lets a request pass', async () => {
  const command = (file: string): Step => ({
    tools: [{ name: 'Bash', input: { command: `mkdir -p ${file}` } }],
  })
  await house.ask('rules.add', { command: 'mkdir -p *', folder: house.home.project })
  await terminal.prompt('eighth', command('by-rule'), { text: 'The eighth is done.' })
  await terminal.shows('The eighth is done.')
  expect(made('by-rule')).toBe(true)
  const [latest] = await requests(true)
  expect(latest).toMatchObject({ state: 'allowed', answeredBy: expect.stringMatching(/^rule /) })
})

test.skipIf(noTerminal)('after /rockpool:quiet only the terminal asks', async () => {
  await terminal.prompt('/rockpool:quiet')
  await terminal.shows('in its terminal only')
  const before = (await requests(true)).length
  await terminal.prompt('ninth', make('quietly'), { text: 'The ninth is done.' })
  await terminal.choose('1')
  await terminal.shows('The ninth is done.')
  expect(await requests(true)).toHaveLength(before)
  await terminal.prompt('/rockpool:quiet off')
  await terminal.shows('on the page, in your chats')
})

test.skipIf(noTerminal)(
  'a gateway that starts again asks again; without one nothing is seen in the terminal',
  async () => {
    await terminal.prompt('tenth', make('after-restart'), { text: 'The tenth is done.' })
    const first = await asked('after-restart')
    await gateway.close(100)
    await house.app.storage.approvals.settle(first.id, 'expired', { at: 0, by: 'restart' })
    await openDoor()
    const second = await asked('after-restart')
    expect(second.id).not.toBe(first.id)
    await house.ask('approvals.answer', { id: second.id })
    await terminal.shows('The tenth is done.')
    await gateway.close(100)
    await terminal.prompt(
      'eleventh',
      { tools: [{ name: 'Bash', input: { command: 'ls' } }] },
      { text: 'Without it.' },
    )
    await terminal.shows('Without it.')
    expect(terminal.screen()).not.toMatch(/hook error|ECONNREFUSED|not connected/)
  },
)

test.skipIf(noTerminal)(
  'a repository that switches hooks off has its dialogs in the terminal only',
  async () => {
    await openDoor()
    // The first terminal reads these settings, too.
    const settings = join(house.home.project, '.claude', 'settings.json')
    mkdirSync(dirname(settings), { recursive: true })
    writeFileSync(settings, JSON.stringify({ disableAllHooks: true }))
    const before = (await requests(true)).length
    const second = await openClaudeTerminal(house.home)
    try {
      await second.prompt('without hooks', make('unseen'), { text: 'It is done without hooks.' })
      await second.choose('1')
      await second.shows('It is done without hooks.')
      expect(made('unseen')).toBe(true)
      expect(await requests(true)).toHaveLength(before)
    } finally {
      second.close()
      rmSync(settings)
    }
  },
)
