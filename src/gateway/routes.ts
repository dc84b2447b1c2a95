// The HTTP routes of the gateway. Before any route: the request must name this host, come from a program or from the
// dashboard, and have no secret in its address.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Caller } from '../operations/operation.ts'
import { authorizeOperation } from '../operations/perform-operation.ts'
import { failure, parseFailure, parseJson, rpcError } from '../rpc/frames.ts'
import { deviceOfAnswer } from '../store/device-file.ts'
import { bearerToken, cookieValue, namedAgent, namedSession, narrow } from './auth.ts'
import type { Admission, Auth, PageSecrets } from './auth.ts'
import type { Calls } from './calls.ts'
import { answerClaudeHook, answerClaudeTool } from './claude-hooks.ts'
import { hookRoutes, receiveHook } from './hooks.ts'
import { errorHeaders, HttpRefusal, readBody, sendError, sendJson, sendText, statusOf } from './http.ts'
import { stringifyInPieces } from './http.ts'
import { checkOrigin, type AllowedNames } from './origin.ts'
import type { PendingSockets } from './limiter.ts'
import { sendStatic, type StaticFiles } from './static.ts'

export interface RouteParts {
  auth: Auth
  calls: Calls
  /** The hosts and origins of the current configuration. */
  allowed: () => AllowedNames
  pendingSockets: PendingSockets
  files: StaticFiles
  metricsText(): string
}

/** The cookie of the dashboard. `__Host-` would need TLS, which a loopback gateway does not have. */
const pageCookie = 'rockpool_page'

/** The cookie is used only for requests of the dashboard; `checkRequest` has compared their origin. */
export function pageSecrets(request: IncomingMessage, pageKey: string): PageSecrets | undefined {
  const cookie = request.headers.origin === undefined ? undefined : cookieValue(request, pageCookie)
  return cookie === undefined ? undefined : { cookie, pageKey }
}

const maxRpcBody = 1024 * 1024

type RouteArguments = [request: IncomingMessage, response: ServerResponse, parts: RouteParts]

/** The routes by method and path. `access` describes who may use a route; the reference page and the tests read it. */
export const routes: Record<
  string,
  {
    access:
      | 'public'
      | 'token'
      | 'hook token'
      | 'Claude hook token'
      | 'one-time code or token'
      | 'signed answer'
    run: (...route: RouteArguments) => Promise<void>
  }
> = {
  'GET /health': {
    access: 'public',
    run: async (_request, response) => sendJson(response, 200, { ok: true }),
  },
  'GET /metrics': { access: 'token', run: sendMetrics },
  'POST /rpc': { access: 'token', run: answerRpc },
  'POST /login': { access: 'one-time code or token', run: logIn },
  'POST /logout': { access: 'public', run: logOut },
  'POST /answers': { access: 'signed answer', run: answerFromDevice },
  'POST /claude-hooks': { access: 'Claude hook token', run: answerClaudeHook },
  'POST /claude-tools': { access: 'Claude hook token', run: answerClaudeTool },
  ...Object.fromEntries(
    hookRoutes.map((path) => [`POST ${path}`, { access: 'hook token' as const, run: answerHook }]),
  ),
}

export async function handleRequest(...[request, response, parts]: RouteArguments): Promise<void> {
  try {
    const url = checkRequest(request, parts.allowed())
    const route = routes[`${request.method} ${url.pathname}`]
    if (route) await route.run(request, response, parts)
    else sendPage(request, response, url, parts)
  } catch (error) {
    if (response.headersSent) response.destroy()
    else sendError(request, response, error)
  }
}

/** Throws if a request must not reach any route. */
export function checkRequest(request: IncomingMessage, allowed: AllowedNames): URL {
  checkOrigin(request, allowed)
  let url: URL
  try {
    url = new URL(request.url ?? '/', 'http://gateway')
  } catch {
    throw new HttpRefusal(400, 'bad-address', 'The address is not a valid URL.')
  }
  if ([...url.searchParams.keys()].some((name) => /token|password|secret/i.test(name))) {
    const why = 'A secret in an address ends up in histories and logs. Send it as a header.'
    throw new HttpRefusal(400, 'token_in_query', why)
  }
  return url
}

function sendPage(request: IncomingMessage, response: ServerResponse, url: URL, parts: RouteParts): void {
  const known = Object.keys(routes).filter((route) => route.endsWith(` ${url.pathname}`))
  if (known.length > 0) {
    const allow = known.map((route) => route.split(' ', 1)[0]).join(', ')
    throw new HttpRefusal(405, 'wrong-method', `This address accepts ${allow}.`, { allow })
  }
  if (request.method !== 'GET') throw new HttpRefusal(404, 'not-found', 'There is nothing here.')
  if (url.search !== '') {
    // The dashboard has no parameters, so a link with some may be an attack. A location that begins with two slashes would
    // lead to another host.
    const location = url.pathname.replace(/^\/+/, '/')
    response.writeHead(302, { location, 'cache-control': 'no-store' }).end()
    return
  }
  if (sendStatic(response, url.pathname, parts.files, request.headers.host!)) return
  throw new HttpRefusal(404, 'not-found', 'There is nothing here.')
}

function admit(request: IncomingMessage, parts: RouteParts): Admission {
  const { caller, credentialId } = parts.auth.admit(bearerToken(request), request)
  parts.pendingSockets.remove(request.socket)
  return {
    credentialId,
    caller: narrow(caller, { agentId: namedAgent(request), claudeSession: namedSession(request) }),
  }
}

async function sendMetrics(...[request, response, parts]: RouteArguments): Promise<void> {
  // The figures are those of all agents.
  authorizeOperation(admit(request, parts).caller, {
    name: 'GET /metrics',
    scope: 'read',
    operatorOnly: true,
  })
  sendText(response, 200, parts.metricsText(), 'text/plain; version=0.0.4')
}

async function answerRpc(...[request, response, parts]: RouteArguments): Promise<void> {
  try {
    const admission = admit(request, parts)
    const text = await readBody(request, maxRpcBody)
    // The body may arrive half a minute after the token, which may be removed meanwhile.
    if (!parts.auth.isValid(admission.credentialId))
      throw new RockpoolError('unauthorized', 'The token of this request is no longer valid.')
    let value: unknown
    try {
      value = parseJson(text)
    } catch (thrown) {
      const error = asRockpoolError(thrown)
      return sendJson(response, statusOf(error), parseFailure(error), errorHeaders(request, error))
    }
    const batch = Array.isArray(value) ? value : [value]
    if (batch.length === 0 || batch.length > 100)
      throw new RockpoolError('input-invalid', 'A batch holds 1 to 100 requests.')
    const answered = await parts.calls.respondToBatch(batch, admission)
    if (answered.length === 0) response.writeHead(204).end()
    else {
      const body = await stringifyInPieces(Array.isArray(value) ? answered : answered[0])
      sendText(response, 200, body, 'application/json')
    }
  } catch (thrown) {
    const error = asRockpoolError(thrown)
    const status = error instanceof HttpRefusal ? error.status : statusOf(error)
    sendJson(response, status, failure(null, rpcError(error)), errorHeaders(request, error))
  }
}

async function answerHook(...[request, response, parts]: RouteArguments): Promise<void> {
  const { pathname } = new URL(request.url!, 'http://gateway')
  const body = await receiveHook(pathname, request, parts)
  parts.pendingSockets.remove(request.socket)
  sendJson(response, pathname === '/hooks/agent' ? 202 : 200, body)
}

const signedAnswer = z.strictObject({
  deviceId: z.string().max(64),
  answer: z.string().regex(/^approve:[\w-]{1,64}:(allow|deny)$/),
  signed: z.string().max(100),
})

/** A press on Allow or Deny in a notification. The device has no token of the gateway; the notification carries a signature that is
 *  valid for this device, this request and this answer. */
async function answerFromDevice(...[request, response, parts]: RouteArguments): Promise<void> {
  const { auth, calls } = parts
  const { data: given } = signedAnswer.safeParse(parseJson(await readBody(request, 4_096)))
  const { answer, name } = auth.admitAnswer(given?.signed, request, () => {
    const device = given && deviceOfAnswer(calls.app.paths.root, given)
    return device && { answer: given.answer, name: device.name }
  })
  const [, id, decision] = answer.split(':')
  const caller: Caller = { via: 'rpc', scopes: ['approve'], name: `device:${name}` }
  await calls.call({ jsonrpc: '2.0', method: 'approvals.answer', params: { id, decision } }, caller)
  sendJson(response, 200, { ok: true })
}

async function logIn(...[request, response, parts]: RouteArguments): Promise<void> {
  if (request.headers.origin === undefined)
    throw new HttpRefusal(403, 'foreign-origin', 'Only the dashboard can log in here.')
  const body = parseJson(await readBody(request, 4096)) as { secret?: unknown } | null
  const secret = typeof body?.secret === 'string' ? body.secret : ''
  const { cookie, pageKey, maxAgeSeconds } = parts.auth.openPage(secret, request)
  const flags = `HttpOnly; SameSite=Strict; Path=/; Max-Age=${maxAgeSeconds}`
  sendJson(response, 200, { ok: true, pageKey }, { 'set-cookie': `${pageCookie}=${cookie}; ${flags}` })
}

async function logOut(...[request, response, parts]: RouteArguments): Promise<void> {
  const secrets = pageSecrets(request, String(request.headers['x-rockpool-page-key'] ?? ''))
  if (secrets) parts.auth.closePage(secrets)
  const flags = 'HttpOnly; SameSite=Strict; Path=/; Max-Age=0'
  sendJson(response, 200, { ok: true }, { 'set-cookie': `${pageCookie}=; ${flags}` })
}
