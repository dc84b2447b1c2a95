// The way into the dashboard: a code that works once, then a cookie and a page key that together open the WebSocket of
// our own page, and each of them alone opens nothing.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { execFile } from 'node:child_process'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readGatewayToken, rotateGatewayToken } from '../src/store/gateway-tokens.ts'
import { connect, http, openHouse, rpc } from './support/gateway-house.ts'
import type { Client, House } from './support/gateway-house.ts'

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

interface PageSession {
  cookie: string
  pageKey: string
}

async function openPage(code: string): Promise<PageSession> {
  const answer = await logIn(code)
  expect(answer.status).toBe(200)
  const [cookie] = answer.headers['set-cookie']!
  expect(cookie).toMatch(/^rockpool_page=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=\d+$/)
  const { pageKey } = answer.json()
  expect(pageKey).toMatch(/^[\w-]{43}$/)
  return { cookie: cookie!.split(';', 1)[0]!, pageKey: String(pageKey) }
}

async function connectPage({ cookie, pageKey }: PageSession): Promise<Client> {
  const client = await connect(house, { origin, cookie })
  expect((await client.call('connect', { pageKey })).error).toBeUndefined()
  return client
}

/** The answer to the first frame of a connection from our own origin with this cookie. */
async function refusalOf(cookie: string, method: string, params: object): Promise<string | undefined> {
  const client = await connect(house, { origin, cookie })
  const { error } = await client.call(method, params)
  expect(await client.closed).toMatchObject({ code: 1008 })
  return error?.data?.code
}

test('a code opens the page once', async () => {
  const code = await newCode()
  const session = await openPage(code)
  expect((await logIn(code)).status).toBe(401)
  const client = await connectPage(session)
  expect((await client.call('sessions.list')).error).toBeUndefined()
  client.socket.close()
})

test('the token itself opens the page too; a token that may do less does not', async () => {
  const client = await connectPage(await openPage(house.token))
  expect((await client.call('sessions.list')).error).toBeUndefined()
  client.socket.close()
  const added = await rpc(house, 'tokens.add', { name: 'reader', scopes: ['read'] })
  const { token } = added.result as { token: string }
  expect((await logIn(token)).status).toBe(401)
  expect((await logIn(house.token, { origin: 'https://evil.example' })).status).toBe(403)
})

test('a cookie that another local server replays reads nothing, mints no token and ends no page', async () => {
  const session = await openPage(await newCode())
  const { cookie } = session
  const page = await connectPage(session)
  expect(await refusalOf(cookie, 'sessions.list', {})).toBe('unauthorized')
  expect(await refusalOf(cookie, 'tokens.add', { name: 'stolen', scopes: ['admin'] })).toBe('unauthorized')
  expect(await refusalOf(cookie, 'connect', { pageKey: 'x'.repeat(43) })).toBe('unauthorized')
  const { pageKey } = await openPage(await newCode())
  expect(await refusalOf(cookie, 'connect', { pageKey })).toBe('unauthorized')
  expect((await http(house, '/logout', { method: 'POST', headers: { origin, cookie } })).status).toBe(200)
  expect((await page.call('sessions.list')).error).toBeUndefined()
  expect((await (await connectPage(session)).call('sessions.list')).error).toBeUndefined()
})

test('the page key without the cookie opens nothing', async () => {
  const { pageKey } = await openPage(await newCode())
  const client = await connect(house, { origin })
  expect((await client.call('connect', { pageKey })).error?.data?.code).toBe('unauthorized')
})

test('cookie and page key open the WebSocket of our own page and nothing else', async () => {
  const { cookie, pageKey } = await openPage(await newCode())
  const body = '{"jsonrpc":"2.0","id":1,"method":"health"}'
  expect((await http(house, '/rpc', { method: 'POST', headers: { cookie, origin }, body })).status).toBe(401)
  expect((await http(house, '/metrics', { headers: { cookie } })).status).toBe(401)
  await expect(connect(house, { cookie, origin: 'https://evil.example' })).rejects.toThrow('403')
  const program = await connect(house, { cookie })
  expect((await program.call('connect', { pageKey })).error?.data?.code).toBe('unauthorized')
})

test('a code is not taken from another page, from a program, or when it is guessed', async () => {
  expect((await logIn(await newCode(), { origin: 'https://evil.example' })).status).toBe(403)
  expect((await logIn(await newCode(), {})).status).toBe(403)
  expect((await logIn('guess')).status).toBe(401)
})

/** The status of a login by another user of this machine, who connects from one address to another and names this page. */
async function statusForNobody(login: {
  code: string
  from?: string
  to: string
  page: string
}): Promise<number> {
  const { code, from: localAddress, to, page } = login
  const headers = { host: new URL(page).host, origin: page }
  const options = { method: 'POST', agent: false, headers, localAddress }
  const script = `require('http').request('${to}/login', ${JSON.stringify(options)},
    (response) => { console.log(response.statusCode); response.resume() }).end('{"secret":"${code}"}')`
  const nobody = { uid: 65_534, gid: 65_534, cwd: '/', env: {} }
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], nobody)
  return Number(stdout)
}

const isRoot = process.platform === 'linux' && process.getuid?.() === 0

/** Addresses of this machine from which a program can connect to the gateway. */
const ownAddresses = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ family }) => family === 'IPv4')

test.for(ownAddresses.map(({ address }) => address))(
  'a code that another user of this machine reads in a command line opens nothing for that user from %s, and stays valid',
  async (from, ctx) => {
    if (!isRoot) ctx.skip('needs root, to be another user')
    const code = await newCode()
    expect(await statusForNobody({ code, from, to: origin, page: origin })).toBe(401)
    await openPage(code)
  },
)

test('nor over the address that this machine has in its network', async (ctx) => {
  const address = ownAddresses.find(({ internal }) => !internal)?.address
  if (!isRoot || address === undefined) ctx.skip('needs root and a network')
  for (const bind of ['0.0.0.0', address]) {
    const open = await openHouse({ webRoot: web, bind })
    const { port } = open.gateway
    const { code } = open.gateway.auth.makeCode()
    const page = `http://${bind === '0.0.0.0' ? '127.0.0.1' : bind}:${port}`
    expect(await statusForNobody({ code, to: `http://${address}:${port}`, page })).toBe(401)
    await open.close()
  }
})

test('at a public name only the code of a page opens it: any program can name that page', async () => {
  const open = await openHouse({ webRoot: web, config: { gateway: { origins: ['https://rock.example'] } } })
  const local = `http://127.0.0.1:${open.gateway.port}`
  const logInAt = (origin: string, secret: string) =>
    http(open, '/login', { method: 'POST', headers: { origin }, body: JSON.stringify({ secret }) })
  const codeOf = ({ result }: Awaited<ReturnType<Client['call']>>) => (result as { code: string }).code
  const ofCommand = codeOf(await rpc(open, 'dashboard.code'))
  expect((await logInAt('https://rock.example', ofCommand)).status).toBe(401)
  const here = await logInAt(local, ofCommand)
  expect(here.status).toBe(200)
  const { pageKey } = here.json() as { pageKey: string }
  const cookie = here.headers['set-cookie']![0]!.split(';')[0]!
  const page = await connect(open, { cookie, origin: local })
  expect((await page.call('connect', { pageKey })).error).toBeUndefined()
  const ofPage = codeOf(await page.call('dashboard.code'))
  expect((await logInAt('https://rock.example', ofPage)).status).toBe(200)
  expect((await logInAt('https://rock.example', open.token)).status).toBe(200)
  await open.close()
})

test('logging out, and a new operator token, end the page', async () => {
  const session = await openPage(await newCode())
  const first = await connectPage(session)
  const { cookie, pageKey } = session
  const headers = { origin, cookie, 'x-rockpool-page-key': pageKey }
  await http(house, '/logout', { method: 'POST', headers })
  expect(await first.closed).toMatchObject({ code: 1008 })
  const second = await connectPage(await openPage(await newCode()))
  rotateGatewayToken(house.dir)
  expect(await second.closed).toMatchObject({ code: 1008 })
})

test('a login code of an earlier operator token opens no page, one of the new token does', async () => {
  const current = (): string => readGatewayToken(house.dir)!
  const code = async (): Promise<string> =>
    ((await rpc(house, 'dashboard.code', {}, current())).result as { code: string }).code
  const old = await code()
  await rpc(house, 'tokens.rotate', {}, current())
  expect((await logIn(old)).status).toBe(401)
  await openPage(await code())
  // As `rockpool up` does, before any request has read the new token.
  rotateGatewayToken(house.dir)
  await openPage(house.gateway.auth.makeCode().code)
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
