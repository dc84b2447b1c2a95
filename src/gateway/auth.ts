// Authentication: the one place where a credential becomes a caller with scopes. What the caller may do is then decided by
// `authorize` in operations/perform-operation.ts.
import type { IncomingMessage } from 'node:http'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import { scopes as allScopes, type Caller } from '../operations/operation.ts'
import { giverOf, hasScope } from '../operations/perform-operation.ts'
import {
  credentialsVersion,
  ensureGatewayToken,
  hashOf,
  newToken,
  readGatewayToken,
  readPageSessions,
  writePageSessions,
  readHookToken,
  readTokenRecords,
  sameHash,
} from '../store/gateway-tokens.ts'
import { checkAgentId } from '../store/paths.ts'
import { Limiter } from './limiter.ts'
import { isLocalOrigin } from './origin.ts'
import { isOwnUser } from './peer-user.ts'
import { isSignedWith, signedHookOf } from './signed-hook.ts'

/** A caller and its credential; when the credential is removed, the connections of the caller are closed. */
export interface Admission {
  caller: Caller
  credentialId: string
}

/** The secrets that a browser stores after a login to the dashboard. Only both together are a credential. */
export interface PageSecrets {
  cookie: string
  pageKey: string
}

interface Credential {
  id: string
  hash: Buffer
  caller: Caller
}

const codeMs = 60_000
const pageSessionMs = 12 * 60 * 60 * 1000

export class Auth {
  #stateDir: string
  #clock: Clock
  #log: Log
  #limiter: Limiter
  #credentials: Credential[] = []
  #hookToken: string | undefined
  #mark = ''
  /** The last error while reading credentials; the same error is logged once. */
  #lastError = ''
  /** One-time codes of the dashboard, by hash; they expire by the monotonic clock. */
  #codes = new Map<string, { until: number; isForPage: boolean }>()
  /** Logged-in pages: id to expiry. They are stored on disk, so expiry is in wall-clock time. */
  #pages = new Map<string, number>()
  /** The operator token under which the pages logged in. */
  #pagesOperator = ''
  /** For the events of Claude Code sessions. A new one at each start; store/claude-hook-file.ts tells it to the plugin. */
  readonly claudeHookToken = newToken()

  constructor(stateDir: string, clock: Clock, log: Log) {
    this.#stateDir = stateDir
    this.#clock = clock
    this.#log = log
    this.#limiter = new Limiter(clock)
    ensureGatewayToken(stateDir)
    readSeparateHookToken(stateDir)
  }

  /** Throws `rate-limited` or `unauthorized`. */
  admit(token: string | undefined, request: IncomingMessage): Admission {
    return this.#limiter.guard('gateway', request, token, () => {
      this.#refresh()
      const hash = hashOf(token ?? '')
      let found: Credential | undefined
      // Every token is compared, so that the time reveals nothing about the tokens.
      for (const credential of this.#credentials) if (sameHash(credential.hash, hash)) found = credential
      return token && found ? { caller: found.caller, credentialId: found.id } : undefined
    })
  }

  admitHook(token: string | undefined, request: IncomingMessage): true {
    return this.#limiter.guard('hook', request, token, () => {
      this.#refresh()
      const isRight = this.#hookToken !== undefined && sameHash(hashOf(this.#hookToken), hashOf(token ?? ''))
      return isRight || undefined
    })
  }

  /** An event of a Claude Code session. */
  admitClaudeHook(token: string | undefined, request: IncomingMessage): true {
    return this.#limiter.guard('claude-hook', request, token, () => {
      return sameHash(hashOf(this.claudeHookToken), hashOf(token ?? '')) || undefined
    })
  }

  /** A press in a notification; `check` compares its signature. */
  admitAnswer<T>(signed: string | undefined, request: IncomingMessage, check: () => T | undefined): T {
    return this.#limiter.guard('answer', request, signed, check)
  }

  /** The headers are checked before the body is read, the signature afterwards. */
  async admitSignedHook(
    request: IncomingMessage,
    read: () => Promise<string>,
  ): Promise<{ id: string; body: string }> {
    const claimed = this.#limiter.guard('hook', request, this.#hookToken, () =>
      signedHookOf(request, this.#clock.now()),
    )
    const body = await read()
    return this.#limiter.guard('hook', request, this.#hookToken, () => {
      this.#refresh()
      const isRight = this.#hookToken !== undefined && isSignedWith(this.#hookToken, claimed, body)
      return isRight ? { id: claimed.id, body } : undefined
    })
  }

  /**
   * The dashboard's cookie together with its page key, valid only for a WebSocket of the dashboard. Browsers send the cookie
   * to every port of this machine, so another local server may know it; the page key stays in the storage of our origin.
   */
  admitPage(secrets: PageSecrets | undefined, request: IncomingMessage): Admission {
    return this.#limiter.guard('gateway', request, secrets?.pageKey, () => {
      const id = secrets === undefined ? '' : pageId(secrets)
      this.#refresh()
      const until = this.#pages.get(id)
      if (until === undefined || until < this.#clock.now()) return undefined
      return { caller: { via: 'rpc', scopes: ['admin'], name: 'dashboard' }, credentialId: `page:${id}` }
    })
  }

  /** Makes a code that logs in to the dashboard once, within a minute. A page shows it to another device, which may open the page at a
   *  public name; the code of a command counts only at addresses of this machine. */
  makeCode(isForPage = false): { code: string; expiresInMs: number } {
    // So that the code belongs to the current operator token.
    this.#refresh()
    const code = newToken()
    const until = this.#clock.monotonic() + codeMs
    this.#codes.set(hashOf(code).toString('base64url'), { until, isForPage })
    return { code, expiresInMs: codeMs }
  }

  /** Exchanges a one-time code or the operator token for the secrets of a page. */
  openPage(secret: string, request: IncomingMessage): PageSecrets & { maxAgeSeconds: number } {
    return this.#limiter.guard('login', request, secret, () => {
      this.#refresh()
      if (!this.#takeCode(secret, request) && !this.#isOperator(secret)) return undefined
      const secrets = { cookie: newToken(), pageKey: newToken() }
      this.#pages.set(pageId(secrets), this.#clock.now() + pageSessionMs)
      writePageSessions(this.#stateDir, this.#pagesOperator, this.#pages)
      return { ...secrets, maxAgeSeconds: pageSessionMs / 1000 }
    })
  }

  /** Requests for a public name may come through a proxy that another user runs, so only codes that a page made count there. */
  #takeCode(code: string, request: IncomingMessage): boolean {
    const id = hashOf(code).toString('base64url')
    const made = this.#codes.get(id)
    if (made === undefined) return false
    const isAllowed = isLocalOrigin(request) ? isOwnUser(request.socket) : made.isForPage
    if (!isAllowed) {
      this.#log.warn(
        { event: 'login-of-another-user' },
        'A login code of the dashboard was used by another user of this machine, or at a public name though no page had made it; the login was refused.',
      )
      return false
    }
    this.#codes.delete(id)
    return made.until >= this.#clock.monotonic()
  }

  /** A page may do everything, so only the operator token can log in. */
  #isOperator(token: string): boolean {
    const operator = this.#credentials.find(({ id }) => id.startsWith('operator:'))
    return operator !== undefined && sameHash(operator.hash, hashOf(token))
  }

  closePage(secrets: PageSecrets): void {
    if (!this.#pages.delete(pageId(secrets))) return
    writePageSessions(this.#stateDir, this.#pagesOperator, this.#pages)
  }

  /** Polled for open connections: false once the credential was removed or has expired. */
  isValid(credentialId: string): boolean {
    this.#refresh()
    if (!credentialId.startsWith('page:')) return this.#credentials.some(({ id }) => id === credentialId)
    return (this.#pages.get(credentialId.slice(5)) ?? 0) >= this.#clock.now()
  }

  hasHookToken(): boolean {
    this.#refresh()
    return this.#hookToken !== undefined
  }

  get failures(): number {
    return this.#limiter.failures
  }

  /** Reads the credentials again if a file has changed, so that new and removed tokens take effect at once. */
  #refresh(): void {
    const mark = credentialsVersion(this.#stateDir)
    if (mark === this.#mark) return
    this.#mark = mark
    const operator = this.#read(readGatewayToken)
    const hash = operator === undefined ? undefined : hashOf(operator)
    this.#credentials = (this.#read(readTokenRecords) ?? []).map((record) => ({
      id: `token:${record.hash}`,
      hash: Buffer.from(record.hash, 'base64url'),
      caller: {
        via: 'rpc',
        name: `token:${record.name}`,
        scopes: allScopes.filter((scope) => record.scopes.includes(scope)),
        agentId: record.agentId ?? record.agents,
        agentPrefix: record.agents,
      },
    }))
    if (hash) {
      const id = `operator:${hash.toString('base64url')}`
      this.#credentials.push({ id, hash, caller: { via: 'rpc', scopes: ['admin'], name: 'operator' } })
      this.#useOperator(id)
    }
    this.#hookToken = this.#read(readSeparateHookToken)
  }

  /** With a file that is unreadable or half written, all requests are refused. It is read again on the next request. */
  #read<T>(credentials: (stateDir: string) => T): T | undefined {
    try {
      return credentials(this.#stateDir)
    } catch (thrown) {
      const { message, hint } = asRockpoolError(thrown)
      if (message !== this.#lastError)
        this.#log.error(
          { event: 'credentials-unreadable', error: message, hint },
          'Could not read the credentials of the gateway; requests are refused until they can be read.',
        )
      this.#lastError = message
      this.#mark = ''
      return undefined
    }
  }

  /** Pages that logged in under an earlier operator token are logged out, also if the gateway was down meanwhile. Its login codes
   *  open no page any more. */
  #useOperator(operator: string): void {
    if (operator === this.#pagesOperator) return
    this.#pagesOperator = operator
    this.#codes.clear()
    const now = this.#clock.now()
    this.#pages = this.#read((stateDir) => readPageSessions(stateDir, operator, now)) ?? new Map()
  }
}

/** Throws if the hook token is also a gateway token: programs that know it could do far more than call hooks. */
function readSeparateHookToken(stateDir: string): string | undefined {
  const token = readHookToken(stateDir)
  if (token === undefined) return undefined
  const hash = hashOf(token).toString('base64url')
  const isShared =
    token === readGatewayToken(stateDir) || readTokenRecords(stateDir).some((record) => record.hash === hash)
  if (!isShared) return token
  throw new RockpoolError('exposed', 'The hook token is also a token of the gateway.', {
    hint: 'Hooks could do too much with it. Make a new one with `rockpool tokens rotate hook`.',
  })
}

function pageId({ cookie, pageKey }: PageSecrets): string {
  return hashOf(`${cookie} ${pageKey}`).toString('base64url')
}

/** A client can give up rights of its token, never gain any. Unknown scopes are ignored. */
export function narrow(
  caller: Caller,
  wanted: { scopes?: readonly string[]; agentId?: string; claudeSession?: string },
): Caller {
  const asked = wanted.scopes?.map((scope) => scope.replace(/^operator\./, ''))
  const known = allScopes.filter((scope) => asked?.includes(scope))
  const kept = allScopes.filter((scope) => hasScope(known, scope) && hasScope(caller.scopes, scope))
  return {
    ...caller,
    scopes: asked === undefined ? caller.scopes : kept,
    agentId: narrowAgent(caller, wanted.agentId),
    claudeSession: wanted.claudeSession ?? caller.claudeSession,
    // Decided by the rights of the credential: the client may have given up the scope `approve`, as `rockpool mcp` does.
    isProgram: caller.agentId === undefined && !giverOf(caller).mayApprove,
  }
}

/** A token that is bound to an agent stays bound to it. The token of an agent host becomes bound to the named agent. */
function narrowAgent({ agentId, agentPrefix }: Caller, wanted: string | undefined): string | undefined {
  if (wanted === undefined || (agentId !== undefined && agentPrefix === undefined)) return agentId
  if (agentPrefix === undefined || (wanted.startsWith(agentPrefix) && wanted !== agentPrefix))
    return checkAgentId(wanted)
  throw new RockpoolError('forbidden', `This token cannot speak for the agent ${JSON.stringify(wanted)}.`, {
    hint: `It speaks for agents whose ids begin with ${agentPrefix}.`,
  })
}

/** The agent that a request is made for. */
export function namedAgent(request: IncomingMessage): string | undefined {
  const named = request.headers['rockpool-agent']
  return named === undefined ? undefined : String(named)
}

/** The Claude session that a request is made from. */
export function namedSession(request: IncomingMessage): string | undefined {
  const named = request.headers['rockpool-session']
  return typeof named === 'string' && /^[\w-]{8,64}$/.test(named) ? named.toLowerCase() : undefined
}

export function bearerToken(request: IncomingMessage): string | undefined {
  return request.headers.authorization?.match(/^Bearer ([\w.~+/=-]{1,500})$/i)?.[1]
}

export function cookieValue(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([key]) => key === name)?.[1]
}
