// The way into the dashboard: a code that works once, a cookie that opens nothing but our own page's WebSocket.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rotateGatewayToken } from '../src/store/gateway-tokens.ts'
import { connect, http, openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

let house: House
let web: string
let origin: string
beforeAll(async () => {
  web = mkdtempSync(join(tmpdir(), 'rockpool-web-'))
  mkdirSync(join(web, 'assets'))
  writeFileSync(join(web, 'index.html'), '<!doctype html><title>Rockpool</title>')
  writeFileSync(join(web, 'assets', 'main-abc.js'), 'export {}')
  house = await openHouse({ webRoot: web })
  origin = `http://127.0.0.1:${house.gateway.port}`
})
afterAll(async () => {
  await house.close()
  rmSync(web, { recursive: true })
})

const logIn = (secret: string, headers: Record<string, string> = { origin }) =>
  http(house, '/login', { method: 'POST', headers, body: JSON.stringify({ secret }) })

async function newCode(): Promise<string> {
  const { result } = await rpc(house, 'dashboard.code')
  return (result as { code: string }).code
}

async function cookieFor(code: string): Promise<string> {
  const answer = await logIn(code)
  expect(answer.status).toBe(200)
  const [cookie] = answer.headers['set-cookie']!
  expect(cookie).toMatch(/^rockpool_page=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/)
  return cookie!.split(';', 1)[0]!
}

test('a code opens the page once', async () => {
  const code = await newCode()
  const cookie = await cookieFor(code)
  expect((await logIn(code)).status).toBe(401)
  const client = await connect(house, { origin, cookie })
  expect((await client.call('sessions.list')).error).toBeUndefined()
  client.socket.close()
})

test('the token itself opens the page too; a token that may do less does not', async () => {
  const cookie = await cookieFor(house.token)
  const client = await connect(house, { origin, cookie })
  expect((await client.call('sessions.list')).error).toBeUndefined()
  client.socket.close()
  const added = await rpc(house, 'tokens.add', { name: 'reader', scopes: ['read'] })
  const { token } = added.result as { token: string }
  expect((await logIn(token)).status).toBe(401)
  expect((await logIn(house.token, { origin: 'https://evil.example' })).status).toBe(403)
})

test('the cookie opens nothing else', async () => {
  const cookie = await cookieFor(await newCode())
  const body = '{"jsonrpc":"2.0","id":1,"method":"health"}'
  expect((await http(house, '/rpc', { method: 'POST', headers: { cookie, origin }, body })).status).toBe(401)
  expect((await http(house, '/metrics', { headers: { cookie } })).status).toBe(401)
  await expect(connect(house, { cookie, origin: 'https://evil.example' })).rejects.toThrow('403')
  const program = await connect(house, { cookie })
  expect((await program.call('health')).error?.data?.code).toBe('unauthorized')
})

test('a code is not taken from another page, from a program, or when it is guessed', async () => {
  expect((await logIn(await newCode(), { origin: 'https://evil.example' })).status).toBe(403)
  expect((await logIn(await newCode(), {})).status).toBe(403)
  expect((await logIn('guess')).status).toBe(401)
})

test('logging out, and a new operator token, end the page', async () => {
  const cookie = await cookieFor(await newCode())
  const first = await connect(house, { origin, cookie })
  await http(house, '/logout', { method: 'POST', headers: { origin, cookie } })
  expect(await first.closed).toMatchObject({ code: 1008 })
  const second = await connect(house, { origin, cookie: await cookieFor(await newCode()) })
  rotateGatewayToken(house.dir)
  expect(await second.closed).toMatchObject({ code: 1008 })
})

test('T135: the page runs only what we serve, talks only to us, and cannot be framed', async () => {
  const page = await http(house, '/')
  expect(page.status).toBe(200)
  const policy = String(page.headers['content-security-policy'])
  for (const rule of [
    "default-src 'self'",
    "script-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "object-src 'none'",
  ]) {
    expect(policy).toContain(rule)
  }
  expect(policy).not.toContain('unsafe')
  expect(page.headers['x-content-type-options']).toBe('nosniff')
  expect((await http(house, '/sessions/agent:main:main')).body).toContain('Rockpool')
  expect((await http(house, '/assets/main-abc.js')).headers['cache-control']).toContain('immutable')
})

test.each([
  '/../package.json',
  '/assets/../../package.json',
  '/%2e%2e/package.json',
  '/assets/%00.js',
  '/assets/none.js',
  '//etc/passwd',
])('no path leads out of the folder: %s', async (path) => {
  const answer = await http(house, path)
  expect(answer.body).not.toContain('"name"')
  expect([200, 400, 404]).toContain(answer.status)
  if (answer.status === 200) expect(answer.body).toContain('<title>Rockpool</title>')
})
