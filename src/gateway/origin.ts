// The host names that the gateway answers to, and the origins of the web pages that may use it. Both lists are exact: a page
// of another site or port, or a name that only resolves to this machine, is refused.
import type { IncomingMessage } from 'node:http'
import type { Config } from '../domain/config.ts'
import { attempt } from '../domain/errors.ts'
import { HttpRefusal } from './http.ts'

export interface AllowedNames {
  hosts: ReadonlySet<string>
  origins: ReadonlySet<string>
}

const localNames = ['127.0.0.1', 'localhost', '[::1]']

export function allowedNames(config: Config['gateway'], bind: string, port: number): AllowedNames {
  const isLocal = isLoopback(bind) || bind === '0.0.0.0' || bind === '::'
  const names = isLocal ? localNames : [...localNames, bind.includes(':') ? `[${bind}]` : bind]
  const own = names.map((name) => `${name}:${port}`)
  return {
    hosts: new Set([...own, ...config.hosts.map((host) => host.toLowerCase())]),
    origins: new Set([...own.map((host) => `http://${host}`), ...config.origins]),
  }
}

const unknownHost =
  'This gateway does not have that host name. Add the name to gateway.hosts in the configuration.'

/** Throws unless the request names this gateway as its host and comes from a program or from the dashboard. */
export function checkOrigin(request: IncomingMessage, allowed: AllowedNames): void {
  const hosts = headerValues(request, 'host')
  if (hosts.length !== 1) throw new HttpRefusal(400, 'bad-host', 'One Host header is needed.')
  if (!allowed.hosts.has(hosts[0]!.toLowerCase())) throw new HttpRefusal(403, 'unknown-host', unknownHost)
  const origins = headerValues(request, 'origin')
  if (origins.length > 1 || (origins.length === 1 && !allowed.origins.has(origins[0]!)))
    throw new HttpRefusal(403, 'foreign-origin', 'That page may not use this gateway.')
  if (isCrossSite(request)) throw new HttpRefusal(403, 'cross-site', 'The request came from another site.')
}

/** Browsers report where a request began. Only the dashboard may change anything; the address bar may read. */
function isCrossSite(request: IncomingMessage): boolean {
  const site = request.headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return false
  return !(request.method === 'GET' && site === 'none')
}

/** The page was opened at an address of this machine. */
export function isLocalOrigin({ headers, socket }: IncomingMessage): boolean {
  const name = attempt(() => new URL(headers.origin ?? '').hostname, '')
  // A gateway that listens on `::` has IPv4 addresses within IPv6.
  const own = socket.localAddress?.replace(/^::ffff:/, '')
  return [...localNames, own, `[${own}]`].includes(name)
}

export function isFromBrowser(request: IncomingMessage): boolean {
  return request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined
}

/** Node merges repeated headers; the raw list has each of them. */
function headerValues(request: IncomingMessage, name: string): string[] {
  const found: string[] = []
  const raw = request.rawHeaders
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.toLowerCase() === name) found.push(raw[i + 1]!)
  return found
}

export function isLoopback(address: string): boolean {
  return /^127(\.\d{1,3}){3}$/.test(address) || address === '::1' || address === 'localhost'
}
