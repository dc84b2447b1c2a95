import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testHost } from '../../test/support/channel-host.ts'
import type { TestHost } from '../../test/support/channel-host.ts'
import { fetchMedia, isPublicAddress } from './fetch-media.ts'
import type { FetchOptions } from './fetch-media.ts'

let host: TestHost
let server: Server
let port = 0
let answer: RequestListener = (_request, response) => response.end('hello')

beforeEach(async () => {
  host = testHost()
  answer = (_request, response) => response.end('hello')
  server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  port = (server.address() as AddressInfo).port
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  host.close()
})

/** In these tests 127.0.0.1 plays the public internet, and everything else is inside. */
const options = (more: Partial<FetchOptions> = {}): FetchOptions => ({
  media: host.media,
  isAllowed: (address) => address === '127.0.0.1',
  resolve: async () => ['127.0.0.1'],
  ...more,
})
const at = (path = '/file.txt', name = 'public.example'): string => `http://${name}:${port}${path}`
const kept = (): string[] => readdirSync(join(host.mediaFolder, 'inbound'))

test('a file from the web is kept like any other', async () => {
  const media = await fetchMedia(at('/notes%20of%20mine.txt'), options())
  expect(readFileSync(media.path, 'utf8')).toBe('hello')
  expect(media).toMatchObject({ name: 'notes of mine.txt', mimeType: 'text/plain', bytes: 5 })
})

describe('addresses', () => {
  const inside = [
    '127.0.0.1',
    '127.1.2.3',
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.100.100.200',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.1',
    '198.18.0.1',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b::8.8.8.8',
    'fd00:ec2::254',
    'fe80::1',
    'ff02::1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'not an address',
    '',
  ]
  test.each(inside)('%s is inside', (address) => expect(isPublicAddress(address)).toBe(false))
  test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.63.255.255', '2606:4700::1111', '2a00:1450::1'])(
    '%s is public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )
})

test('every spelling of an inside address is refused, without any request', async () => {
  let asked = 0
  answer = (_request, response) => {
    asked += 1
    response.end()
  }
  const links = [
    'http://127.0.0.1',
    'http://localhost',
    'http://localhost.',
    'http://x.localhost',
    'http://169.254.169.254/latest/meta-data',
    'http://metadata.google.internal',
    'http://100.100.100.200',
    'http://[fd00:ec2::254]',
    'http://[::ffff:127.0.0.1]',
    'http://[0:0:0:0:0:ffff:7f00:1]',
    'http://[64:ff9b::7f00:1]',
    'http://2130706433',
    'http://0x7f.1',
    'http://0177.0.0.1',
    'http://127.1',
    'http://0',
    'http://[::]',
    'http://[::1]',
    'http://10.0.0.1',
    'http://192.168.0.1',
    `http://127.0.0.1:${port}/x`,
    'file:///etc/passwd',
    'ftp://example.org/x',
    'gopher://x',
    'data:text/plain,x',
    'nonsense',
    'http://user:secret@example.org/',
  ]
  for (const link of links) {
    const outcome = fetchMedia(link, { media: host.media, resolve: async () => ['8.8.8.8'] })
    await expect(outcome, link).rejects.toMatchObject({ code: 'refused' })
  }
  expect(asked).toBe(0)
})

test('a name with one inside address among its addresses is refused', async () => {
  const resolve = async (): Promise<string[]> => ['127.0.0.1', '10.0.0.1']
  await expect(fetchMedia(at(), options({ resolve }))).rejects.toMatchObject({ code: 'refused' })
})

test('the connection goes to the address that was checked, whatever the name says later', async () => {
  let asked = 0
  const resolve = async (): Promise<string[]> => (asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1'])
  const media = await fetchMedia(at('/a.txt', 'rebind.example'), options({ resolve }))
  expect(readFileSync(media.path, 'utf8')).toBe('hello')
  expect(asked).toBe(1)
})

test('each redirect is checked, three are followed and the fourth is not', async () => {
  const follow = (hops: number): void => {
    answer = (request, response) => {
      const n = Number(request.url!.slice(1))
      if (n >= hops) return response.end('there')
      return response.writeHead(302, { location: `/${n + 1}` }).end()
    }
  }
  follow(3)
  expect((await fetchMedia(at('/0'), options())).bytes).toBe(5)
  follow(4)
  await expect(fetchMedia(at('/0'), options())).rejects.toThrow(/redirects more than 3/)
  for (const location of ['http://10.0.0.1/', 'file:///etc/passwd', 'http://localhost/', '']) {
    answer = (_request, response) => response.writeHead(302, { location }).end()
    await expect(fetchMedia(at(), options()), location).rejects.toMatchObject({ code: 'refused' })
  }
})

test('a file over the limit is cut, also when its stated size is wrong or it is compressed', async () => {
  const endless: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' })
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(1_048_576)));
    }
    response.on('drain', more)
    more()
  }
  answer = endless
  await expect(fetchMedia(at(), options())).rejects.toThrow(/larger than 25 MB/)
  const bomb = gzipSync(Buffer.alloc(200 * 1_048_576))
  answer = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
  await expect(fetchMedia(at(), options())).rejects.toThrow(/larger than 25 MB/)
  expect(kept()).toEqual([])
})

test('a slow server is cut: when it is silent, and when it never ends', async () => {
  answer = () => {}
  await expect(fetchMedia(at(), options({ silenceMs: 100 }))).rejects.toMatchObject({ code: 'timed-out' })
  answer = (_request, response) => {
    const timer = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(timer))
  }
  await expect(fetchMedia(at(), options({ totalMs: 300 }))).rejects.toMatchObject({ code: 'timed-out' })
  expect(kept()).toEqual([])
})

test('broken encodings and errors of the server are errors of the fetch, never of the process', async () => {
  answer = (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip at all')
  await expect(fetchMedia(at(), options())).rejects.toMatchObject({ code: 'unavailable' })
  answer = (_request, response) => response.writeHead(404).end()
  await expect(fetchMedia(at(), options())).rejects.toThrow(/answered 404/)
  answer = (_request, response) => response.destroy()
  await expect(fetchMedia(at(), options())).rejects.toMatchObject({ code: 'unavailable' })
})
