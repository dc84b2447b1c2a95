// Who is asking. The one place where a credential becomes a caller with scopes; what the caller may then do is
// decided by `authorize` in operations/authorize.ts, for every door alike.
import type { IncomingMessage } from 'node:http'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type { Caller } from '../operations/operation.ts'
import { scopes as allScopes } from '../operations/operation.ts'
import { hasScope } from '../operations/authorize.ts'
import {
  credentialsMark,
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
import { Limiter } from './limiter.ts'
import { isFromBrowser, isLoopback } from './origin.ts'
import { isSignedWith, signedHookOf } from './signed-hook.ts'

/** A caller, and the credential behind it: when that is withdrawn, the caller's connections end. */
export interface Admission {
  caller: Caller
  credentialId: string
}

/** What a browser keeps of a login to the dashboard. Only both together are a credential. */
export interface PageSecrets {
  cookie: string
  pageKey: string
}

interface Known {
  id: string
  hash: Buffer
  caller: Caller
}

const codeMs = 60_000
/** `newToken` makes 43 characters; 32 cannot be guessed. */
const unguessableLength = 32
const pageSessionMs = 12 * 60 * 60 * 1000

export class Auth {
  #stateDir: string
  #clock: Clock
  #log: Log
  #limiter: Limiter
  #known: Known[] = []
  #hookToken: string | undefined
  #mark = ''
  /** Why credentials could not be read the last time that they could not. */
  #trouble = ''
  /** One-time codes of the dashboard: hash to the moment they end, on the monotonic clock. */
  #codes = new Map<string, number>()
  /** Open pages of the dashboard; kept on disk, so they count in wall-clock time. */
  #pages = new Map<string, number>()
  /** Hash of the operator's token under which the pages are open. */
  #pagesUnder = ''
  failures = 0

  constructor(stateDir: string, clock: Clock, log: Log) {
    this.#stateDir = stateDir
    this.#clock = clock
    this.#log = log
    this.#limiter = new Limiter(clock)
    ensureGatewayToken(stateDir)
    readOwnHookToken(stateDir)
  }

  /** Throws `rate-limited` or `unauthorized`. */
  admit(token: string | undefined, request: IncomingMessage): Admission {
    return this.#guarded('gateway', request, token, () => {
      this.#refresh()
      const hash = hashOf(token ?? '')
      let found: Known | undefined
      // Every token is compared, so that the time says nothing about which one was near.
      for (const known of this.#known) if (sameHash(known.hash, hash)) found = known
      return token && found ? { caller: found.caller, credentialId: found.id } : undefined
    })
  }

  admitHook(token: string | undefined, request: IncomingMessage): true {
    return this.#guarded('hook', request, token, () => {
      this.#refresh()
      const right = this.#hookToken !== undefined && sameHash(hashOf(this.#hookToken), hashOf(token ?? ''))
      return right ? true : undefined
    })
  }

  /** What a signature claims is looked at before the body is read, and whether it is right afterwards. */
  async admitSignedHook(
    request: IncomingMessage,
    read: () => Promise<string>,
  ): Promise<{ id: string; body: string }> {
    const claimed = this.#guarded('hook', request, this.#hookToken, () =>
      signedHookOf(request, this.#clock.now()),
    )
    const body = await read()
    return this.#guarded('hook', request, this.#hookToken, () => {
      this.#refresh()
      const isRight = this.#hookToken !== undefined && isSignedWith(this.#hookToken, claimed, body)
      return isRight ? { id: claimed.id, body } : undefined
    })
  }

  /**
   * The dashboard's cookie together with its page key: good for a WebSocket of our own page and for nothing else. Browsers
   * send the cookie to every port of this machine, so another local server may have it; the page key stays in the storage
   * of our own origin.
   */
  admitPage(secrets: PageSecrets | undefined, request: IncomingMessage): Admission {
    return this.#guarded('gateway', request, secrets?.pageKey, () => {
      const id = secrets === undefined ? '' : pageId(secrets)
      this.#refresh()
      const until = this.#pages.get(id)
      if (until === undefined || until < this.#clock.now()) return undefined
      return { caller: { via: 'rpc', scopes: ['admin'], name: 'dashboard' }, credentialId: `page:${id}` }
    })
  }

  /** A code that opens the dashboard once, within a minute. */
  makeCode(): { code: string; expiresInMs: number } {
    const code = newToken()
    this.#codes.set(hashOf(code).toString('base64url'), this.#clock.monotonic() + codeMs)
    return { code, expiresInMs: codeMs }
  }

  /** Exchanges a one-time code, or the operator's token itself, for the two secrets of a page. */
  openPage(secret: string, request: IncomingMessage): PageSecrets & { maxAgeSeconds: number } {
    return this.#guarded('login', request, secret, () => {
      this.#refresh()
      if (!this.#takeCode(secret) && !this.#isOperator(secret)) return undefined
      const secrets = { cookie: newToken(), pageKey: newToken() }
      this.#pages.set(pageId(secrets), this.#clock.now() + pageSessionMs)
      writePageSessions(this.#stateDir, this.#pagesUnder, this.#pages)
      return { ...secrets, maxAgeSeconds: pageSessionMs / 1000 }
    })
  }

  #takeCode(code: string): boolean {
    const id = hashOf(code).toString('base64url')
    const until = this.#codes.get(id)
    this.#codes.delete(id)
    return until !== undefined && until >= this.#clock.monotonic()
  }

  /** The page may do everything, so a token that may do less opens none. */
  #isOperator(token: string): boolean {
    const operator = this.#known.find(({ id }) => id.startsWith('operator:'))
    return operator !== undefined && sameHash(operator.hash, hashOf(token))
  }

  closePage(secrets: PageSecrets): void {
    if (!this.#pages.delete(pageId(secrets))) return
    writePageSessions(this.#stateDir, this.#pagesUnder, this.#pages)
  }

  /** Is this credential still good? Asked again and again for connections that stay open. */
  stillGood(credentialId: string): boolean {
    this.#refresh()
    if (!credentialId.startsWith('page:')) return this.#known.some((known) => known.id === credentialId)
    return (this.#pages.get(credentialId.slice(5)) ?? 0) >= this.#clock.now()
  }

  hooksOpen(): boolean {
    this.#refresh()
    return this.#hookToken !== undefined
  }

  /**
   * Limits guessing by source. A secret of ours has 256 bits and cannot be guessed, so the right one is let in even from a
   * source that is locked out; a shorter secret, which a person chose, is not looked at there.
   */
  #guarded<T>(
    door: string,
    request: IncomingMessage,
    secret: string | undefined,
    look: () => T | undefined,
  ): T {
    const address = request.socket.remoteAddress ?? ''
    const browser = isFromBrowser(request)
    const local = isLoopback(address.replace(/^::ffff:/, '')) && !browser
    const key = `${door} ${browser ? 'page' : 'program'} ${address}`
    const wait = this.#limiter.lockedFor(key)
    const isGuessable = (secret ?? '').length < unguessableLength
    const found = wait > 0 && isGuessable ? undefined : look()
    if (found !== undefined) return found
    if (wait > 0) throw new TooManyTries(wait)
    this.failures++
    this.#limiter.fail(key, { failures: local ? 100 : 10 })
    throw new RockpoolError('unauthorized', 'A valid token is needed.', {
      hint: 'Send it as `Authorization: Bearer …`. It is in credentials/gateway-token of the state directory.',
    })
  }

  /** Reads the credentials again when a file has changed, so that a new token counts and an old one ends at once. */
  #refresh(): void {
    const mark = credentialsMark(this.#stateDir)
    if (mark === this.#mark) return
    this.#mark = mark
    const operator = this.#read(readGatewayToken)
    const hash = operator === undefined ? undefined : hashOf(operator)
    this.#known = (this.#read(readTokenRecords) ?? []).map((record) => ({
      id: `token:${record.hash}`,
      hash: Buffer.from(record.hash, 'base64url'),
      caller: {
        via: 'rpc',
        name: `token:${record.name}`,
        scopes: allScopes.filter((scope) => record.scopes.includes(scope)),
        ...(record.agentId === undefined ? {} : { agentId: record.agentId }),
      },
    }))
    if (hash) {
      const id = `operator:${hash.toString('base64url')}`
      this.#known.push({ id, hash, caller: { via: 'rpc', scopes: ['admin'], name: 'operator' } })
      this.#openPagesUnder(id)
    }
    this.#hookToken = this.#read(readOwnHookToken)
  }

  /** A file that cannot be read, or is half written, lets nobody in. It is looked at again, and spoken of once. */
  #read<T>(credentials: (stateDir: string) => T): T | undefined {
    try {
      return credentials(this.#stateDir)
    } catch (thrown) {
      const { message, hint } = asRockpoolError(thrown)
      if (message !== this.#trouble)
        this.#log.error(
          { event: 'credentials-unreadable', error: message, hint },
          'Could not read the credentials of the gateway; requests are refused until they can be read.',
        )
      this.#trouble = message
      this.#mark = ''
      return undefined
    }
  }

  /** A page opened under an earlier operator's token ended with it, also while the gateway was down. */
  #openPagesUnder(operator: string): void {
    if (operator === this.#pagesUnder) return
    this.#pagesUnder = operator
    const now = this.#clock.now()
    this.#pages = this.#read((stateDir) => readPageSessions(stateDir, operator, now)) ?? new Map()
  }
}

/** Throws when the hook token is also another token: other programs hold it, and it would let them do far more. */
function readOwnHookToken(stateDir: string): string | undefined {
  const token = readHookToken(stateDir)
  if (token === undefined) return undefined
  const hash = hashOf(token).toString('base64url')
  const isShared =
    token === readGatewayToken(stateDir) || readTokenRecords(stateDir).some((record) => record.hash === hash)
  if (!isShared) return token
  throw new RockpoolError(
    'exposed',
    'The hook token is also a token of the gateway, so hooks could do all that it may.',
    {
      hint: 'Make a new hook token with `rockpool tokens rotate hook`.',
    },
  )
}

function pageId({ cookie, pageKey }: PageSecrets): string {
  return hashOf(`${cookie} ${pageKey}`).toString('base64url')
}

export class TooManyTries extends RockpoolError {
  readonly retryAfterSeconds: number
  constructor(retryAfterSeconds: number) {
    super('rate-limited', `Too many wrong credentials. Try again in ${retryAfterSeconds} s.`)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A client may ask for less than its token gives, never for more. Scopes that do not exist give nothing. */
export function narrow(caller: Caller, wanted: { scopes?: readonly string[]; agentId?: string }): Caller {
  const asked = wanted.scopes?.map((scope) => scope.replace(/^operator\./, ''))
  const known = allScopes.filter((scope) => asked?.includes(scope))
  const kept = allScopes.filter((scope) => hasScope(known, scope) && hasScope(caller.scopes, scope))
  return {
    ...caller,
    ...(asked === undefined ? {} : { scopes: kept }),
    // A token that is bound to an agent stays bound to it.
    ...(wanted.agentId === undefined || caller.agentId !== undefined ? {} : { agentId: wanted.agentId }),
  }
}

export function bearerToken(request: IncomingMessage): string | undefined {
  return request.headers.authorization?.match(/^Bearer ([\w.~+/=-]{1,500})$/i)?.[1]
}

export function cookieValue(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([key]) => key === name)?.[1]
}
