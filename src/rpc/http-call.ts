// One call to a gateway over POST /rpc, for commands: node:http loads faster than fetch.
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { RockpoolError } from '../domain/errors.ts'
import { fromRpcError } from './frames.ts'
import type { RpcResponse } from './frames.ts'

interface CallTarget {
  url: string
  token: string | undefined
  /** Claude's id of the session from which the call comes. */
  session?: string
}

const answerMs = 660_000

export async function callOverHttp(
  target: CallTarget,
  method: string,
  params: Record<string, unknown>,
): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await post(target, body)
  const text = await readAll(response)
  const answer = parseAnswer(text, response.statusCode ?? 0, target.url)
  if ('error' in answer) throw fromRpcError(answer.error)
  return answer.result
}

async function post(target: CallTarget, body: string): Promise<IncomingMessage> {
  const headers = {
    ...(target.token ? { authorization: `Bearer ${target.token}` } : {}),
    ...(target.session ? { 'rockpool-session': target.session } : {}),
  }
  return postDirectly(rpcUrl(target.url), { headers, body }).catch((cause: Error) => {
    if (cause instanceof RockpoolError) throw cause
    throw new RockpoolError(
      'unavailable',
      `The gateway at ${target.url} cannot be reached: ${cause.message}.`,
      { hint: 'Start it with `rockpool up`, or check ROCKPOOL_GATEWAY_URL.', cause },
    )
  })
}

interface JsonPost {
  headers: Readonly<Record<string, string>>
  body: string
  signal?: AbortSignal
}

/** Node's own agent may go through a proxy of the environment, which would read the token. With TLS it cannot. */
export async function postDirectly(url: URL, { headers, body, signal }: JsonPost): Promise<IncomingMessage> {
  const isEncrypted = url.protocol === 'https:'
  const send = isEncrypted ? (await import('node:https')).request : request
  const options = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...headers,
    },
    agent: isEncrypted ? undefined : new Agent(),
    signal,
    timeout: answerMs,
  }
  return new Promise((resolve, reject) => {
    const call = send(url, options, resolve)
    call.on('timeout', () => call.destroy(new RockpoolError('timed-out', `${url.origin} did not answer.`)))
    call.on('error', reject)
    call.end(body)
  })
}

function rpcUrl(base: string): URL {
  let url: URL
  try {
    url = new URL(base)
  } catch (error) {
    throw new RockpoolError('usage', `${JSON.stringify(base)} is not the address of a gateway.`, {
      cause: error,
    })
  }
  url.protocol = url.protocol.replace(/^ws/, 'http')
  url.pathname = '/rpc'
  return url
}

export async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parseAnswer(text: string, status: number, url: string): RpcResponse {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && ('result' in value || 'error' in value)) {
      return value as RpcResponse
    }
  } catch {
    // Not JSON, so not a Rockpool gateway: see the error below.
  }
  throw new RockpoolError(
    'unavailable',
    `${url} answered with status ${status}, not as a Rockpool gateway.`,
    {
      hint: 'Check ROCKPOOL_GATEWAY_URL, or unset it to use the gateway of this state directory.',
    },
  )
}
