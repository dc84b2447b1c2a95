// POST /claude-hooks: events of Claude Code sessions on this machine, sent by Rockpool's plugin, and the answers to them. POST
// /claude-tools: the tools that it gives to these sessions. The token
// is in a file that only the owner can read (store/claude-hook-file.ts) and is valid for nothing else.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answeredInTerminal, suspended } from '../coding/approvals/approvals.ts'
import { watchedFile } from '../claude-hooks/wake.ts'
import { z } from 'zod'
import { claudeHookSchema } from '../domain/claude-hook.ts'
import type { ClaudeHookAnswer, ClaudeHookName } from '../domain/claude-hook.ts'
import { RockpoolError } from '../domain/errors.ts'
import { isRecord } from '../domain/json.ts'
import { parseJson } from '../rpc/frames.ts'
import { bearerToken, type Auth } from './auth.ts'
import type { Calls } from './calls.ts'
import { HttpRefusal, readBody, securityHeaders, sendJson, sendText } from './http.ts'
import { isFromBrowser, isLoopback } from './origin.ts'
import type { PendingSockets } from './limiter.ts'

/** A permission request contains the whole file that Claude wants to write. */
const maxBody = 8 * 1024 * 1024

interface ClaudeHookParts {
  auth: Auth
  calls: Calls
  pendingSockets: PendingSockets
}

export async function answerClaudeHook(
  request: IncomingMessage,
  response: ServerResponse,
  parts: ClaudeHookParts,
): Promise<void> {
  const { calls } = parts
  const event = readEvent(await receive(request, parts), request)
  const gone = leaving(response, calls.draining)
  const hooks = await calls.app.claudeHooks()
  const answer = await hooks.onHook(event, gone)
  if (gone.aborted) return answer.onDropped?.()
  if (answer.onSent) response.once('finish', answer.onSent)
  const watchPaths =
    event.name === 'SessionStart' ? [watchedFile(calls.app.paths.root, event.sessionId)] : undefined
  send(response, event.name, { ...answer, watchPaths })
}

const toolCall = z.object({
  session_id: z.string().regex(/^[\w-]{8,64}$/),
  cwd: z.string().max(4_096),
  tool: z.string().max(64),
  input: z.unknown(),
})

/** A tool that the model of a terminal session called. */
export async function answerClaudeTool(
  request: IncomingMessage,
  response: ServerResponse,
  parts: ClaudeHookParts,
): Promise<void> {
  const call = toolCall.safeParse(await receive(request, parts))
  if (!call.success) throw new RockpoolError('input-invalid', 'This is not a call of a tool of the plugin.')
  const { session_id, cwd, tool, input } = call.data
  const { callSessionTool } = await import('../operations/claude-plugin/session-tools.ts')
  const place = { sessionId: session_id.toLowerCase(), cwd }
  sendJson(response, 200, await callSessionTool(parts.calls.app, tool, input, place))
}

/** Checks the caller, then reads the body. */
async function receive(
  request: IncomingMessage,
  { auth, pendingSockets }: Pick<ClaudeHookParts, 'auth' | 'pendingSockets'>,
): Promise<unknown> {
  if (!isFromThisMachine(request)) throw new HttpRefusal(404, 'not-found', 'There is nothing here.')
  auth.admitClaudeHook(bearerToken(request), request)
  pendingSockets.remove(request.socket)
  return parseJson(await readBody(request, maxBody))
}

/** Fires when the session no longer waits, and when the gateway stops: then the question stays open, and the plugin asks the next
 *  gateway. */
function leaving(response: ServerResponse, draining: AbortSignal): AbortSignal {
  const gone = new AbortController()
  const stop = (): void => {
    gone.abort(suspended)
    response.destroy()
  }
  draining.addEventListener('abort', stop)
  response.once('close', () => {
    draining.removeEventListener('abort', stop)
    gone.abort(answeredInTerminal)
  })
  return gone.signal
}

/** A gateway that listens on a network address gets the requests of this machine from that address. */
function isFromThisMachine(request: IncomingMessage): boolean {
  const { remoteAddress = '', localAddress } = request.socket
  const isLocal = isLoopback(remoteAddress.replace(/^::ffff:/, '')) || remoteAddress === localAddress
  return isLocal && !isFromBrowser(request)
}

function readEvent(body: unknown, { headers }: IncomingMessage) {
  const { 'claude-entrypoint': entrypoint, 'claude-pid': claude_pid } = headers
  const read = claudeHookSchema.safeParse(isRecord(body) ? { ...body, entrypoint, claude_pid } : body)
  if (read.success) return read.data
  throw new RockpoolError('input-invalid', 'This is not a hook event of Claude Code that Rockpool knows.', {
    hint: 'The plugin and the gateway may be of different versions: `rockpool claude-plugin status`.',
  })
}

/** Without a body where there is nothing to say: any other answer leaves a record in the transcript. The FileChanged hook is a
 *  shell line that passes the text on. */
function send(
  response: ServerResponse,
  name: ClaudeHookName,
  { additionalContext, decision, done, watchPaths }: ClaudeHookAnswer & { watchPaths?: string[] },
): void {
  if (done !== undefined) sendJson(response, 200, { decision: 'block', reason: done })
  else if (name === 'FileChanged' && additionalContext !== undefined)
    sendText(response, 200, additionalContext, 'text/plain')
  else if (additionalContext ?? decision ?? watchPaths) {
    const hookSpecificOutput = { hookEventName: name, additionalContext, decision, watchPaths }
    sendJson(response, 200, { suppressOutput: true, hookSpecificOutput })
  } else response.writeHead(204, securityHeaders).end()
}
