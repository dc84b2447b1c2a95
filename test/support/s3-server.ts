// An S3-compatible server on loopback, as far as the vault uses one. It accepts only requests whose signature is right.
import { createHmac, hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface TestS3 {
  endpoint: string
  /** By path: `/bucket/name`. */
  objects: Map<string, Buffer>
  /** Answers so many requests with 503. */
  failNext(count: number): void
  close(): Promise<void>
}

/** The example account of Amazon's documentation. */
export const testAccount = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'eu-test-1',
}

const keysAtOnce = 2

export async function startS3(): Promise<TestS3> {
  const objects = new Map<string, Buffer>()
  let failures = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const [status, body] = failures-- > 0 ? [503, ''] : answer(request, Buffer.concat(parts), objects)
    response.writeHead(status).end(body)
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    failNext: (count) => (failures = count),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function answer(
  request: IncomingMessage,
  body: Buffer,
  objects: Map<string, Buffer>,
): [status: number, body: string | Buffer] {
  if (!isSigned(request, body)) return [403, '<Error><Code>SignatureDoesNotMatch</Code></Error>']
  const url = new URL(request.url!, 'http://127.0.0.1')
  const path = decodeURIComponent(url.pathname)
  if (url.searchParams.has('list-type')) return [200, listOf(path, url.searchParams, objects)]
  if (request.method === 'PUT') objects.set(path, body)
  if (request.method === 'DELETE') objects.delete(path)
  const found = objects.get(path)
  if (request.method !== 'GET') return [200, '']
  return found ? [200, found] : [404, '<Error><Code>NoSuchKey</Code></Error>']
}

function listOf(bucket: string, query: URLSearchParams, objects: Map<string, Buffer>): string {
  const keys = [...objects.keys()]
    .filter((path) => path.startsWith(`${bucket}/${query.get('prefix')}`))
    .sort()
  const from = Number(query.get('continuation-token') ?? 0)
  const shown = keys.slice(from, from + keysAtOnce)
  const contents = shown.map(
    (path) =>
      `<Contents><Key>${path.slice(bucket.length + 1)}</Key><Size>${objects.get(path)!.length}</Size></Contents>`,
  )
  const isCut = from + keysAtOnce < keys.length
  const next = isCut ? `<NextContinuationToken>${from + keysAtOnce}</NextContinuationToken>` : ''
  return `<ListBucketResult><IsTruncated>${isCut}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`
}

/** Written from the specification, not from the client. */
function isSigned({ method, url, headers }: IncomingMessage, body: Buffer): boolean {
  const { secretAccessKey, accessKeyId, region } = testAccount
  const given =
    /Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    )
  if (!given || given[1] !== accessKeyId || given[3] !== region) return false
  if (headers['x-amz-content-sha256'] !== hash('sha256', body)) return false
  const [, , day = '', , signed = '', signature] = given
  const [path = '', query = ''] = url!.split('?')
  const canonicalHeaders = signed.split(';').map((name) => `${name}:${String(headers[name])}\n`)
  const canonical = `${method}\n${path}\n${query}\n${canonicalHeaders.join('')}\n${signed}\n${hash('sha256', body)}`
  const toSign = `AWS4-HMAC-SHA256\n${String(headers['x-amz-date'])}\n${day}/${region}/s3/aws4_request\n${hash('sha256', canonical)}`
  const mac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const key = mac(mac(mac(mac(`AWS4${secretAccessKey}`, day), region), 's3'), 'aws4_request')
  return mac(key, toSign).toString('hex') === signature
}
