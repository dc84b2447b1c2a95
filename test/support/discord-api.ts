// Discord on loopback: its REST API and its gateway (HELLO, IDENTIFY, READY, heartbeats, RESUME with replay), with
// faults on demand. The real discord.js talks to it.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'

export type DiscordFault =
  | { kind: 'too-many'; retryAfter: number }
  | { kind: 'error'; status: number; code?: number; message?: string }
  | { kind: 'cut-before' }
  | { kind: 'cut-after' }

export interface DiscordChannelRow {
  id: string
  /** 0 a text channel, 1 a direct chat, 11 a thread. */
  type: number
  guild_id?: string
  parent_id?: string
  name?: string
  /** Who is in a direct chat. */
  recipients?: Array<{ id: string }>
}

export interface DiscordRow {
  id: string
  channel_id: string
  author: { id: string; username: string; bot?: boolean; global_name?: string }
  content: string
  timestamp: string
  edited_timestamp: string | null
  mentions: Array<{ id: string }>
  attachments: Array<{ id: string; url: string; filename: string; content_type?: string; size: number }>
  components: Array<{ components: Array<{ label: string; custom_id: string }> }>
  message_reference?: { type?: number; message_id: string }
  referenced_message?: DiscordRow
  nonce?: string
  files: Array<{ name: string; bytes: Buffer }>
  [more: string]: unknown
}

export interface RegisteredCommand {
  name: string
  description: string
  options: Array<{ name: string; type: number; required: boolean }>
}

/** What Discord stores for one connection, so that another one can resume it. */
interface Session {
  id: string
  client: WebSocket | undefined
  log: Sent[]
}

interface Sent {
  op: number
  d: unknown
  s?: number
  t?: string
}

const epoch = 1_420_070_400_000

export class DiscordApi {
  /** Another one each time: a bot has one receiver on the machine, and several tests run at once. */
  readonly token = `MTIzNDU2.discord.${randomUUID()}`
  readonly bot = { id: '9000', username: 'rockpool', bot: true }
  readonly channels = new Map<string, DiscordChannelRow>()
  readonly messages: DiscordRow[] = []
  /** The members of the servers that have a nickname or roles there, by the id of the person. */
  readonly members = new Map<string, { nick?: string; roles: string[] }>()
  readonly callbacks: Array<{ id: string; type: number }> = []
  readonly followUps: string[] = []
  readonly identified: number[] = []
  resumes = 0
  typings = 0
  /** The commands that the application offers after a slash. */
  commands: RegisteredCommand[] = []
  /** The number of requests for the channel of a private chat. */
  directsOpened = 0
  /** Resuming works; off makes every session invalid, as after a long absence. */
  remembers = true
  /** What is written is not sent to any client. */
  isHolding = false
  /** Close code for the next IDENTIFY. */
  closeWith: number | undefined
  root = ''
  #server: Server
  #gateway: WebSocketServer
  #sockets = new Set<Socket>()
  #sessions = new Map<string, Session>()
  #faults: Array<{ route: string; fault: DiscordFault; times: number }> = []
  #files = new Map<string, Buffer>()
  #next = 0

  static async listen(): Promise<DiscordApi> {
    const api = new DiscordApi()
    await api.open()
    return api
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    this.#gateway = new WebSocketServer({ server: this.#server, path: '/gateway' })
    this.#gateway.on('connection', (client) => this.#greet(client))
    // The HTTP server's own errors are reported where it listens.
    this.#gateway.on('error', () => {})
  }

  async open(): Promise<void> {
    const port = this.root ? Number(new URL(this.root).port) : 0
    this.#server.listen(port, '127.0.0.1')
    await new Promise((resolve, reject) => this.#server.once('listening', resolve).once('error', reject))
    this.root = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api`
  }

  async close(): Promise<void> {
    this.cutAll()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  cutAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  fault(route: string, fault: DiscordFault, times = 1): void {
    this.#faults.push({ route, fault, times })
  }

  clearFaults(): void {
    this.#faults.length = 0
  }

  newId(): string {
    return String((BigInt(Date.now() - epoch) << 22n) | BigInt(this.#next++ & 0x3fffff))
  }

  addFile(name: string, bytes: Buffer): string {
    const path = `/files/${this.#next++}/${encodeURIComponent(name)}`
    this.#files.set(path, bytes)
    return new URL(path, this.root).href
  }

  /** Sends an event to every connected client, and stores it for those that resume. */
  dispatch(t: string, d: unknown): void {
    for (const session of this.#sessions.values()) tellOf(session, t, d)
  }

  /** A person writes; the message is in the channel's history and goes out to the gateway. */
  write(row: Partial<DiscordRow> & Pick<DiscordRow, 'channel_id' | 'author' | 'content'>): DiscordRow {
    const message: DiscordRow = {
      id: this.newId(),
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      mentions: [],
      attachments: [],
      components: [],
      files: [],
      ...row,
    }
    this.messages.push(message)
    if (!this.isHolding) this.tell(message)
    return message
  }

  /** Tells those who are connected of a message. The history of a channel has no `member`. */
  tell(message: DiscordRow): void {
    const guild_id = this.channels.get(message.channel_id)?.guild_id
    const member = this.members.get(message.author.id)
    this.dispatch('MESSAGE_CREATE', { ...message, ...(guild_id ? { guild_id, member } : {}) })
  }

  /** As after some minutes. */
  forgetNonces(): void {
    for (const message of this.messages) delete message.nonce
  }

  ours(): DiscordRow[] {
    return this.messages.filter((message) => message.author.id === this.bot.id)
  }

  #greet(client: WebSocket): void {
    client.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 45_000 } }))
    client.on('close', (code) => this.#left(client, code))
    client.on('error', () => this.#left(client))
    client.on('message', (data: Buffer) => {
      const { op, d } = JSON.parse(data.toString()) as { op: number; d: Record<string, unknown> }
      if (op === 1) client.send(JSON.stringify({ op: 11 }))
      if (op === 2) this.#identify(client, d)
      if (op === 6) this.#resume(client, d)
    })
  }

  #identify(client: WebSocket, d: Record<string, unknown>): void {
    this.identified.push(Number(d['intents']))
    if (this.closeWith !== undefined) return client.close(this.closeWith)
    if (d['token'] !== this.token) return client.close(4_004)
    const session: Session = { id: randomUUID(), client, log: [] }
    this.#sessions.set(session.id, session)
    const guilds = this.#guilds()
    tellOf(session, 'READY', {
      v: 10,
      user: this.bot,
      session_id: session.id,
      resume_gateway_url: this.#gatewayUrl(),
      application: { id: '4001' },
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
    })
    for (const guild of guilds) tellOf(session, 'GUILD_CREATE', guild)
  }

  /** A session outlives its connection, unless it was closed in a way that ends it. */
  #left(client: WebSocket, code?: number): void {
    for (const session of this.#sessions.values()) {
      if (session.client !== client) continue
      session.client = undefined
      if (code === 1_000 || code === 1_001) this.#sessions.delete(session.id)
    }
  }

  /** The servers that the bot is in, each with its channels and how far those are. */
  #guilds(): Array<{ id: string; channels: object[]; threads: object[] }> {
    const rows = [...this.channels.values()].filter(({ guild_id }) => guild_id !== undefined)
    const described = rows.map((row) => ({
      ...row,
      last_message_id: this.messages.findLast(({ channel_id }) => channel_id === row.id)?.id ?? null,
    }))
    return [...Map.groupBy(described, ({ guild_id }) => guild_id!)].map(([id, channels]) => ({
      id,
      channels: channels.filter(({ type }) => type !== 11),
      threads: channels.filter(({ type }) => type === 11),
    }))
  }

  #resume(client: WebSocket, d: Record<string, unknown>): void {
    const session = this.#sessions.get(String(d['session_id']))
    if (!this.remembers || !session || d['token'] !== this.token) {
      return client.send(JSON.stringify({ op: 9, d: false }))
    }
    this.resumes += 1
    session.client = client
    for (const sent of session.log.slice(Number(d['seq']))) client.send(JSON.stringify(sent))
    tellOf(session, 'RESUMED', {})
  }

  #gatewayUrl(): string {
    return `${this.root.replace(/^http/, 'ws').replace(/\/api$/, '')}/gateway`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.root)
    const file = this.#files.get(url.pathname)
    if (file) return void response.writeHead(200).end(file)
    const path = url.pathname.replace(/^\/api\/v10/, '')
    const body = await readBody(request)
    const open = /^\/(interactions|webhooks)\//.test(path)
    if (!open && request.headers.authorization !== `Bot ${this.token}`) {
      return send(response, 401, { message: '401: Unauthorized', code: 0 })
    }
    const route = `${request.method} ${path.replace(/\d{3,}/g, ':id')}`
    const fault = this.#takeFault(route)
    if (fault && fault.kind !== 'cut-after') return inject(fault, response)
    const [status, result] = this.#perform(request.method ?? 'GET', path, url.searchParams, body)
    if (fault?.kind === 'cut-after') return void response.socket?.destroy()
    return send(response, status, result)
  }

  #takeFault(route: string): DiscordFault | undefined {
    const planned = this.#faults.find((one) => one.times > 0 && one.route === route)
    if (planned) planned.times -= 1
    return planned?.fault
  }

  #perform(method: string, path: string, query: URLSearchParams, body: Body): [number, unknown] {
    const parts = path.split('/').filter(Boolean)
    if (path === '/gateway/bot') {
      const limit = { total: 1_000, remaining: 999, reset_after: 1, max_concurrency: 1 }
      return [200, { url: this.#gatewayUrl(), shards: 1, session_start_limit: limit }]
    }
    if (path === '/users/@me') return [200, this.bot]
    if (path === '/users/@me/channels') return [200, this.#directWith(String(body.json['recipient_id']))]
    if (path === '/applications/4001/commands' && method === 'PUT') {
      this.commands = body.json as unknown as RegisteredCommand[]
      return [200, this.commands]
    }
    if (parts[0] === 'interactions') {
      this.callbacks.push({ id: parts[1]!, type: Number(body.json['type']) })
      return [204, undefined]
    }
    if (parts[0] === 'webhooks') {
      this.followUps.push(String(body.json['content']))
      return [200, {}]
    }
    if (parts[0] === 'guilds' && parts[2] === 'members') {
      const member = this.members.get(parts[3]!)
      return member ? [200, member] : [404, { message: 'Unknown Member', code: 10_007 }]
    }
    const channel = parts[0] === 'channels' ? this.channels.get(parts[1]!) : undefined
    if (!channel) return [404, { message: 'Unknown Channel', code: 10_003 }]
    if (parts.length === 2) return [200, channel]
    if (parts[2] === 'typing') return [204, void (this.typings += 1)]
    if (method === 'GET') return [200, this.#history(channel.id, query)]
    if (method === 'PATCH') return this.#edit(parts[3]!, body)
    return this.#create(channel.id, body)
  }

  #directWith(userId: string): DiscordChannelRow {
    const isWithThem = (one: DiscordChannelRow): boolean => one.recipients?.[0]?.id === userId
    const known = [...this.channels.values()].find(isWithThem)
    const channel = known ?? { id: `7${userId}`, type: 1, recipients: [{ id: userId }] }
    this.channels.set(channel.id, channel)
    this.directsOpened += 1
    return channel
  }

  /** Newest first, as Discord gives it. */
  #history(channelId: string, query: URLSearchParams): DiscordRow[] {
    const after = BigInt(query.get('after') ?? '0')
    const found = this.messages.filter((one) => one.channel_id === channelId && BigInt(one.id) > after)
    return found.slice(0, Number(query.get('limit') ?? 50)).reverse()
  }

  #create(channelId: string, body: Body): [number, unknown] {
    const { json, files } = body
    const content = typeof json['content'] === 'string' ? json['content'] : ''
    if (content.length > 2_000) return [400, { message: 'Invalid Form Body', code: 50_035 }]
    if (content === '' && files.length === 0)
      return [400, { message: 'Cannot send an empty message', code: 50_006 }]
    const nonce = json['nonce'] as string | undefined
    const known = json['enforce_nonce']
      ? this.messages.find((one) => nonce && one.nonce === nonce)
      : undefined
    if (known) return [200, known]
    const reference = json['message_reference'] as { message_id: string } | undefined
    const row: DiscordRow = {
      id: this.newId(),
      channel_id: channelId,
      author: this.bot,
      content,
      timestamp: new Date().toISOString(),
      edited_timestamp: null,
      mentions: [],
      attachments: [],
      components: (json['components'] ?? []) as DiscordRow['components'],
      files,
      ...(nonce ? { nonce } : {}),
      ...(reference ? { message_reference: reference } : {}),
    }
    this.messages.push(row)
    // Discord tells a bot also of its own messages.
    this.dispatch('MESSAGE_CREATE', row)
    return [200, row]
  }

  #edit(id: string, body: Body): [number, unknown] {
    const row = this.messages.find((one) => one.id === id && one.author.id === this.bot.id)
    if (!row) return [404, { message: 'Unknown Message', code: 10_008 }]
    row.content = String(body.json['content'])
    row.components = (body.json['components'] ?? []) as DiscordRow['components']
    return [200, row]
  }
}

/** The next event of a session: stored, and sent to every connected client. */
function tellOf({ log, client }: Session, t: string, d: unknown): void {
  const sent: Sent = { op: 0, t, d, s: log.length + 1 }
  log.push(sent)
  client?.send(JSON.stringify(sent))
}

interface Body {
  json: Record<string, unknown>
  files: Array<{ name: string; bytes: Buffer }>
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  if (bytes.length === 0) return { json: {}, files: [] }
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/')) return { json: JSON.parse(bytes.toString()) as Body['json'], files: [] }
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData()
  const files: Body['files'] = []
  for (const part of form.values()) {
    if (part instanceof File) files.push({ name: part.name, bytes: Buffer.from(await part.arrayBuffer()) })
  }
  const payload = form.get('payload_json')
  return { json: typeof payload === 'string' ? (JSON.parse(payload) as Body['json']) : {}, files }
}

function inject(fault: DiscordFault, response: ServerResponse): void {
  if (fault.kind === 'too-many') {
    response.setHeader('retry-after', String(fault.retryAfter))
    return send(response, 429, {
      message: 'You are being rate limited.',
      retry_after: fault.retryAfter,
      global: false,
    })
  }
  if (fault.kind === 'error') {
    return send(response, fault.status, {
      message: fault.message ?? 'Something broke',
      code: fault.code ?? 0,
    })
  }
  response.socket?.destroy()
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(body === undefined ? undefined : JSON.stringify(body))
}
