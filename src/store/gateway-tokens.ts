// The gateway's secrets in credentials/, each in a file with mode 0600: the operator's token, created at the first start, with
// all rights; further tokens with fewer rights, of which only hashes are stored; and open dashboard pages. A token is printed
// only when it is created.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openclawPrefix } from '../domain/agent.ts'
import { RockpoolError } from '../domain/errors.ts'
import { isRecord, parseRecord } from '../domain/json.ts'
import { fileVersion } from './disk/atomic-file.ts'
import { FileLock } from './disk/file-lock.ts'
import { makePrivateFile, readPrivateFile, writePrivateFile } from './disk/private-file.ts'

interface TokenRecord {
  name: string
  scopes: string[]
  /** Bound to one agent: it has access to that agent only. */
  agentId?: string
  /** For a program that runs agents of its own: with each call it names an agent whose id begins with this. */
  agents?: typeof openclawPrefix
  createdAt: number
  /** SHA-256 of the token, base64url. */
  hash: string
}

export function gatewayTokenFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'gateway-token')
}

export function hookTokenFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'hook-token')
}

export function tokensFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'tokens.json')
}

/** Throws `damaged` if the file is empty or holds no token: HTTP carries only printable ASCII. */
export function readGatewayToken(stateDir: string): string | undefined {
  const file = gatewayTokenFile(stateDir)
  const token = readPrivateFile(file)?.trim()
  if (token === undefined || isPrintable(token)) return token
  throw notAToken(file, 'the next start makes a new token')
}

/** Set by a person; undefined if blank. */
export function readHookToken(stateDir: string): string | undefined {
  const file = hookTokenFile(stateDir)
  const token = readPrivateFile(file)?.trim() || undefined
  if (token === undefined || isPrintable(token)) return token
  throw notAToken(file, 'make a new one with `rockpool tokens rotate hook`')
}

function isPrintable(token: string): boolean {
  return /^[\x20-\x7e]+$/.test(token)
}

function notAToken(file: string, next: string): RockpoolError {
  return new RockpoolError('damaged', `${file} holds no token.`, {
    hint: `\`rockpool doctor --fix\` sets it aside; ${next}.`,
  })
}

export function writeHookToken(stateDir: string, token: string): void {
  writePrivateFile(hookTokenFile(stateDir), `${token}\n`)
}

/** The operator's token; created if there is none. */
export function ensureGatewayToken(stateDir: string): string {
  return readGatewayToken(stateDir) ?? makePrivateFile(gatewayTokenFile(stateDir), `${newToken()}\n`).trim()
}

/** Replaces the operator's token; the old one is invalid from now on. */
export function rotateGatewayToken(stateDir: string): void {
  writePrivateFile(gatewayTokenFile(stateDir), `${newToken()}\n`)
}

export function readTokenRecords(stateDir: string): TokenRecord[] {
  const text = readPrivateFile(tokensFile(stateDir))
  if (text === undefined) return []
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) return value.filter(isTokenRecord)
  } catch (error) {
    throw damaged(stateDir, error)
  }
  throw damaged(stateDir)
}

/** The hash of the operator's token, or of the token with this name; undefined if there is no such token. */
export function tokenHash(stateDir: string, name?: string): string | undefined {
  if (name === undefined) return hashOf(ensureGatewayToken(stateDir)).toString('base64url')
  return readTokenRecords(stateDir).find((record) => record.name === name)?.hash
}

/** The hashes of the tokens that may add devices: the operator's, and those with the same rights. */
export function adminHashes(stateDir: string): Set<string> {
  const operator = readGatewayToken(stateDir)
  const others = readTokenRecords(stateDir).filter(
    ({ scopes, agentId, agents }) =>
      scopes.includes('admin') && agentId === undefined && agents === undefined,
  )
  const own = operator === undefined ? [] : [hashOf(operator).toString('base64url')]
  return new Set([...own, ...others.map(({ hash }) => hash)])
}

/** Changes of all processes run one after another, so none is lost. */
export async function changeTokenRecords(
  stateDir: string,
  change: (records: TokenRecord[]) => TokenRecord[],
): Promise<void> {
  const file = tokensFile(stateDir)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await new FileLock(file).hold('change the tokens', async (held) => {
    const changed = change(readTokenRecords(stateDir))
    held.confirm()
    writeTokenRecords(stateDir, changed)
  })
}

export function writeTokenRecords(stateDir: string, records: TokenRecord[]): void {
  writePrivateFile(tokensFile(stateDir), `${JSON.stringify(records, null, 2)}\n`)
}

function damaged(stateDir: string, cause?: unknown): RockpoolError {
  return new RockpoolError('damaged', `${tokensFile(stateDir)} is not a list of tokens.`, {
    hint: '`rockpool doctor --fix` sets it aside; then add the tokens again with `rockpool tokens add`.',
    cause,
  })
}

function isTokenRecord(value: unknown): value is TokenRecord {
  const { name, scopes, hash, agentId, agents } = isRecord(value) ? value : {}
  // A token with a damaged limit would have more rights than it was made with, so it is not a token.
  const isLimited = agents === undefined || (agents === openclawPrefix && agentId === undefined)
  return typeof name === 'string' && typeof hash === 'string' && Array.isArray(scopes) && isLimited
}

export function credentialsVersion(stateDir: string): string {
  const files = [gatewayTokenFile(stateDir), hookTokenFile(stateDir), tokensFile(stateDir)]
  // Every write creates a new file, so the inode changes even within one tick of the clock. Each read sets the mode.
  return files.map(fileVersion).join(' ')
}

/** 32 random bytes as base64url. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Open dashboard pages: the hash of a page's cookie and page key, with the time when they expire (ms since 1970). Stored so that
 *  an open page survives a restart of the gateway. They become invalid when the operator's token is replaced. */
type PageSessions = Map<string, number>

interface Stored {
  /** Hash of the operator's token under which the pages were opened. */
  under: string
  pages: Array<[hash: string, until: number]>
}

export function readPageSessions(stateDir: string, under: string, now: number): PageSessions {
  const text = readPrivateFile(pagesFile(stateDir))
  const stored = text === undefined ? undefined : parse(text)
  if (stored?.under !== under) return new Map()
  return new Map(stored.pages.filter(([, until]) => until > now))
}

export function writePageSessions(stateDir: string, under: string, pages: PageSessions): void {
  writePrivateFile(pagesFile(stateDir), `${JSON.stringify({ under, pages: [...pages] })}\n`)
}

function pagesFile(stateDir: string): string {
  return join(stateDir, 'credentials', 'pages.json')
}

/** Undefined for a damaged file: people log in again. */
function parse(text: string): Stored | undefined {
  const value: Partial<Stored> = parseRecord(text) ?? {}
  return typeof value.under === 'string' && Array.isArray(value.pages) ? (value as Stored) : undefined
}
