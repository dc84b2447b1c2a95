// The APIs of OpenAI (Responses) and Gemini on loopback, for the real Codex and Gemini CLI: answers by a script, and remembers what it
// was asked. The API of Anthropic, which opencode and pi use, is in messages-api.ts.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fieldsOf, textOf } from '../../src/agent/programs/program.ts'

type Fields = Record<string, unknown>

export interface ApiStep {
  text?: string
  tool?: { name: string; input: Fields }
  /** Tokens that the model read, and those of them from the cache. */
  input?: number
  cached?: number
  /** Never answers. */
  hang?: boolean
  /** Refuses with this HTTP status. */
  status?: number
}

export interface AgentsApi {
  /** With `/v1` for Codex. */
  url: string
  /** The bodies of all requests to a model, as text. */
  requests: string[]
  /** The steps for a prompt that contains this text, one for each call; every other call is answered with `Go on.` */
  script(match: string, steps: ApiStep[]): void
  close(): Promise<void>
}

export async function startAgentsApi(): Promise<AgentsApi> {
  const requests: string[] = []
  const scripts: Array<{ match: string; steps: ApiStep[] }> = []
  const stepFor = (prompts: string[]): ApiStep => {
    const last = prompts.at(-1) ?? ''
    return scripts.find(({ match }) => last.includes(match))?.steps.shift() ?? { text: 'Go on.' }
  }
  const server = createServer((request, response) => {
    void bodyOf(request).then((text) => {
      const wire = wireOf(request.url ?? '')
      if (!wire) return response.writeHead(404).end('{}')
      requests.push(text)
      return answer(response, wire, stepFor(wire.prompts(JSON.parse(text) as Fields)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    script: (match, steps) => void scripts.unshift({ match, steps }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function answer(response: ServerResponse, wire: Wire, step: ApiStep): void {
  if (step.hang) return
  if (step.status !== undefined) {
    const error = { message: `refused with ${step.status}`, code: step.status, status: 'REFUSED' }
    response.writeHead(step.status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of wire.events(step)) {
    if (typeof event['type'] === 'string') response.write(`event: ${event['type']}\n`)
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  response.end()
}

interface Wire {
  /** What the user said, the last at the end. */
  prompts(body: Fields): string[]
  events(step: ApiStep): Fields[]
}

function wireOf(url: string): Wire | undefined {
  if (url.endsWith('/responses')) return { prompts: responsesPrompts, events: responsesEvents }
  return url.includes(':streamGenerateContent') ? { prompts: geminiPrompts, events: geminiEvents } : undefined
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

function responsesPrompts(body: Fields): string[] {
  return listOf(body['input'])
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => listOf(content).map(({ text }) => textOf(text)))
}

function geminiPrompts(body: Fields): string[] {
  return listOf(body['contents'])
    .filter(({ role }) => role === 'user')
    .flatMap(({ parts }) => listOf(parts).map(({ text }) => textOf(text)))
    .filter((text) => text !== '')
}

let answers = 0

function responsesEvents({ text = '', tool, input = 100, cached = 0 }: ApiStep): Fields[] {
  const id = `${++answers}`
  const message = {
    type: 'message',
    id: `msg_${id}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
  const call = tool && {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: tool.name,
    arguments: JSON.stringify(tool.input),
    status: 'completed',
  }
  const output = [...(text === '' ? [] : [message]), ...(call ? [call] : [])]
  const usage = {
    input_tokens: input,
    output_tokens: 5,
    total_tokens: input + 5,
    input_tokens_details: { cached_tokens: cached },
    output_tokens_details: { reasoning_tokens: 0 },
  }
  const response = { id: `resp_${id}`, object: 'response', status: 'completed', output, usage }
  const items = output.flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item },
    { type: 'response.output_item.done', output_index, item },
  ])
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  return [{ type: 'response.created', response: begun }, ...items, { type: 'response.completed', response }]
}

function geminiEvents({ text = '', tool, input = 100, cached = 0 }: ApiStep): Fields[] {
  const part = tool ? { functionCall: { name: tool.name, args: tool.input } } : { text }
  const usageMetadata = {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: 5,
    totalTokenCount: input + 5,
  }
  const content = { role: 'model', parts: [part] }
  return [{ candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata }]
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
