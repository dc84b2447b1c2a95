// Objects on an S3-compatible server. Four requests are all that the vault needs, so they are signed here (AWS Signature Version
// 4) instead of by a library of some megabytes.
import { createHmac, hash } from 'node:crypto'
import { sleep } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError, errorText } from '../../domain/errors.ts'
import type { ObjectEntry, ObjectStore, ObjectStoreParts } from './object-store.ts'

interface S3Account {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  region: string
}

interface Bucket {
  /** Scheme, host and port. */
  endpoint: string
  name: string
  /** Ends with `/`, or is empty. */
  prefix: string
}

interface S3Request {
  method: 'GET' | 'PUT' | 'DELETE'
  name?: string
  query?: Record<string, string>
  body?: Buffer
}

const requestMs = 60_000
const attempts = 4
const firstPauseMs = 500

export function s3Objects(address: string, { environment, clock }: ObjectStoreParts): ObjectStore {
  const { s3 } = environment
  if (s3.accessKeyId === undefined || s3.secretAccessKey === undefined)
    throw new RockpoolError('config-invalid', `There are no credentials for ${address}.`, {
      hint: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL_S3 if the server is not Amazon.',
    })
  const { accessKeyId, secretAccessKey, sessionToken, region = 'us-east-1' } = s3
  const { hostname: name, pathname } = new URL(address)
  const endpoint = (s3.endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '')
  const prefix = pathname.replaceAll(/^\/+|\/+$/g, '')
  const bucket = { endpoint, name, prefix: prefix === '' ? '' : `${prefix}/` }
  return new S3Objects(bucket, { accessKeyId, secretAccessKey, sessionToken, region }, clock)
}

class S3Objects implements ObjectStore {
  readonly #bucket: Bucket
  readonly #account: S3Account
  readonly #clock: Clock

  constructor(bucket: Bucket, account: S3Account, clock: Clock) {
    this.#bucket = bucket
    this.#account = account
    this.#clock = clock
  }

  async list(prefix: string): Promise<ObjectEntry[]> {
    const found: ObjectEntry[] = []
    const own = this.#bucket.prefix
    for (let token: string | undefined = ''; token !== undefined;) {
      const query: Record<string, string> = { 'list-type': '2', prefix: own + prefix }
      if (token !== '') query['continuation-token'] = token
      const text = (await this.#send({ method: 'GET', query })).toString('utf8')
      for (const [, content = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs))
        found.push({ name: textIn(content, 'Key').slice(own.length), bytes: Number(textIn(content, 'Size')) })
      token = textIn(text, 'IsTruncated') === 'true' ? textIn(text, 'NextContinuationToken') : undefined
    }
    return found
  }

  get(name: string): Promise<Buffer> {
    return this.#send({ method: 'GET', name })
  }

  async put(name: string, body: Buffer): Promise<void> {
    await this.#send({ method: 'PUT', name, body })
  }

  async remove(name: string): Promise<void> {
    await this.#send({ method: 'DELETE', name })
  }

  async close(): Promise<void> {}

  /** All four requests have the same effect when they run twice, so a failure that may pass is tried again. */
  async #send(request: S3Request): Promise<Buffer> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#sendOnce(request)
      if (Buffer.isBuffer(outcome)) return outcome
      if (outcome.code !== 'unavailable' || attempt === attempts) throw outcome
      await sleep(this.#clock, firstPauseMs * 2 ** (attempt - 1))
    }
  }

  async #sendOnce(request: S3Request): Promise<Buffer | RockpoolError> {
    const { endpoint, name: bucket, prefix } = this.#bucket
    const path = request.name === undefined ? `/${bucket}` : `/${bucket}/${prefix}${request.name}`
    const url = new URL(endpoint + encodePath(path))
    url.search = queryText(request.query ?? {})
    const headers = signedHeaders({ ...request, url }, this.#account, new Date(this.#clock.now()))
    try {
      const { method, body } = request
      const signal = AbortSignal.timeout(requestMs)
      const answer = await fetch(url, { method, headers, body: body && new Uint8Array(body), signal })
      const bytes = Buffer.from(await answer.arrayBuffer())
      return answer.ok ? bytes : refusal(request, url, answer.status, bytes.toString('utf8'))
    } catch (error) {
      const reason = errorText(error instanceof Error && error.cause ? error.cause : error)
      return new RockpoolError('unavailable', `${url.host} cannot be reached: ${reason}.`, { cause: error })
    }
  }
}

function refusal({ method, name }: S3Request, url: URL, status: number, body: string): RockpoolError {
  const reason = textIn(body, 'Code') || String(status)
  const what = `${url.host} refused ${method} ${name ?? 'a list'}: ${reason}.`
  if (status >= 500 || status === 429) return new RockpoolError('unavailable', what)
  if (status === 404) return new RockpoolError('not-found', what)
  return new RockpoolError('refused', what, {
    hint: 'Check vault.shared, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the clock of this machine.',
  })
}

/** Names in the vault have no letters that XML escapes. */
function textIn(xml: string, tag: string): string {
  return new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1]?.replaceAll('&amp;', '&') ?? ''
}

interface ToSign {
  method: string
  url: URL
  body?: Buffer
}

/** The headers of a request with its signature. */
export function signedHeaders(
  { method, url, body }: ToSign,
  { accessKeyId, secretAccessKey, sessionToken, region }: S3Account,
  at: Date,
): Record<string, string> {
  const time = `${at.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
  const day = time.slice(0, 8)
  const bodyHash = hash('sha256', body ?? '')
  const headers: Record<string, string> = {
    host: url.host,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
  }
  if (sessionToken !== undefined) headers['x-amz-security-token'] = sessionToken
  const names = Object.keys(headers).sort()
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('')
  const request = [method, url.pathname, url.search.slice(1), lines, names.join(';'), bodyHash].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', request)].join('\n')
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secretAccessKey}`))
  const signature = hmac(key, toSign).toString('hex')
  const { host: _, ...sent } = headers
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** S3 signs every character except letters, digits and `-_.~` as `%XX`. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function encodePath(path: string): string {
  return path.split('/').map(encode).join('/')
}

function queryText(query: Record<string, string>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encode(name)}=${encode(query[name]!)}`)
    .join('&')
}
