// A Telegram Bot API on loopback: long polling and webhook, files, Telegram's own rules about text, and faults on
// demand. It speaks what Telegram documents; the real grammY talks to it.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Message, MessageEntity, Update, User } from 'grammy/types'

export type TelegramFault =
  /** 429 with `retry_after`. */
  | { kind: 'too-many'; retryAfter: number }
  | { kind: 'error'; code: number; description?: string }
  /** An answer of a proxy in front of Telegram: no JSON. */
  | { kind: 'html'; code: number }
  /** The connection is cut before the call does anything, or after it has been done. */
  | { kind: 'cut-before' }
  | { kind: 'cut-after' }
  /** The call has been done; its answer comes later. */
  | { kind: 'late'; until: Promise<void> }

interface PlannedFault {
  method: string
  times: number
  /** How many calls go well before. */
  after: number
  fault: TelegramFault
}

/** What a person sees in a chat. */
export interface ShownMessage {
  id: number
  chat: number
  thread?: number
  text: string
  /** The kinds of formatting in it: bold, pre, text_link … */
  formats: string[]
  replyTo?: number
  buttons: Array<Array<{ text: string; data: string }>>
  file?: { method: string; name: string; bytes: Buffer }
  edited: boolean
}

export interface ApiCall {
  method: string
  params: Record<string, unknown>
  at: number
}

const visibleLimit = 4_096

export class TelegramApi {
  /** Another one each time: a bot has one receiver on the machine, and several tests run at once. */
  readonly token = `123456789:AAtest-${randomUUID()}`
  readonly bot: User & { username: string } = {
    id: 123456789,
    is_bot: true,
    first_name: 'Rock',
    username: 'rock_pool_bot',
  }
  readonly shown: ShownMessage[] = []
  readonly calls: ApiCall[] = []
  readonly acknowledged: Array<{ id: string; text?: string }> = []
  /** Updates that wait for confirmation. */
  pending: Update[] = []
  webhook: { url: string; secret: string } | undefined
  /** Faults by chance, beside the planned ones. */
  randomFault: ((method: string, params: Record<string, unknown>) => TelegramFault | undefined) | undefined
  root = ''
  #server: Server
  #sockets = new Set<Socket>()
  #faults: PlannedFault[] = []
  #files = new Map<string, Buffer>()
  #nextUpdate = 1_000
  #givenOut = 0
  #nextMessage = 1
  #waiting: { wake: () => void; replace: () => void } | undefined

  static async listen(): Promise<TelegramApi> {
    const api = new TelegramApi()
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
  }

  async open(): Promise<void> {
    const port = this.root ? Number(new URL(this.root).port) : 0
    this.#server.listen(port, '127.0.0.1')
    await new Promise((resolve, reject) => this.#server.once('listening', resolve).once('error', reject))
    this.root = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Stops listening; `open` listens at the same address again. */
  async close(): Promise<void> {
    this.cutAll()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  cutAll(): void {
    this.#waiting?.wake()
    for (const socket of this.#sockets) socket.destroy()
  }

  fault(method: string, fault: TelegramFault, times = 1, after = 0): void {
    this.#faults.push({ method, fault, times, after })
  }

  clearFaults(): void {
    this.#faults = []
  }

  nextMessageId(): number {
    return this.#nextMessage++
  }

  /** Puts an update out, as Telegram would: kept until it is confirmed, or pushed to the webhook. */
  emit(body: object, options: { updateId?: number } = {}): Update {
    const update: Update = { update_id: options.updateId ?? this.#nextUpdate++, ...body }
    this.pending.push(update)
    this.#waiting?.wake()
    return update
  }

  /** What has not been given out yet comes in another order; each chat keeps its own. */
  shuffleAcrossChats(random: () => number): void {
    const fresh = this.pending.filter((update) => update.update_id > this.#givenOut)
    const chats = Map.groupBy(fresh, (update) => update.message?.chat.id ?? 0)
    const shuffled: Update[] = []
    while (chats.size > 0) {
      const names = [...chats.keys()]
      const name = names[Math.floor(random() * names.length)]!
      shuffled.push(chats.get(name)!.shift()!)
      if (chats.get(name)!.length === 0) chats.delete(name)
    }
    // Telegram numbers updates as it gives them out, so their numbers stay in order.
    const numbers = fresh.map((update) => update.update_id)
    const old = this.pending.filter((update) => update.update_id <= this.#givenOut)
    this.pending = [...old, ...shuffled.map((update, n) => ({ ...update, update_id: numbers[n]! }))]
  }

  addFile(path: string, bytes: Buffer): string {
    const id = `file-${this.#files.size + 1}`
    this.#files.set(id, bytes)
    this.#files.set(path, bytes)
    this.#paths.set(id, path)
    return id
  }
  #paths = new Map<string, string>()

  lastShown(): ShownMessage | undefined {
    return this.shown.at(-1)
  }

  callsOf(method: string): ApiCall[] {
    return this.calls.filter((call) => call.method === method)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', this.root).pathname
    const file = /^\/file\/bot([^/]+)\/(.+)$/.exec(path)
    if (file) return this.#serveFile(response, file[1]!, file[2]!)
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
    const params = await readParams(request)
    if (token !== this.token) return send(response, 401, failure(401, 'Unauthorized'))
    this.calls.push({ method, params, at: Date.now() })
    const fault = this.#takeFault(method) ?? this.randomFault?.(method, params)
    if (fault && this.#injectBefore(fault, response)) return undefined
    const result = await this.#perform(method, params, response)
    if (fault?.kind === 'cut-after') return void response.socket?.destroy()
    if (fault?.kind === 'late') await fault.until
    return result.ok ? send(response, 200, result) : send(response, result.error_code, result)
  }

  #takeFault(method: string): TelegramFault | undefined {
    const planned = this.#faults.find((one) => one.times > 0 && one.method === method)
    if (!planned) return undefined
    if (planned.after > 0) return void (planned.after -= 1)
    planned.times -= 1
    return planned.fault
  }

  #injectBefore(fault: TelegramFault, response: ServerResponse): boolean {
    if (fault.kind === 'cut-before') response.socket?.destroy()
    else if (fault.kind === 'too-many') send(response, 429, tooMany(fault.retryAfter))
    else if (fault.kind === 'error')
      send(response, fault.code, failure(fault.code, fault.description ?? 'Internal Server Error'))
    else if (fault.kind === 'html')
      response.writeHead(fault.code, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>')
    else return false
    return true
  }

  async #perform(
    method: string,
    params: Record<string, unknown>,
    response: ServerResponse,
  ): Promise<ApiResult> {
    if (method === 'getMe') return success(this.bot)
    if (method === 'getUpdates') return this.#getUpdates(params, response)
    if (method === 'deleteWebhook') return success(((this.webhook = undefined), true))
    if (method === 'setWebhook') return this.#setWebhook(params)
    if (method === 'sendChatAction' || method === 'setMyCommands') return success(true)
    if (method === 'getFile') return this.#getFile(String(params['file_id']))
    if (method === 'editMessageText') return this.#edit(params)
    if (method === 'answerCallbackQuery') {
      const text = params['text'] as string | undefined
      this.acknowledged.push({ id: String(params['callback_query_id']), ...(text ? { text } : {}) })
      return success(true)
    }
    if (method === 'sendMessage') return this.#show(params)
    if (/^send(Photo|Document|Audio|Voice|Video)$/.test(method)) return this.#show(params, method)
    return failure(404, 'Not Found: method not found')
  }

  async #getUpdates(params: Record<string, unknown>, response: ServerResponse): Promise<ApiResult> {
    if (this.webhook) {
      return failure(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook")
    }
    const offset = Number(params['offset'] ?? 0)
    if (offset > 0) this.pending = this.pending.filter((update) => update.update_id >= offset)
    this.#waiting?.replace()
    const poll = { replaced: false }
    const deadline = Date.now() + Number(params['timeout'] ?? 0) * 1_000
    while (this.pending.length === 0 && !poll.replaced && !response.destroyed && Date.now() < deadline) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - Date.now())
        const wake = (): void => (clearTimeout(timer), resolve())
        this.#waiting = { wake, replace: () => ((poll.replaced = true), wake()) }
        response.once('close', wake)
      })
    }
    if (poll.replaced) return failure(409, 'Conflict: terminated by other getUpdates request')
    this.#waiting = undefined
    const given = this.pending.slice(0, Number(params['limit'] ?? 100))
    this.#givenOut = Math.max(this.#givenOut, given.at(-1)?.update_id ?? 0)
    return success(given)
  }

  #setWebhook(params: Record<string, unknown>): ApiResult {
    this.webhook = { url: String(params['url']), secret: words(params['secret_token']) }
    return success(true)
  }

  /** Delivers what is pending to a webhook that listens at `url`; what is not answered with 200 stays pending. */
  async push(url: string, headers: Record<string, string> = {}): Promise<number[]> {
    const statuses: number[] = []
    const due = this.pending
    for (const update of due) {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-telegram-bot-api-secret-token': this.webhook?.secret ?? '',
          ...headers,
        },
        body: JSON.stringify(update),
      })
      statuses.push(response.status)
      if (response.status === 200) this.pending = this.pending.filter((one) => one !== update)
    }
    return statuses
  }

  #getFile(id: string): ApiResult {
    const bytes = this.#files.get(id)
    if (!bytes) return failure(400, 'Bad Request: invalid file_id')
    if (bytes.length > 20_000_000) return failure(400, 'Bad Request: file is too big')
    return success({
      file_id: id,
      file_unique_id: id,
      file_size: bytes.length,
      file_path: this.#paths.get(id),
    })
  }

  #serveFile(response: ServerResponse, token: string, path: string): void {
    const bytes = token === this.token ? this.#files.get(path) : undefined
    if (!bytes) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes)
  }

  #show(params: Record<string, unknown>, method?: string): ApiResult {
    const file = method ? (params[method.slice(4).toLowerCase()] as UploadedFile) : undefined
    const text = readText(words(params[file ? 'caption' : 'text']), params['parse_mode'])
    if (typeof text === 'string') return failure(400, text)
    if (!file && text.text === '') return failure(400, 'Bad Request: message text is empty')
    const markup = asObject(params['reply_markup'])
    const badButton = buttonsOf(markup)
      .flat()
      .find((button) => Buffer.byteLength(button.data) > 64)
    if (badButton) return failure(400, 'Bad Request: BUTTON_DATA_INVALID')
    const replyTo = asObject(params['reply_parameters'])?.['message_id']
    const thread = params['message_thread_id']
    const shown: ShownMessage = {
      id: this.nextMessageId(),
      chat: Number(params['chat_id']),
      text: text.text,
      formats: text.formats,
      buttons: buttonsOf(markup),
      edited: false,
      ...(thread === undefined ? {} : { thread: Number(thread) }),
      ...(replyTo === undefined ? {} : { replyTo: Number(replyTo) }),
      ...(file ? { file: { method: method!, name: file.name, bytes: file.bytes } } : {}),
    }
    this.shown.push(shown)
    return success({
      message_id: shown.id,
      date: now(),
      chat: { id: shown.chat, type: 'private' },
      text: shown.text,
    })
  }

  #edit(params: Record<string, unknown>): ApiResult {
    const shown = this.shown.find((one) => one.id === Number(params['message_id']))
    if (!shown) return failure(400, 'Bad Request: message to edit not found')
    const text = readText(String(params['text']), params['parse_mode'])
    if (typeof text === 'string') return failure(400, text)
    const buttons = buttonsOf(asObject(params['reply_markup']))
    if (shown.text === text.text && JSON.stringify(buttons) === JSON.stringify(shown.buttons)) {
      return failure(400, 'Bad Request: message is not modified: specified new message content is the same')
    }
    Object.assign(shown, { text: text.text, formats: text.formats, buttons, edited: true })
    return success(true)
  }
}

/** A message as a person writes it. */
export function personMessage(
  api: TelegramApi,
  from: { id: number; name: string; username?: string },
  chat: { id: number; title?: string; forum?: boolean },
  text: string,
  more: object = {},
): Message {
  const isGroup = chat.id < 0
  const message = {
    message_id: api.nextMessageId(),
    date: now(),
    from: {
      id: from.id,
      is_bot: false,
      first_name: from.name,
      ...(from.username ? { username: from.username } : {}),
    },
    chat: isGroup
      ? {
          id: chat.id,
          type: 'supergroup' as const,
          title: chat.title ?? 'A group',
          ...(chat.forum ? { is_forum: true as const } : {}),
        }
      : { id: chat.id, type: 'private' as const, first_name: from.name },
    ...(text === '' ? {} : { text, entities: entitiesIn(text) }),
    ...more,
  }
  return message
}

function entitiesIn(text: string): MessageEntity[] {
  const found: MessageEntity[] = []
  for (const match of text.matchAll(/(^|\s)(\/\w+(?:@\w+)?)|(@\w+)/g)) {
    const word = match[2] ?? match[3]!
    const offset = match.index + match[0].indexOf(word)
    found.push({ type: match[2] ? 'bot_command' : 'mention', offset, length: word.length })
  }
  return found
}

type ApiResult =
  | { ok: true; result: unknown }
  | { ok: false; error_code: number; description: string; parameters?: { retry_after?: number } }

interface UploadedFile {
  name: string
  bytes: Buffer
}

function words(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function success(result: unknown): ApiResult {
  return { ok: true, result }
}

function failure(error_code: number, description: string): ApiResult & { ok: false } {
  return { ok: false, error_code, description }
}

function tooMany(retryAfter: number): ApiResult {
  return {
    ...failure(429, `Too Many Requests: retry after ${retryAfter}`),
    parameters: { retry_after: retryAfter },
  }
}

function send(response: ServerResponse, status: number, body: ApiResult): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function readParams(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  if (body.length === 0) return {}
  const type = request.headers['content-type'] ?? ''
  if (type.startsWith('application/json')) return JSON.parse(body.toString('utf8')) as Record<string, unknown>
  const form = await new Response(body, { headers: { 'content-type': type } }).formData()
  return attached(form)
}

/** grammY sends a file as `attach://<part>`. */
async function attached(form: FormData): Promise<Record<string, unknown>> {
  const params: Record<string, unknown> = {}
  for (const [name, value] of form) {
    const reference = typeof value === 'string' ? /^attach:\/\/(.+)$/.exec(value)?.[1] : undefined
    const part = reference ? form.get(reference) : value
    params[name] =
      part instanceof File ? { name: part.name, bytes: Buffer.from(await part.arrayBuffer()) } : part
  }
  return params
}

function asObject(value: unknown): Record<string, unknown> | undefined {
  if (typeof value === 'string') return JSON.parse(value) as Record<string, unknown>
  return value as Record<string, unknown> | undefined
}

function buttonsOf(markup: Record<string, unknown> | undefined): ShownMessage['buttons'] {
  const rows = (markup?.['inline_keyboard'] ?? []) as Array<Array<{ text: string; callback_data: string }>>
  return rows.map((row) => row.map((button) => ({ text: button.text, data: button.callback_data })))
}

const tags: Record<string, string> = {
  b: 'bold',
  i: 'italic',
  s: 'strikethrough',
  u: 'underline',
  code: 'code',
  pre: 'pre',
  a: 'text_link',
  blockquote: 'blockquote',
}

/** Telegram's HTML: known tags only, properly nested; the limit counts what is seen. */
function readText(source: string, mode: unknown): { text: string; formats: string[] } | string {
  if (mode !== 'HTML') return checkLength({ text: source, formats: [] })
  const open: string[] = []
  const formats = new Set<string>()
  let text = ''
  for (const piece of source.split(/(<[^>]*>)/)) {
    const tag = /^<(\/?)([a-z]+)( [^>]*)?>$/.exec(piece)
    if (!tag) {
      if (/[<>]/.test(piece)) return "Bad Request: can't parse entities: unexpected character"
      text += decode(piece)
      continue
    }
    const name = tag[2]!
    if (!tags[name]) return `Bad Request: can't parse entities: Unsupported start tag "${name}"`
    if (tag[1] === '') {
      open.push(name)
      formats.add(tags[name])
    } else if (open.pop() !== name) return "Bad Request: can't parse entities: Unmatched end tag"
  }
  if (open.length > 0) return "Bad Request: can't parse entities: Can't find end tag"
  return checkLength({ text: text.trim(), formats: [...formats] })
}

function checkLength(read: {
  text: string
  formats: string[]
}): { text: string; formats: string[] } | string {
  return read.text.length > visibleLimit ? 'Bad Request: message is too long' : read
}

function decode(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}

function now(): number {
  return Math.floor(Date.now() / 1_000)
}
