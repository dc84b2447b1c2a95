// The plugin in the real OpenClaw, oldest and newest supported version: a person writes in Telegram, OpenClaw's model launches a
// session, the real Claude binary edits a file after an approval in that chat. Both programs are killed in between. Offline: the
// models are scripted, Telegram is on loopback.
import type { ChildProcess } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { hashOf, newToken, writeTokenRecords } from '../../src/store/gateway-tokens.ts'
import { makeClaudeHome } from '../support/claude-home.ts'
import type { ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi } from '../support/messages-api.ts'
import type { MessagesApi } from '../support/messages-api.ts'
import { pluginFolder } from '../support/openclaw-api.ts'
import type { OpenClawVersion } from '../support/openclaw-api.ts'
import { openClawProgram, prepareOpenClaw } from '../support/openclaw-program.ts'
import type { OpenClaw } from '../support/openclaw-program.ts'
import { startProgram } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { TelegramApi } from '../support/telegram-api.ts'
import type { ShownMessage } from '../support/telegram-api.ts'

const owner = 501
const patience = { timeout: 180_000, interval: 200 }
const minutes = 60_000
let world: World | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

describe.each<OpenClawVersion>(['2026.1.30', '2026.9.6'])('in OpenClaw %s', (version) => {
  test(
    'a task from a chat is done after an approval there; kill -9 of either program loses nothing and repeats nothing',
    { timeout: 25 * minutes },
    async (ctx) => {
      const peer = openClawProgram(version)
      const program = 'path' in peer ? peer.path : ctx.skip(peer.missing)
      const { claw, api, say, press, notices, shown, restart, killed, newRepo } = (world = await openWorld(
        program,
        version,
      ))
      install(claw, version)
      expect(toolsIn(claw, version)).toEqual(expect.arrayContaining(eight))
      await restart('openclaw')
      await vi.waitFor(
        async () =>
          expect((await claw.call('claude-code.health')).payload).toMatchObject({ isConnected: true }),
        patience,
      )

      // From a message to a question in the chat.
      const repo = newRepo()
      const file = join(repo, 'notes.txt')
      launches(api, 'please fix the notes', { prompt: 'TASK-ONE', workdir: repo, name: 'notes' })
      api.script('TASK-ONE', [
        { tools: [{ name: 'Write', input: { file_path: file, content: 'fixed\n' } }] },
        { text: 'the notes are fixed' },
      ])
      say('please fix the notes')
      const question = await shown(/🔐 \[notes\]/)
      expect(question.text).toContain('/claude_approve')
      expect(existsSync(file)).toBe(false)

      // OpenClaw is killed while the question is open; the button is pressed afterwards.
      await killed('openclaw')
      await restart('openclaw')
      press(question, 'Allow once')
      await shown(/🔔 \[notes\] finished its turn[\s\S]*the notes are fixed/)
      expect(readFileSync(file, 'utf8')).toBe('fixed\n')
      // The agent takes a turn about it.
      await api.requested((request) => /finished its turn/.test(request.text), 180_000)

      say('/claude_sessions')
      await shown(/notes \[\w+\]/)
      const listed = (await claw.call('claude-code.sessions')).payload as {
        sessions: Array<{ name: string }>
      }
      expect(listed.sessions.map(({ name }) => name)).toEqual(['notes'])

      // The second session ends its turn while OpenClaw is down; then Rockpool is killed, too.
      launches(api, 'please count the files', { prompt: 'TASK-TWO', workdir: newRepo(), name: 'count' })
      api.script('TASK-TWO', [{ text: 'there are seven', hold: 'two' }])
      say('please count the files')
      await shown(/🚀 \[count\]/)
      await api.requested((request) => request.prompt.includes('TASK-TWO'), 180_000)
      await killed('openclaw')
      api.release('two')
      await world.stored('count', 'awaiting-input')
      await killed('rockpool')
      await restart('rockpool')
      await restart('openclaw')
      await shown(/🔔 \[count\] finished its turn[\s\S]*there are seven/)

      // Rockpool alone is killed: the plugin finds it again, and commands answer.
      await killed('rockpool')
      await restart('rockpool')
      await vi.waitFor(
        async () =>
          expect((await claw.call('claude-code.health')).payload).toMatchObject({ isConnected: true }),
        patience,
      )
      say('/claude_kill count')
      await shown(/count.*(ended|over)/)
      expect(notices()).toEqual([...new Set(notices())])
      expect(notices().join('\n')).not.toContain('second copy')
      expect(notices().filter((text) => text.includes('🔐'))).toEqual([question.text])
    },
  )
})

const eight = 'launch sessions output respond kill fg bg stats'.split(' ').map((name) => `claude_${name}`)

function install(claw: OpenClaw, version: OpenClawVersion): void {
  const consent = version === '2026.9.6' ? ['--force', '--accept-capabilities'] : []
  const { code, stdout, stderr } = claw.run('plugins', 'install', pluginFolder, ...consent)
  expect(code, stdout + stderr).toBe(0)
}

function toolsIn(claw: OpenClaw, version: OpenClawVersion): string[] {
  const words =
    version === '2026.9.6'
      ? ['inspect', 'rockpool-openclaw', '--runtime', '--json']
      : ['info', 'rockpool-openclaw', '--json']
  const { stdout } = claw.run('plugins', ...words)
  return stdout.match(/claude_\w+/g) ?? []
}

/** OpenClaw's model calls the tool when a message contains these words. */
function launches(api: MessagesApi, words: string, input: Record<string, unknown>): void {
  api.script(words, [
    { tools: [{ name: 'claude_launch', input: { ...input, fresh: true } }] },
    { text: 'NO_REPLY' },
  ])
}

interface World {
  claw: OpenClaw
  api: MessagesApi
  say: (text: string) => void
  press: (message: ShownMessage, label: string) => void
  /** The messages of Rockpool about its sessions. */
  notices: () => string[]
  shown: (text: RegExp) => Promise<ShownMessage>
  newRepo: () => string
  /** Waits until the session is in this state on disk. */
  stored: (name: string, lifecycle: string) => Promise<void>
  restart: (which: 'openclaw' | 'rockpool') => Promise<void>
  /** kill -9, for OpenClaw when it sends nothing. */
  killed: (which: 'openclaw' | 'rockpool') => Promise<void>
  close: () => Promise<void>
}

async function openWorld(program: string, version: OpenClawVersion): Promise<World> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-claw-')))
  const [telegram, api] = [await TelegramApi.listen(), await startMessagesApi()]
  const claude = makeClaudeHome({ apiUrl: api.url, name: 'claw' })
  const repos = join(root, 'repos')
  mkdirSync(repos)
  const rockpool = prepareRockpool(claude, repos)
  const claw = await prepareOpenClaw({ program, version, root, modelUrl: api.url, telegram, owner })
  api.script(/finished its turn|HEARTBEAT/, [{ text: 'NO_REPLY' }])
  const running: { openclaw?: ChildProcess; rockpool?: Running } = {}
  const from = { id: owner, is_bot: false, first_name: 'Ada' }
  const chat = { id: owner, type: 'private', first_name: 'Ada' }
  const now = (): number => Math.floor(Date.now() / 1_000)
  const opened: World = {
    claw,
    api,
    say(text) {
      const [command = ''] = /^\/\w+/.exec(text) ?? []
      const entities = command === '' ? [] : [{ type: 'bot_command', offset: 0, length: command.length }]
      telegram.emit({
        message: { message_id: telegram.nextMessageId(), date: now(), chat, from, text, entities },
      })
    },
    press(message, label) {
      const { data } = message.buttons.flat().find(({ text }) => text === label)!
      const of = { message_id: message.id, date: now(), chat, from: telegram.bot, text: message.text }
      telegram.emit({
        callback_query: { id: `press-${message.id}`, from, message: of, data, chat_instance: 'c' },
      })
    },
    notices: () => telegram.shown.map(({ text }) => text).filter((text) => /\S \[(notes|count)\]/.test(text)),
    shown: (text) =>
      vi.waitFor(() => {
        const found = telegram.shown.find((message) => text.test(message.text))
        expect(
          found,
          `${String(text)} in ${JSON.stringify(telegram.shown.map((one) => one.text))}`,
        ).toBeDefined()
        return found!
      }, patience),
    newRepo: () => mkdtempSync(join(repos, 'repo-')),
    async stored(name, lifecycle) {
      await vi.waitFor(async () => {
        const { sessions } = (await rockpool.call('coding.sessions')) as {
          sessions: Array<Record<string, unknown>>
        }
        expect(sessions).toContainEqual(expect.objectContaining({ name, lifecycle }))
      }, patience)
    },
    async restart(which) {
      if (which === 'openclaw') running.openclaw = await claw.start()
      else running.rockpool = await rockpool.start(claw.stateDir)
    },
    async killed(which) {
      // A message that is on its way at this moment would rightly be repeated with a mark.
      if (which === 'openclaw') await vi.waitFor(() => expect(unsettled(claw)).toEqual([]), patience)
      const child = which === 'openclaw' ? running.openclaw! : running.rockpool!.child
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
    async close() {
      running.openclaw?.kill('SIGKILL')
      running.rockpool?.child.kill('SIGTERM')
      await running.rockpool?.ended
      await Promise.all([api.close(), telegram.close()])
      claude.remove()
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
  await opened.restart('rockpool')
  return opened
}

/** The keys of messages that the plugin has begun to send. */
function unsettled({ stateDir }: OpenClaw): string[] {
  const lines = readFileSync(join(stateDir, 'rockpool-delivered.jsonl'), 'utf8').trim().split('\n')
  const states = lines.map((line) => JSON.parse(line) as { key: string; state: string })
  const last = new Map(states.map(({ key, state }) => [key, state]))
  return [...last].filter(([, state]) => state === 'sending').map(([key]) => key)
}

/** A Rockpool with tokens for the plugin. It keeps its port, as an installed one does. */
function prepareRockpool({ stateDir, variables }: ClaudeHome, repos: string) {
  const [agentToken, personToken] = [newToken(), newToken()]
  const record = (name: string, token: string, scopes: string[]) => ({
    name,
    scopes,
    agents: 'openclaw-' as const,
    createdAt: 0,
    hash: hashOf(token).toString('base64url'),
  })
  writeFileSync(
    join(stateDir, 'rockpool.json'),
    JSON.stringify({ coding: { repos: { all: repos } }, claude: { spare: false } }),
  )
  writeTokenRecords(stateDir, [
    record('openclaw', agentToken, ['read', 'write']),
    record('openclaw-person', personToken, ['read', 'write', 'approve']),
  ])
  let url = ''
  return {
    async start(openclawDir: string): Promise<Running> {
      const port = url === '' ? '0' : new URL(url).port
      const up = startProgram(['up', '--port', port, '--json'], variables)
      ;({ url } = JSON.parse(await up.line) as { url: string })
      writeFileSync(
        join(openclawDir, 'rockpool-plugin.json'),
        JSON.stringify({ url, agentToken, personToken }),
      )
      return up
    },
    async call(method: string): Promise<unknown> {
      const headers = {
        authorization: `Bearer ${personToken}`,
        'rockpool-agent': 'openclaw-main',
        'content-type': 'application/json',
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })
      const response = await fetch(`${url}/rpc`, { method: 'POST', headers, body })
      return ((await response.json()) as { result: unknown }).result
    },
  }
}
