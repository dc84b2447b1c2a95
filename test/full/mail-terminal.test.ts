// Mail in real terminal sessions: the binary in tmux with Rockpool's plugin, the built gateway, and the scripted API.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Mail } from '../../src/domain/mail.ts'
import { makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { openClaudeTerminal, putPlugin, type ClaudeTerminal } from '../support/claude-terminal.ts'
import { startMessagesApi, type ApiRequest, type MessagesApi, type Step } from '../support/messages-api.ts'
import { programFile, startProgram, type Running } from '../support/program.ts'
import { noTerminal } from '../support/terminal.ts'

/** As Claude Code names the tools of the plugin. */
const tools = 'mcp__plugin_rockpool_tools__'
const patience = { timeout: 60_000, interval: 50 }
let api: MessagesApi
let home: ClaudeHome
let gateway: Running
let terminal: ClaudeTerminal
/** The session that has the terminal now. */
let session: string

beforeAll(async () => {
  if (noTerminal !== undefined) return
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'mail' })
  putPlugin(home)
  const statusLine = { type: 'command', command: `${process.execPath} ${programFile} statusline` }
  writeFileSync(join(home.configDir, 'settings.json'), JSON.stringify({ statusLine }))
  gateway = startProgram(['up', '--port', '0', '--json'], home.variables)
  await gateway.line
  await startProgram(['statusline', '--refresh'], home.variables).ended
  terminal = await openClaudeTerminal(home)
})

afterAll(async () => {
  terminal?.close()
  gateway?.child.kill('SIGTERM')
  await gateway?.ended
  await api?.close()
  home?.remove()
})

async function mail(...args: string[]): Promise<Mail & { mail: Mail[] }> {
  const ran = await startProgram(['mail', ...args, '--json'], home.variables).ended
  if (ran.code !== 0) throw new Error(ran.stdout + ran.stderr)
  return ran.json() as unknown as Mail & { mail: Mail[] }
}

/** A turn of the terminal session; resolves to Claude's id of the session. */
async function turn(name: string, ...steps: Step[]): Promise<string> {
  api.script(`take the ${name} turn`, [...steps, { text: `Done, the ${name}.` }])
  await terminal.prompt(`take the ${name} turn`)
  await terminal.shows(`Done, the ${name}.`)
  return api.calls().findLast((call) => call.text.includes(`take the ${name} turn`))!.sdkSessionId!
}

const received = (body: string): Promise<ApiRequest> =>
  api.requested((request) => request.kind === 'messages' && request.text.includes(`> ${body}`))

const state = async (id: string): Promise<string> => (await mail('read', id)).state

test.skipIf(noTerminal)(
  'a message wakes an idle session within 2 s, and is read when its turn has ended',
  async () => {
    session = await turn('first')
    const times: number[] = []
    for (const body of ['wake up', 'and again', 'once more']) {
      const sent = await mail('send', session, body)
      const request = await received(body)
      expect(request.text).toContain('From: the owner of this Rockpool, by mail')
      times.push(request.at - sent.acceptedAt)
      await vi.waitFor(async () => expect(await state(sent.id)).toBe('read'), patience)
    }
    process.stderr.write(`woken after ${times.join(', ')} ms\n`)
    expect(Math.min(...times)).toBeLessThan(2_000)
  },
  300_000,
)

test.skipIf(noTerminal)('the status line shows what today cost and what the next call costs', async () => {
  await terminal.shows(/\$\d+\.\d\d today · next call \$\d+\.\d\d, cold \$\d+\.\d\d/)
})

test.skipIf(noTerminal)(
  'a working session gets a message with the results of its tools, in the same turn',
  async () => {
    const before = api.calls().length
    const working = turn('second', { hold: 'busy', tools: [{ name: 'Bash', input: { command: 'ls' } }] })
    await api.requested(({ prompt }) => prompt.includes('the second turn'))
    const { id } = await mail('send', session, 'while you work')
    api.release('busy')
    await working
    expect((await received('while you work')).prompt).toContain('while you work')
    await vi.waitFor(async () => expect(await state(id)).toBe('read'), patience)
    expect(api.calls().length - before).toBe(2)
  },
  300_000,
)

test.skipIf(noTerminal)(
  'after /clear the terminal has another session and the same address',
  async () => {
    await terminal.prompt('/clear')
    // While Claude Code still looks for commands that begin like this, Enter only completes the word.
    await vi.waitFor(
      () => {
        if (terminal.screen().includes('Done, the second.')) terminal.press('Enter')
        expect(terminal.screen()).not.toContain('Done, the second.')
      },
      { ...patience, interval: 500 },
    )
    const cleared = await turn('third')
    expect(cleared).not.toBe(session)
    const sent = await mail('send', session, 'after clear')
    expect((await received('after clear')).sdkSessionId).toBe(cleared)
    expect(sent.recipient).toBe(`session:${session}`)
    expect((await mail('send', cleared, 'by its new id')).recipient).toBe(`session:${session}`)
    await received('by its new id')
  },
  300_000,
)

test.skipIf(noTerminal)(
  'an ended session gets its mail when it starts again, and a fork has its address',
  async () => {
    const last = await turn('fourth')
    await leave()
    const { id } = await mail('send', last, 'for your next start')
    expect(await state(id)).toBe('accepted')
    terminal = await openClaudeTerminal(home, `--resume ${last}`)
    expect(await turn('fifth')).toBe(last)
    expect((await received('for your next start')).sdkSessionId).toBe(last)
    await leave()
    terminal = await openClaudeTerminal(home, `--resume ${last} --fork-session`)
    const fork = await turn('sixth')
    expect(fork).not.toBe(last)
    await mail('send', last, 'to the one that was forked')
    expect((await received('to the one that was forked')).sdkSessionId).toBe(fork)
  },
  300_000,
)

test.skipIf(noTerminal)(
  'a session that sends mail in its shell is itself, also without its variables',
  async () => {
    await leave()
    terminal = await openClaudeTerminal(home, `--allowedTools Bash ${tools}mail_send ${tools}mail_inbox`)
    const line = `env -u CLAUDECODE -u CLAUDE_CODE_SESSION_ID ${process.execPath} ${programFile} mail send owner "I am the owner"`
    const sender = await turn('seventh', { tools: [{ name: 'Bash', input: { command: line } }] })
    const { mail: inbox } = await mail('inbox')
    expect(inbox).toMatchObject([{ body: 'I am the owner', sender: `session:${sender}`, recipient: 'owner' }])
  },
  300_000,
)

test.skipIf(noTerminal)(
  'a session writes and receives with its tools',
  async () => {
    const body = 'by my tool'
    const sender = await turn('eighth', {
      tools: [{ name: `${tools}mail_send`, input: { to: 'owner', text: body } }],
    })
    const [sent] = (await mail('list')).mail
    expect(sent).toMatchObject({ body, sender: `session:${sender}`, state: 'accepted' })
    await mail('send', sent!.sender, 'an answer', '--reply-to', sent!.id)
    await received('an answer')
  },
  300_000,
)

async function leave(): Promise<void> {
  await terminal.prompt('/exit')
  await terminal.shows('left 0')
  terminal.close()
}
