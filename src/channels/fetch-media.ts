// Fetches a file from the web for a link in a message. The host name is resolved once, and the connection goes to the
// address that was checked. Every redirect is checked like the first link.
import { lookup as lookUpHost } from 'node:dns/promises'
import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, BlockList } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { MediaFiles } from '../domain/channel.ts'
import { RockpoolError, attempt } from '../domain/errors.ts'
import type { Media } from '../domain/message.ts'

export interface FetchOptions {
  media: Pick<MediaFiles, 'keep'>
  /** The addresses of a name; the machine's resolver unless given. */
  resolve?: (host: string) => Promise<string[]>
  isAllowed?: (address: string) => boolean
  /** Limit for the whole download. */
  totalMs?: number
  /** Limit for a pause between two bytes. */
  silenceMs?: number
}

const maxRedirects = 3
const localNames = /(^|\.)(localhost|local|internal|home\.arpa)\.?$/i

/** Rejects with `refused` for a link that must not be fetched, with `unavailable` or `timed-out` when fetching fails. */
export async function fetchMedia(link: string, options: FetchOptions): Promise<Media> {
  const deadline = AbortSignal.timeout(options.totalMs ?? 60_000)
  let url = parseLink(link)
  for (let hops = 0; ; hops++) {
    const response = await ask(url, await checkedAddress(url, options), options, deadline)
    const next = redirectOf(response)
    if (next === undefined) return keep(response, url, options, deadline)
    response.destroy()
    if (hops === maxRedirects) throw refused(link, `it redirects more than ${maxRedirects} times`)
    url = parseLink(next, url)
  }
}

function parseLink(link: string, base?: URL): URL {
  const url = URL.parse(link, base?.href)
  if (!url) throw refused(link, 'it is not a link')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused(link, 'only http and https are fetched')
  if (url.username || url.password) throw refused(link, 'it holds a password')
  return url
}

/** The address to connect to. A name with any private address is refused. */
async function checkedAddress(url: URL, options: FetchOptions): Promise<string> {
  const { resolve = resolveHost, isAllowed = isPublicAddress } = options
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) === 0 && localNames.test(host)) throw refused(url.href, 'it leads to this network')
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  if (addresses.length === 0) throw new RockpoolError('unavailable', `${host} has no address.`)
  if (!addresses.every((address) => isAllowed(address))) throw refused(url.href, 'it leads to this network')
  return addresses[0]!
}

async function resolveHost(host: string): Promise<string[]> {
  try {
    return (await lookUpHost(host, { all: true })).map((found) => found.address)
  } catch (error) {
    throw new RockpoolError('unavailable', `${host} was not found.`, { cause: error })
  }
}

function ask(
  url: URL,
  address: string,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const settings: RequestOptions = {
    // No shared connections: each must go to the address that was checked for it.
    agent: false,
    signal,
    timeout: options.silenceMs ?? 10_000,
    headers: { 'accept-encoding': 'gzip, deflate, br', 'user-agent': 'rockpool' },
    lookup: (_host, wanted, done) => {
      const family = isIP(address)
      if (wanted.all) done(null, [{ address, family }])
      else done(null, address, family)
    },
  }
  return new Promise((resolve, reject) => {
    const asked = request(url, settings, resolve)
    asked.on('timeout', () => asked.destroy(new Error('silence')))
    asked.on('error', (error) => reject(failed(url, error, signal)))
    asked.end()
  })
}

function redirectOf(response: IncomingMessage): string | undefined {
  const status = response.statusCode ?? 0
  return [301, 302, 303, 307, 308].includes(status) ? (response.headers.location ?? '') : undefined
}

/** The size limit applies to the decoded bytes, so a decompression bomb is cut like a large file. */
async function keep(
  response: IncomingMessage,
  url: URL,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<Media> {
  if (response.statusCode !== 200) {
    response.destroy()
    throw new RockpoolError('unavailable', `${url.host} answered ${response.statusCode}.`)
  }
  const lastPart = url.pathname.split('/').at(-1) ?? ''
  // The name is only displayed, never used as a path.
  const name = attempt(() => decodeURIComponent(lastPart), lastPart)
  const mimeType = response.headers['content-type']
  try {
    return await options.media.keep(decoded(response), { name, mimeType })
  } catch (error) {
    response.destroy()
    throw error instanceof RockpoolError ? error : failed(url, error, signal)
  }
}

function decoded(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return response
  const decoder =
    encoding === 'br' ? createBrotliDecompress() : encoding === 'deflate' ? createInflate() : createGunzip()
  // The reader of the decoder sees the errors of both streams.
  return pipeline(response, decoder, () => {})
}

function failed(url: URL, error: unknown, signal: AbortSignal): RockpoolError {
  const isLate = signal.aborted || (error instanceof Error && error.message === 'silence')
  return isLate
    ? new RockpoolError('timed-out', `${url.host} took too long to give its file.`, { cause: error })
    : new RockpoolError('unavailable', `${url.host} did not give its file.`, { cause: error })
}

function refused(link: string, why: string): RockpoolError {
  return new RockpoolError('refused', `${JSON.stringify(link.slice(0, 200))} is not fetched: ${why}.`)
}

// The ranges of private networks: this machine, the local network, the cloud's metadata service, addresses that wrap
// another one. A link in a chat must not reach them.
const privateRanges: ReadonlyArray<readonly [string, number]> = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** Of IPv6 only what is assigned to the public is public, without the parts that wrap or document other addresses. */
const publicRanges6: ReadonlyArray<readonly [string, number]> = [['2000::', 3]]
const privateRanges6: ReadonlyArray<readonly [string, number]> = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const private4 = listOf(privateRanges, 'ipv4')
const public6 = listOf(publicRanges6, 'ipv6')
const private6 = listOf(privateRanges6, 'ipv6')

/** False also for text that is not an IP address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !private4.check(address, 'ipv4')
  return family === 6 && public6.check(address, 'ipv6') && !private6.check(address, 'ipv6')
}

function listOf(ranges: ReadonlyArray<readonly [string, number]>, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}
