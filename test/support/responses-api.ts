// A Responses API on loopback, for the real Codex: answers every request with one text, and remembers what it was asked.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ResponsesApi {
  url: string
  /** The bodies of all requests, as text. */
  requests: string[]
  close(): Promise<void>
}

export async function startResponsesApi(text: string): Promise<ResponsesApi> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (!request.url?.endsWith('/responses')) return response.writeHead(404).end('{}')
      requests.push(body)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of eventsOf(text))
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      return response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

interface ApiEvent {
  type: string
  [field: string]: unknown
}

function eventsOf(text: string): ApiEvent[] {
  const item = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
  const details = { cached_tokens: 0, reasoning_tokens: 0 }
  const usage = { input_tokens: 100, output_tokens: 5, total_tokens: 105 }
  const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] as object[] }
  const completed = {
    ...response,
    status: 'completed',
    output: [item],
    usage: { ...usage, input_tokens_details: details, output_tokens_details: details },
  }
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: text },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: completed },
  ]
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
