// A gateway in this process, on a temporary state directory and a free port, and ways to talk to it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { openApp } from '../../src/app.ts'
import { startGateway } from '../../src/gateway/server.ts'
import type { Gateway, GatewayLimits } from '../../src/gateway/server.ts'
import type { App } from '../../src/operations/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { readGatewayToken } from '../../src/store/gateway-tokens.ts'

export interface House {
  dir: string
  app: App
  gateway: Gateway
  token: string
  close(): Promise<void>
}

export interface HouseOptions {
  config?: Record<string, unknown>
  limits?: Partial<GatewayLimits>
  before?(dir: string): void
  webRoot?: string
  /** Another address than 127.0.0.1, to listen on. */
  bind?: string
  /** Its conversations then have channels, and send what is in the outbox. */
  withChannels?: boolean
}

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-gateway-'))
  if (options.config) writeFileSync(join(dir, 'rockpool.json'), JSON.stringify(options.config))
  options.before?.(dir)
  const app = await openApp(readEnvironment({ HOME: dir, ROCKPOOL_STATE_DIR: dir }), {
    version: '0.0.0-test',
    isGateway: options.withChannels,
  })
  const { limits, webRoot } = options
  const gateway = await startGateway(app, {
    port: 0,
    bind: options.bind ?? '127.0.0.1',
    allowPlaintextLan: options.bind !== undefined,
    limits,
    webRoot,
  })
  app.gateway = { url: gateway.url, loginCode: (isForPage) => gateway.auth.makeCode(isForPage) }
  return {
    dir,
    app,
    gateway,
    token: readGatewayToken(dir)!,
    async close() {
      await gateway.close(1000)
      await app.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: string
  json(): { [field: string]: unknown }
}

/** One request with exactly these headers; `host` may lie. */
export function http(
  house: House,
  path: string,
  options: {
    method?: string
    headers?: Record<string, string | string[]>
    body?: string
    token?: string
  } = {},
): Promise<HttpAnswer> {
  const { method = 'GET', body, token } = options
  const headers = { ...(token ? { authorization: `Bearer ${token}` } : {}), ...options.headers }
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port: house.gateway.port, path, method, headers, agent: false })
    call.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: text,
          json: () => JSON.parse(text) as { [field: string]: unknown },
        }),
      )
      response.on('error', reject)
    })
    call.on('error', reject)
    call.end(body)
  })
}

interface RpcAnswer {
  result?: unknown
  error?: { code: number; message: string; data?: { code: string; retryable: boolean } }
}

export async function rpc(
  house: House,
  method: string,
  params: object = {},
  token = house.token,
): Promise<RpcAnswer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await http(house, '/rpc', { method: 'POST', body, token })).json()
}

/** A plain WebSocket client: sends frames, and waits for them. */
export class Client {
  readonly socket: WebSocket
  readonly frames: Array<Record<string, unknown>> = []
  #waiting: Array<() => void> = []
  #next = 1
  closed: Promise<{ code: number; reason: string }>

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data: Buffer) => {
      this.frames.push(JSON.parse(data.toString('utf8')) as Record<string, unknown>)
      for (const wake of this.#waiting.splice(0)) wake()
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) =>
      socket.on('close', (code, reason) => {
        for (const wake of this.#waiting.splice(0)) wake()
        resolve({ code, reason: reason.toString() })
      }),
    )
  }

  async call(method: string, params: object = {}): Promise<RpcAnswer> {
    const id = this.#next++
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return await this.frame((frame) => frame['id'] === id)
  }

  async frame(wanted: (frame: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.frames.find(wanted)
      if (found) return found
      if (this.socket.readyState === this.socket.CLOSED) throw new Error('closed before the frame came')
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
}

/** Resolves when the socket is open; rejects with the HTTP status when the handshake is refused. */
export function connect(house: House, headers: Record<string, string> = {}, path = '/ws'): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${house.gateway.port}${path}`, { headers })
  return new Promise((resolve, reject) => {
    const client = new Client(socket)
    socket.on('open', () => resolve(client))
    socket.on('unexpected-response', (_request, response) => {
      response.resume()
      reject(new Error(`status ${response.statusCode}`))
    })
    socket.on('error', reject)
  })
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}
