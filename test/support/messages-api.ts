// A Messages API on loopback that answers from a script, so that tests can run the real Claude binary without network.
// A script is found by a piece of the prompt (`api.script('say hi', [...])`) or stands in the prompt itself
// (`SCRIPT:[{"text":"hi"}]`). The number of assistant messages since that prompt says which step comes next.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One answer of the model. */
export interface Step {
  /** A streamed piece that has `{now}` in it says when it was sent, in milliseconds. */
  text?: string
  thinking?: string
  tools?: Array<{ name: string; input?: Record<string, unknown>; id?: string }>
  usage?: Partial<ApiUsage>
  stopReason?: string
  model?: string

  /** Wait before the first byte. */
  startDelayMs?: number
  /** Wait before each piece of text. */
  chunkDelayMs?: number
  chunkSize?: number
  /** Wait, before the first byte, until the test calls `api.release(name)`. */
  hold?: string
  /** Never answer. */
  hang?: boolean
  /** Never continue after this many pieces of text. */
  hangAfter?: number
  /** Cut the connection after this many pieces of text. */
  cutAfter?: number

  /** Answer with this HTTP status instead. */
  status?: number
  errorType?: string
  message?: string
  headers?: Record<string, string>
  /** Fail only this many times, then take `afterwards`. */
  times?: number
  afterwards?: Step
}

export interface ApiUsage {
  input_tokens: number
  output_tokens: number
  cache_creation_input_tokens: number
  cache_read_input_tokens: number
}

export interface ApiRequest {
  at: number
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: ApiBody
  kind: 'messages' | 'summary' | 'count-tokens' | 'other'
  /** Claude's session id, from its header. */
  sdkSessionId?: string
  /** All text of the last user message. */
  prompt: string
  /** All text of the whole request: system prompt and messages. */
  text: string
  step?: Step
  /** The client went away before the answer was complete. */
  abandoned: boolean
}

export interface ApiBody {
  model?: string
  stream?: boolean
  system?: string | Array<{ text?: string }>
  messages?: ApiMessage[]
  tools?: Array<{ name: string }>
  [field: string]: unknown
}

interface ApiMessage {
  role: 'user' | 'assistant'
  content: string | ApiBlock[]
}

interface ApiBlock {
  type: string
  text?: string
  content?: string | ApiBlock[]
  [field: string]: unknown
}

export interface MessagesApi {
  url: string
  requests: ApiRequest[]
  /** Requests for an answer of the model, without summaries and token counts. */
  calls(): ApiRequest[]
  /** Answer prompts that contain `match` with these steps; the newest script wins, the last step repeats. */
  script(match: string | RegExp, steps: Step[]): void
  /** What an unscripted prompt gets. */
  otherwise: Step
  /** What a compaction's request for a summary gets. */
  summary: Step
  /** What a call uses when its step does not say. */
  usage: ApiUsage
  /** Let every step held by this name continue, now and later. */
  release(name: string): void
  /** Resolves with the first request, past or future, that fits. */
  requested(fits: (request: ApiRequest) => boolean, withinMs?: number): Promise<ApiRequest>
  close(): Promise<void>
}

/** The script as it may stand in a prompt. */
export function inline(...steps: Step[]): string {
  return `SCRIPT:${JSON.stringify(steps)}`
}

export const overloaded: Step = { status: 529, errorType: 'overloaded_error', message: 'Overloaded' }
export const refusedLogin: Step = {
  status: 401,
  errorType: 'authentication_error',
  message: 'invalid x-api-key',
}
export const promptTooLong: Step = {
  status: 400,
  errorType: 'invalid_request_error',
  message: 'prompt is too long: 214000 tokens > 200000 maximum',
}
export function rateLimited(retryAfterSeconds?: number): Step {
  return {
    status: 429,
    errorType: 'rate_limit_error',
    message: 'This request would exceed your rate limit.',
    ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }),
  }
}

export async function startMessagesApi(): Promise<MessagesApi> {
  const scripts: Array<{ match: string | RegExp; steps: Step[] }> = []
  const listeners = new Set<() => void>()
  const gates = new Map<string, { opened: Promise<void>; open: () => void }>()
  const served = new Map<string, number>()

  const gate = (name: string): { opened: Promise<void>; open: () => void } => {
    let found = gates.get(name)
    if (!found) {
      const { promise, resolve } = Promise.withResolvers<void>()
      gates.set(name, (found = { opened: promise, open: resolve }))
    }
    return found
  }

  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      // A client that went away is part of many tests; everything else is a mistake in the script.
      if (!response.destroyed) sendError(response, { status: 500, message: String(error) })
    })
  })
  server.keepAliveTimeout = 60_000

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await receive(incoming)
    api.requests.push(request)
    response.on('close', () => (request.abandoned = !response.writableFinished))
    if (request.kind === 'count-tokens') {
      sendJson(response, 200, { input_tokens: Math.ceil(request.text.length / 4) })
    } else if (request.kind === 'other') {
      if (request.method === 'HEAD') response.writeHead(200).end()
      else sendError(response, { status: 404, errorType: 'not_found_error', message: request.path })
    }
    request.step = request.kind === 'summary' ? api.summary : stepFor(request)
    for (const listener of listeners) listener()
    if (request.kind === 'messages' || request.kind === 'summary') await play(request, response)
  }

  function stepFor(request: ApiRequest): Step {
    const found = findScript(request.body.messages ?? [], scripts)
    if (!found) return api.otherwise
    const step = found.steps[Math.min(found.index, found.steps.length - 1)] ?? api.otherwise
    if (step.times === undefined) return step
    const key = `${request.sdkSessionId ?? ''}#${found.prompt}#${found.index}`
    const count = (served.get(key) ?? 0) + 1
    served.set(key, count)
    return count > step.times ? (step.afterwards ?? api.otherwise) : step
  }

  async function play(request: ApiRequest, response: ServerResponse): Promise<void> {
    const step = request.step ?? api.otherwise
    if (step.hold) await gate(step.hold).opened
    if (step.startDelayMs) await pause(step.startDelayMs)
    if (step.hang || response.destroyed) return
    if (step.status) return sendError(response, step)
    const message = makeMessage(step, request, api.usage)
    if (request.body.stream) await stream(response, message, step)
    else sendJson(response, 200, message)
  }

  const api: MessagesApi = {
    url: '',
    requests: [],
    calls: () => api.requests.filter((request) => request.kind === 'messages'),
    script: (match, steps) => void scripts.unshift({ match, steps }),
    otherwise: { text: 'OK.' },
    summary: { text: '<summary>A summary of the conversation so far.</summary>' },
    usage: {
      input_tokens: 100,
      output_tokens: 20,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
    release: (name) => gate(name).open(),
    requested: (fits, withinMs = 60_000) => awaitRequest(api, listeners, fits, withinMs),
    close: () =>
      new Promise((resolve) => {
        for (const { open } of gates.values()) open()
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  api.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return api
}

async function receive(incoming: IncomingMessage): Promise<ApiRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const raw = Buffer.concat(chunks).toString('utf8')
  const body: ApiBody = raw ? (JSON.parse(raw) as ApiBody) : {}
  const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
  const prompt = textOf((body.messages ?? []).findLast((message) => message.role === 'user')?.content)
  const system =
    typeof body.system === 'string'
      ? body.system
      : (body.system ?? []).map((part) => part.text ?? '').join('\n')
  const sdkSessionId = incoming.headers['x-claude-code-session-id']
  return {
    at: Date.now(),
    method: incoming.method ?? 'GET',
    path,
    headers: incoming.headers,
    body,
    kind: kindOf(path, prompt),
    ...(typeof sdkSessionId === 'string' ? { sdkSessionId } : {}),
    prompt,
    text: [system, ...(body.messages ?? []).map((message) => textOf(message.content))].join('\n'),
    abandoned: false,
  }
}

function kindOf(path: string, prompt: string): ApiRequest['kind'] {
  if (path === '/v1/messages/count_tokens') return 'count-tokens'
  if (path !== '/v1/messages') return 'other'
  return prompt.includes('create a detailed summary') ? 'summary' : 'messages'
}

/** Text blocks and the text inside tool results. */
function textOf(content: string | ApiBlock[] | undefined): string {
  return textsOf(content).join('\n')
}

function textsOf(content: string | ApiBlock[] | undefined): string[] {
  if (typeof content === 'string') return [content]
  return (content ?? []).flatMap((block) =>
    block.type === 'text' ? [block.text ?? ''] : block.type === 'tool_result' ? textsOf(block.content) : [],
  )
}

/** Walks back to the last user message that carries a script. */
function findScript(
  messages: ApiMessage[],
  scripts: Array<{ match: string | RegExp; steps: Step[] }>,
): { steps: Step[]; index: number; prompt: string } | undefined {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!
    if (message.role !== 'user') continue
    const texts = typeof message.content === 'string' ? [message.content] : ownTexts(message.content)
    for (const text of texts.reverse()) {
      const steps =
        parseInline(text) ??
        scripts.find(({ match }) => (typeof match === 'string' ? text.includes(match) : match.test(text)))
          ?.steps
      if (!steps) continue
      const index = messages.slice(at + 1).filter((later) => later.role === 'assistant').length
      return { steps, index, prompt: text.slice(0, 200) }
    }
  }
  return undefined
}

/** What a person wrote, without the results of tools: a script quoted in a result is not a script. */
function ownTexts(blocks: ApiBlock[]): string[] {
  return blocks.filter((block) => block.type === 'text').map((block) => block.text ?? '')
}

function parseInline(text: string): Step[] | undefined {
  const start = text.indexOf('SCRIPT:[')
  if (start < 0) return undefined
  const end = endOfArray(text, start + 7)
  if (end === undefined) return undefined
  try {
    return JSON.parse(text.slice(start + 7, end)) as Step[]
  } catch (error) {
    return [{ text: `The script in the prompt cannot be read: ${String(error)}` }]
  }
}

function endOfArray(text: string, start: number): number | undefined {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '[' || char === '{') depth++
    else if ((char === ']' || char === '}') && --depth === 0) return at + 1
  }
  return undefined
}

interface Answer {
  id: string
  type: 'message'
  role: 'assistant'
  model: string
  content: ApiBlock[]
  stop_reason: string
  stop_sequence: null
  usage: ApiUsage
}

function makeMessage(step: Step, request: ApiRequest, usage: ApiUsage): Answer {
  const tools = step.tools ?? []
  const content: ApiBlock[] = []
  if (step.thinking) content.push({ type: 'thinking', thinking: step.thinking, signature: 'c2NyaXB0' })
  if (step.text !== undefined) content.push({ type: 'text', text: step.text })
  for (const tool of tools) {
    content.push({
      type: 'tool_use',
      id: tool.id ?? newId('toolu_'),
      name: tool.name,
      input: tool.input ?? {},
    })
  }
  return {
    id: newId('msg_01'),
    type: 'message',
    role: 'assistant',
    model: step.model ?? request.body.model ?? 'claude-scripted',
    content,
    stop_reason: step.stopReason ?? (tools.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: { ...usage, ...step.usage },
  }
}

async function stream(response: ServerResponse, message: Answer, step: Step): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'request-id': newId('req_'),
  })
  const send = (type: string, fields: object): void => {
    if (!response.destroyed)
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  }
  send('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: { ...message.usage, output_tokens: 1 } },
  })
  send('ping', {})
  let pieces = 0
  for (const [index, block] of message.content.entries()) {
    const { start, deltas } = piecesOf(block, step.chunkSize ?? 24)
    send('content_block_start', { index, content_block: start })
    for (const delta of deltas) {
      if (step.chunkDelayMs) await pause(step.chunkDelayMs)
      send('content_block_delta', { index, delta: stamped(delta) })
      if (block.type !== 'text') continue
      pieces++
      if (pieces === step.hangAfter) return
      if (pieces === step.cutAfter) {
        // The pieces written so far shall arrive before the connection breaks.
        await pause(20)
        response.destroy()
        return
      }
    }
    send('content_block_stop', { index })
  }
  send('message_delta', {
    delta: { stop_reason: message.stop_reason, stop_sequence: null },
    usage: message.usage,
  })
  send('message_stop', {})
  response.end()
}

function stamped(delta: object): object {
  if (!('text' in delta) || typeof delta.text !== 'string') return delta
  return { ...delta, text: delta.text.replace('{now}', String(Date.now())) }
}

function piecesOf(block: ApiBlock, size: number): { start: ApiBlock; deltas: object[] } {
  if (block.type === 'thinking') {
    return {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        { type: 'thinking_delta', thinking: block['thinking'] },
        { type: 'signature_delta', signature: block['signature'] },
      ],
    }
  }
  if (block.type === 'tool_use') {
    return {
      start: { ...block, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }],
    }
  }
  const text = block.text ?? ''
  const deltas: object[] = []
  for (let at = 0; at < text.length; at += size) {
    deltas.push({ type: 'text_delta', text: text.slice(at, at + size) })
  }
  return { start: { type: 'text', text: '' }, deltas }
}

function sendJson(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'request-id': newId('req_'),
    ...headers,
  })
  response.end(JSON.stringify(body))
}

function sendError(response: ServerResponse, step: Step): void {
  const status = step.status ?? 500
  const error = { type: step.errorType ?? 'api_error', message: step.message ?? `scripted error ${status}` }
  sendJson(response, status, { type: 'error', error }, step.headers)
}

function awaitRequest(
  api: MessagesApi,
  listeners: Set<() => void>,
  fits: (request: ApiRequest) => boolean,
  withinMs: number,
): Promise<ApiRequest> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const found = api.requests.find(fits)
      if (found) stop(() => resolve(found))
    }
    const stop = (end: () => void): void => {
      listeners.delete(look)
      clearTimeout(timer)
      end()
    }
    const timer = setTimeout(() => {
      stop(() =>
        reject(new Error(`No such request within ${withinMs} ms; there were ${api.requests.length}.`)),
      )
    }, withinMs)
    listeners.add(look)
    look()
  })
}

function newId(prefix: string): string {
  return prefix + randomBytes(10).toString('hex')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
