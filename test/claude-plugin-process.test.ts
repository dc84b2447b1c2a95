// The programs of Rockpool's plugin, as Claude Code starts them: what they send, and to whom.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { writeClaudeHookFile } from '../src/store/claude-hook-file.ts'
import { identifyProcess } from '../src/store/disk/process-identity.ts'
import type { ProcessIdentity } from '../src/store/disk/process-identity.ts'
import { writePrivateFile } from '../src/store/disk/private-file.ts'
import { markerVariable } from '../src/store/disk/process-scope.ts'

const plugin = join(import.meta.dirname, '../plugins/claude-code')
const sessionId = '0c18c6e2-d9e3-4169-87ec-d96fcc228ff1'
const secret = 'messaging-key-of-the-session'
const dir = mkdtempSync(join(tmpdir(), 'rockpool-plugin-'))

/** A program at the address of the gateway. It answers nothing to the events in `slow`, and after 1.5 s to a command. */
let received: string[] = []
const slow = new Set<string>()
const answerToCommand = '{"decision":"block","reason":"Done."}'
const listener = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    received.push(`${JSON.stringify(request.headers)} ${body}`)
    if (body.includes('/rockpool:quiet')) setTimeout(() => response.end(answerToCommand), 1_500)
    else if (![...slow].some((name) => body.includes(name))) response.writeHead(204).end()
  })
})

beforeAll(() => new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  listener.closeAllConnections()
  listener.close()
  rmSync(dir, { recursive: true })
})
beforeEach(() => {
  received = []
  slow.clear()
})

function connect(pid: number): void {
  const { port } = listener.address() as AddressInfo
  writeClaudeHookFile(dir, { url: `http://127.0.0.1:${port}/claude-hooks`, token: 'token', pid })
}

const environment = {
  PATH: process.env['PATH'],
  HOME: dir,
  ROCKPOOL_STATE_DIR: dir,
  CLAUDE_CODE_SESSION_ID: sessionId,
  CLAUDE_CODE_ENTRYPOINT: 'cli',
  CLAUDE_CODE_MESSAGING_TOKEN: secret,
  ANTHROPIC_API_KEY: secret,
}

/** Runs a shell line with an event on stdin. */
function runLine(script: string, name: string, more: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const env = { ...environment, ...more }
    const child = execFile('sh', [join(plugin, 'files/hooks', script)], { env }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    )
    // A script that has nothing to report may end before it reads.
    child.stdin!.on('error', () => {})
    child.stdin!.end(JSON.stringify({ hook_event_name: name, session_id: sessionId }))
  })
}

/** The answers of the plugin's server to these events, one after another. An event with a slash is a command. */
function callServer(names: string[], more: Record<string, string> = {}): Promise<string> {
  const calls = names.map((name) => {
    const event = name.startsWith('/')
      ? { hook_event_name: 'UserPromptExpansion', prompt: name }
      : { hook_event_name: name }
    return { name: 'hook', arguments: { ...event, session_id: sessionId } }
  })
  return callTools(calls, more)
}

async function callTools(calls: object[], more: Record<string, string> = {}): Promise<string> {
  const env = { ...environment, ...more }
  const server = spawn(process.execPath, [join(plugin, 'dist/server.mjs')], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
  let said = ''
  for (const [id, params] of calls.entries()) {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    said += String((await answers.next()).value)
  }
  server.stdin.end()
  return said
}

/** The answer of the tool for mail; `gateway` is the process that the file of the gateway names. */
function callMail(gateway: ProcessIdentity, more: Record<string, string> = {}): Promise<string> {
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  mkdirSync(join(dir, 'credentials'), { recursive: true, mode: 0o700 })
  writePrivateFile(join(dir, 'credentials', 'gateway-token'), 'token-of-the-operator')
  writePrivateFile(join(dir, 'gateway.json'), JSON.stringify({ url, wsUrl: url, process: gateway }))
  return callTools([{ name: 'mail_inbox', arguments: {} }], more)
}

/** An event from each of the two kinds of programs. */
async function reportBoth(more: Record<string, string> = {}): Promise<string> {
  const said = await Promise.all([runLine('end.sh', 'SessionEnd', more), callServer(['Stop'], more)])
  return said.join('')
}

test('events reach the gateway, without any other variable of the session', async () => {
  connect(process.pid)
  const said = await reportBoth()
  expect(received).toHaveLength(2)
  expect(received.join('\n') + said).not.toContain(secret)
})

test('a program that took the port of a gateway that died receives nothing', async () => {
  const gone = spawn('true')
  await new Promise((resolve) => gone.once('exit', resolve))
  connect(gone.pid!)
  await reportBoth()
  expect(received).toEqual([])
})

test('the tools for mail give the token of the operator to the process of the gateway alone', async () => {
  connect(process.pid)
  const gateway = identifyProcess(process.pid)!
  // The gateway died, another program took its port, and a third one its pid.
  expect(await callMail({ ...gateway, startTime: '1' })).toContain('The gateway of Rockpool does not run')
  expect(received).toEqual([])
  await callMail(gateway)
  expect(received.join()).toContain('Bearer token-of-the-operator')
})

test('events and calls go to the gateway itself, also where other requests go through a proxy', async () => {
  connect(process.pid)
  const proxied: string[] = []
  const proxy = createServer((request, response) => {
    proxied.push(`${request.url} ${request.headers.authorization}`)
    response.end()
  })
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const more = { http_proxy: address, HTTP_PROXY: address, ALL_PROXY: address, NODE_USE_ENV_PROXY: '1' }
  await reportBoth(more)
  await callMail(identifyProcess(process.pid)!, more)
  proxy.close()
  expect(proxied).toEqual([])
  expect(received).toHaveLength(3)
})

test('a session that Rockpool runs itself reports nothing: Rockpool knows what it does', async () => {
  connect(process.pid)
  await reportBoth({ [markerVariable]: 'id-1' })
  expect(received).toEqual([])
})

test('a slow answer is not waited for, and the next events are left out for a moment only', async () => {
  connect(process.pid)
  slow.add('Notification')
  const said = await callServer(['Notification', 'PostToolBatch', 'Stop'])
  expect(received).toHaveLength(1)
  expect(said.match(/suppressOutput/g)).toHaveLength(3)
})

test('the answer to a command is waited for, also if the gateway is slow and events are left out', async () => {
  connect(process.pid)
  slow.add('Notification')
  const said = await callServer(['Notification', '/rockpool:quiet off', '/other:command'])
  expect(received).toHaveLength(2)
  expect(said).toContain(JSON.stringify(answerToCommand).slice(1, -1))
})
