// Which names the gateway answers to, and which web pages may talk to it. Both lists are exact: a page of another
// site, another port or a name that merely points here is a stranger.
import type { IncomingMessage } from 'node:http'
import type { Config } from '../domain/config.ts'

export interface Doorplate {
  hosts: ReadonlySet<string>
  origins: ReadonlySet<string>
}

const localNames = ['127.0.0.1', 'localhost', '[::1]']

export function doorplate(config: Config['gateway'], bind: string, port: number): Doorplate {
  const names = isLoopback(bind) || isWildcard(bind) ? localNames : [...localNames, bracketed(bind)]
  const own = names.map((name) => `${name}:${port}`)
  return {
    hosts: new Set([...own, ...config.hosts.map((host) => host.toLowerCase())]),
    origins: new Set([...own.map((host) => `http://${host}`), ...config.origins]),
  }
}

export type Refusal = { status: number; code: string; message: string }

/** Undefined when the request is addressed to us and comes from a program or from a page of ours. */
export function refuseStranger(request: IncomingMessage, door: Doorplate): Refusal | undefined {
  const hosts = headerValues(request, 'host')
  if (hosts.length !== 1) return { status: 400, code: 'bad-host', message: 'One Host header is needed.' }
  if (!door.hosts.has(hosts[0]!.toLowerCase())) {
    return { status: 403, code: 'unknown-host', message: 'This gateway does not go by that name.' }
  }
  const origins = headerValues(request, 'origin')
  if (origins.length > 1 || (origins.length === 1 && !door.origins.has(origins[0]!))) {
    return { status: 403, code: 'foreign-origin', message: 'That page may not talk to this gateway.' }
  }
  return crossSite(request)
}

/** Browsers say where a request began; only our own page, or the person's own address bar, may change anything. */
function crossSite(request: IncomingMessage): Refusal | undefined {
  const site = request.headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return undefined
  const mere = request.method === 'GET' && site === 'none'
  return mere
    ? undefined
    : { status: 403, code: 'cross-site', message: 'The request came from another site.' }
}

export function isFromBrowser(request: IncomingMessage): boolean {
  return request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined
}

/** Node folds repeated headers; the raw list shows what was really sent. */
function headerValues(request: IncomingMessage, name: string): string[] {
  const found: string[] = []
  const raw = request.rawHeaders
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.toLowerCase() === name) found.push(raw[i + 1]!)
  return found
}

export function isLoopback(address: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(address) || address === '::1' || address === 'localhost'
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::'
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}
