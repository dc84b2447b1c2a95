// The server of the plugin: Claude Code starts one for each session and calls it over stdin and stdout (MCP). Most hooks are calls
// of its tool `hook`, because such a call takes a few milliseconds and, unlike a request to the gateway, never fails visibly in the
// terminal. The server passes everything on to the gateway; without a gateway it has no opinion.
import { createInterface } from 'node:readline'
import { readFileSync } from 'node:fs'
import { callMailTool, isMailTool, mailTools } from './mail-tools.ts'
import { callTool, reportHook } from './report.ts'

interface Request {
  id?: number | string
  method?: string
  params?: {
    name?: string
    protocolVersion?: string
    arguments?: Record<string, string>
    /** Of `notifications/cancelled`. */
    requestId?: number | string
  }
}

/** Written by the build, from the definitions in the gateway. */
const tools = JSON.parse(readFileSync(new URL('tools.json', import.meta.url), 'utf8')) as object[]

/** Claude's id of the session, as its last hook named it. */
let session = process.env['CLAUDE_CODE_SESSION_ID']

/** The running calls, to end those that Claude Code no longer waits for. */
const running = new Map<number | string, AbortController>()

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => void receive(line))
// The session has ended.
lines.on('close', () => process.exit(0))

async function receive(line: string): Promise<void> {
  const request = parse(line)
  if (request?.method === 'notifications/cancelled') running.get(request.params?.requestId ?? '')?.abort()
  if (request?.id === undefined) return
  const call = new AbortController()
  running.set(request.id, call)
  const result = await answer(request, call.signal)
  running.delete(request.id)
  const reply = result
    ? { result }
    : { error: { code: -32_601, message: `There is no method ${request.method}.` } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...reply })}\n`)
}

async function answer({ method, params }: Request, signal: AbortSignal): Promise<object | undefined> {
  if (method === 'initialize')
    return {
      protocolVersion: params?.protocolVersion ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'rockpool', version: '1' },
    }
  if (method === 'ping') return {}
  // The tool `hook` is for Claude Code itself and is not listed, so that it costs the model no context.
  if (method === 'tools/list') return { tools: [...tools, ...mailTools] }
  if (method !== 'tools/call') return undefined
  const { name = '', arguments: given = {} } = params ?? {}
  if (name === 'hook') {
    session = given['session_id'] || session
    return textResult(await reportHook(given, signal))
  }
  const called = isMailTool(name) ? callMailTool(name, given, session) : callTool(name, given, session)
  const { text, isError } = await called
  return { ...textResult(text), isError }
}

function textResult(text: string): object {
  return { content: [{ type: 'text', text }] }
}

function parse(line: string): Request | undefined {
  try {
    return JSON.parse(line) as Request
  } catch {
    // Not a message of MCP, so it gets no answer.
    return undefined
  }
}
