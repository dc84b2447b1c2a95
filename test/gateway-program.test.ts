// `rockpool up` as a process: ready, found by commands, one of a kind, and gone in order. And its clients: a plain
// WebSocket, wscat, a JSON-RPC library, JSON-RPC over HTTP, and an MCP client over stdio.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { JSONRPCClient } from 'json-rpc-2.0'
import { toString } from 'qrcode'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { makeHome, programFile } from './support/program.ts'
import type { Home, Running } from './support/program.ts'

const wscat = join(import.meta.dirname, '../node_modules/wscat/bin/wscat')

interface Ready {
  url: string
  wsUrl: string
  tokenFile: string
  pid: number
}

let home: Home
let up: Running
let ready: Ready
let token: string
beforeAll(async () => {
  home = makeHome()
  await home.run(['sessions', 'patch', 'main', '--label', 'home'])
  up = home.start(['up', '--port', '0', '--json'])
  ready = JSON.parse(await up.line) as Ready
  token = readFileSync(ready.tokenFile, 'utf8').trim()
})
afterAll(async () => {
  up.child.kill('SIGTERM')
  expect((await up.ended).code).toBe(0)
  home.remove()
})

test('the ready line has an address, a token file that only its owner reads, and the process', () => {
  expect(Object.keys(ready).sort()).toEqual(['pid', 'tokenFile', 'url', 'wsUrl'])
  expect(ready.pid).toBe(up.child.pid)
  expect(statSync(ready.tokenFile).mode & 0o777).toBe(0o600)
  expect(statSync(join(home.dir, 'state', 'gateway.json')).mode & 0o777).toBe(0o600)
})

test('`dashboard` prints a link, `--open` opens it in the browser, and `--qr` shows the same link as a code', async () => {
  const bin = join(home.dir, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'xdg-open'), '#!/bin/sh\necho "$1" > "$(dirname "$0")/opened"\n', { mode: 0o755 })
  const opened = await home.run(['dashboard', '--open'], { PATH: `${bin}:${process.env['PATH']}` })
  expect(opened).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#?.*\n$/),
  })
  await vi.waitFor(() => expect(readFileSync(join(bin, 'opened'), 'utf8')).toBe(opened.stdout))
  const { stdout } = await home.run(['dashboard', '--qr'])
  const link = /^http.*$/m.exec(stdout)![0]
  expect(stdout).toContain(await toString(link, { type: 'utf8', margin: 2 }))
  expect(stdout).toMatch(/127\.0\.0\.1 is this machine only\. For a phone/)
})

test('commands ask the gateway when it runs, with the answer that they would give themselves', async () => {
  const health = (await home.run(['health', '--json'])).json()
  expect(health['pid']).toBe(ready.pid)
  const asked = (await home.run(['sessions', '--json'])).json()
  expect(asked).toMatchObject({ count: 1, sessions: [{ key: 'agent:main:main', label: 'home' }] })
  expect((await home.run(['status', '--json'])).json()).toMatchObject({
    gateway: { pid: ready.pid },
    sessions: { total: 1 },
  })
  const failed = await home.run(['sessions', 'get', 'nobody', '--json'])
  expect([failed.code, failed.json()]).toMatchObject([3, { error: { code: 'not-found' } }])
})

test('a second gateway on the same state directory does not start', async () => {
  const second = await home.run(['up', '--port', '0', '--json'])
  expect(second.code).toBe(5)
  expect(second.json()).toMatchObject({
    error: { code: 'locked', message: expect.stringContaining(ready.url) },
  })
})

test('a command that names the gateway needs its token', async () => {
  const without = await home.run(['health', '--json'], { ROCKPOOL_GATEWAY_URL: ready.url })
  expect([without.code, without.json()]).toMatchObject([4, { error: { code: 'unauthorized' } }])
  const env = { ROCKPOOL_GATEWAY_URL: ready.url, ROCKPOOL_GATEWAY_TOKEN: token }
  expect((await home.run(['health', '--json'], env)).code).toBe(0)
})

describe('clients', () => {
  test('a plain WebSocket lists a session', async () => {
    const socket = new WebSocket(ready.wsUrl)
    const frames: Array<{ id: number; result?: { sessions?: object[] } }> = []
    await new Promise((resolve) => socket.once('open', resolve))
    const answered = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        frames.push(JSON.parse(data.toString('utf8')) as (typeof frames)[number])
        if (frames.length === 2) resolve()
      })
    })
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'connect', params: { token } }))
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'sessions.list', params: { limit: 1 } }))
    await answered
    expect(frames.find(({ id }) => id === 2)?.result?.sessions).toMatchObject([{ key: 'agent:main:main' }])
    socket.close()
  })

  test('JSON-RPC over HTTP lists a session, also in a batch', async () => {
    const post = async (body: unknown): Promise<unknown> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      return (await fetch(`${ready.url}/rpc`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    }
    const request = { jsonrpc: '2.0', id: 'a', method: 'sessions.list', params: {} }
    const wanted = { jsonrpc: '2.0', id: 'a', result: { sessions: [{ key: 'agent:main:main' }] } }
    expect(await post(request)).toMatchObject(wanted)
    expect(
      await post([request, { jsonrpc: '2.0', method: 'health' }, { jsonrpc: '2.0', id: 2, method: 'nope' }]),
    ).toMatchObject([wanted, { id: 2, error: { code: -32601 } }])
  })

  test('wscat lists a session', async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'sessions.list', params: { limit: 1 } }
    const header = `Authorization: Bearer ${token}`
    const args = [wscat, '-c', ready.wsUrl, '-H', header, '-w', '-1', '-x', JSON.stringify(request)]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => (said += chunk))
    await until(() => said.includes('\n'))
    child.kill()
    expect(JSON.parse(said)).toMatchObject({ id: 1, result: { sessions: [{ key: 'agent:main:main' }] } })
  })

  test('a JSON-RPC client library lists a session, and gets our errors as its own', async () => {
    const socket = new WebSocket(ready.wsUrl, { headers: { authorization: `Bearer ${token}` } })
    await new Promise((resolve) => socket.once('open', resolve))
    const library = new JSONRPCClient((payload) => socket.send(JSON.stringify(payload)))
    socket.on('message', (data: Buffer) => library.receive(JSON.parse(data.toString('utf8')) as never))
    expect(await library.request('sessions.list', { limit: 1 })).toMatchObject({
      sessions: [{ key: 'agent:main:main' }],
    })
    await expect(library.request('sessions.get', { key: 'nobody' })).rejects.toThrow('There is no session')
    library.notify('health', {})
    socket.close()
  })

  test.each([
    ['through the gateway', (home: Home) => home.env],
    ['in its own process', (home: Home) => ({ ...home.env, ROCKPOOL_STATE_DIR: join(home.dir, 'other') })],
  ])('an MCP client lists sessions %s, with its scope', async (_how, env) => {
    const args = [programFile, 'mcp', '--scope', 'read']
    const transport = new StdioClientTransport({
      command: process.execPath,
      args,
      env: env(home),
      stderr: 'inherit',
    })
    const client = new McpClient({ name: 'test', version: '1' })
    await client.connect(transport)
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names).toContain('sessions_list')
    expect(names).not.toContain('sessions_patch')
    const list = tools.find(({ name }) => name === 'sessions_list')!
    expect(list.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
    const answer = await client.callTool({ name: 'sessions_list', arguments: { limit: 1 } })
    expect(answer.structuredContent).toMatchObject({ sessions: expect.any(Array) })
    const refused = await client.callTool({ name: 'sessions_list', arguments: { bogus: 1 } })
    expect(refused.isError).toBe(true)
    const tooLarge = { name: 'sessions_list', arguments: { search: 'x'.repeat(11 * 1024 * 1024) } }
    await expect(client.callTool(tooLarge)).rejects.toThrow(/larger than 10 MB/)
    expect((await client.callTool({ name: 'sessions_list', arguments: {} })).isError).toBe(false)
    await client.close()
  })
})

test('a change of the configuration is taken up without a restart, and what needs one is said', async () => {
  const file = join(home.dir, 'state', 'rockpool.json')
  writeFileSync(file, JSON.stringify({ session: { parentForkMaxTokens: 7 }, gateway: { port: 1234 } }), {
    mode: 0o600,
  })
  const log = join(home.dir, 'state', 'logs', 'rockpool.log')
  await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('configuration'))
  const line = readFileSync(log, 'utf8')
    .split('\n')
    .find((text) => text.includes('configuration'))!
  expect(JSON.parse(line)).toMatchObject({ reloaded: ['session'], needsRestart: ['gateway.port'] })
  writeFileSync(file, '{ "session": { "nonsense": 1 } }')
  await until(() => readFileSync(log, 'utf8').includes('nonsense'))
  expect((await home.run(['health', '--json'])).json()).toMatchObject({ ok: true })
  writeFileSync(file, '{}')
})

test('a port that is taken gives way to the next free one, and that is said', async () => {
  const other = makeHome()
  const blocker = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => blocker.once('listening', resolve))
  const { port } = blocker.address() as { port: number }
  const gateway = other.start(['up', '--port', String(port), '--json'])
  const line = JSON.parse(await gateway.line) as Ready
  expect(Number(new URL(line.url).port)).toBeGreaterThan(port)
  gateway.child.kill('SIGTERM')
  const { stderr, code } = await gateway.ended
  expect(stderr).toContain(`Port ${port} is taken`)
  expect(code).toBe(0)
  expect(existsSync(join(other.dir, 'state', 'gateway.json'))).toBe(false)
  blocker.close()
  other.remove()
})

test('a gateway that was killed leaves nothing that keeps the next one, or a command, from working', async () => {
  const other = makeHome()
  const first = other.start(['up', '--port', '0', '--json'])
  await first.line
  first.child.kill('SIGKILL')
  await first.ended
  expect((await other.run(['health', '--json'])).json()['pid']).not.toBe(first.child.pid)
  const second = other.start(['up', '--port', '0', '--json'])
  expect(JSON.parse(await second.line)).toMatchObject({ pid: second.child.pid })
  // Added, an agent is there at once.
  expect((await other.run(['agents', 'list', '--json'])).json()['agents']).toHaveLength(1)
  await other.run(['agents', 'add', 'work'])
  expect((await other.run(['agents', 'list', '--json'])).json()['agents']).toHaveLength(2)
  expect((await other.run(['down'])).stdout).toBe(`The gateway has stopped (process ${second.child.pid}).\n`)
  expect((await second.ended).code).toBe(0)
  expect((await other.run(['down', '--json'])).json()).toEqual({ ok: true })
  other.remove()
})

async function until(condition: () => boolean): Promise<void> {
  const give = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > give) throw new Error('it did not happen in 20 s')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}
