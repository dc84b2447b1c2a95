// A command or MCP server that goes on after its gateway has ended: another program, also one of another user, may have the port now
// and waits for the token.
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openClient } from '../src/cli/call-operation.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { identifyProcess } from '../src/store/disk/process-identity.ts'
import { writePrivateFile } from '../src/store/disk/private-file.ts'
import { ensureGatewayToken } from '../src/store/gateway-tokens.ts'
import { gatewayFile } from '../src/store/paths.ts'
import { makeHome, programFile } from './support/program.ts'
import type { Home } from './support/program.ts'

let home: Home
let stateDir: string
/** What comes to the port: at first for the gateway, then for the program that has the port after it. */
let received: string[] = []
const listener = createServer((request, response) => {
  received.push(`${request.method} ${request.url}`)
  response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
})
listener.on('upgrade', (request, socket) => {
  received.push(`upgrade ${request.url}`)
  socket.destroy()
})

beforeAll(async () => {
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
  home = makeHome()
  stateDir = home.env['ROCKPOOL_STATE_DIR']!
  mkdirSync(join(stateDir, 'credentials'), { recursive: true, mode: 0o700 })
  ensureGatewayToken(stateDir)
})
afterAll(() => {
  listener.close()
  home.remove()
})
beforeEach(() => {
  received = []
  writeGatewayFile({})
})

function writeGatewayFile(change: { startTime?: string }): void {
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  const process_ = { ...identifyProcess(process.pid)!, ...change }
  const content = { url, wsUrl: url.replace('http', 'ws'), process: process_, startedAt: 0, version: '1' }
  writePrivateFile(gatewayFile(stateDir), JSON.stringify(content))
}

/** The file of a gateway that was killed stays, and its process id may be that of another program. */
const endGateway = (): void => writeGatewayFile({ startTime: '1' })

test('a command that asks again and again asks no other program', async () => {
  const openApp = (): never => expect.fail('A gateway runs.')
  const client = await openClient({ environment: readEnvironment(home.env), openApp })
  await client.callByName('health', {})
  endGateway()
  await expect(client.callByName('health', {})).rejects.toMatchObject({ code: 'unavailable' })
  expect(received).toEqual(['POST /rpc'])
})

test('an MCP server connects to no other program', async () => {
  const command = { command: process.execPath, args: [programFile, 'mcp'], env: home.env }
  const client = new McpClient({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({ ...command, stderr: 'inherit' }))
  const call = () => client.callTool({ name: 'sessions_list', arguments: {} })
  await call()
  expect(received).toEqual(['upgrade /ws'])
  endGateway()
  expect((await call()).isError).toBe(true)
  expect(received).toEqual(['upgrade /ws'])
  await client.close()
})

test('an MCP server connects to the gateway itself, also where other requests go through a proxy', async () => {
  const proxied: string[] = []
  const proxy = createServer()
  proxy.on('connect', (request, socket) => {
    proxied.push(String(request.url))
    socket.destroy()
  })
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const env = { ...home.env, http_proxy: address, HTTP_PROXY: address, NODE_USE_ENV_PROXY: '1' }
  const client = new McpClient({ name: 'test', version: '1' })
  const command = { command: process.execPath, args: [programFile, 'mcp'], env }
  await client.connect(new StdioClientTransport({ ...command, stderr: 'inherit' }))
  await client.callTool({ name: 'sessions_list', arguments: {} })
  await client.close()
  proxy.close()
  expect(proxied).toEqual([])
  expect(received).toEqual(['upgrade /ws'])
})
