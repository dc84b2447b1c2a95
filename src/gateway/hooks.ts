// POST /hooks/wake and /hooks/agent: other programs notify an agent or give it a task. Hooks are off until a person sets a
// hook token. Programs send the token or sign with it (signed-hook.ts); it is valid for nothing else.
import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { defaultAgentId, buildInternalSessionKey } from '../domain/session-key.ts'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import type { Caller } from '../operations/operation.ts'
import { checkInput } from '../operations/perform-operation.ts'
import type { OutputOf } from '../rpc/client.ts'
import { parseJson } from '../rpc/frames.ts'
import { bearerToken, type Auth } from './auth.ts'
import type { Calls } from './calls.ts'
import { HttpRefusal, readBody } from './http.ts'
import { claimsSignature } from './signed-hook.ts'

const maxBody = 256 * 1024

/** The rights of every hook. */
const hookCaller: Caller = { via: 'hook', scopes: ['write'], name: 'hook' }

const wakeInput = z.strictObject({
  text: z.string().trim().min(1).max(100_000),
  mode: z.enum(['now', 'next-heartbeat']).default('now'),
})

const agentInput = z.strictObject({
  message: z.string().trim().min(1).max(100_000),
  name: z.string().trim().min(1).max(200).optional(),
  agentId: z.string().optional(),
  sessionKey: z.string().optional(),
  deliver: z.boolean().optional(),
  channel: z.string().trim().min(1).max(100).optional(),
  to: z.string().trim().min(1).max(500).optional(),
  model: z.string().trim().min(1).max(200).optional(),
  thinking: z.string().trim().min(1).max(40).optional(),
  /** The turn is stopped after this time. */
  timeoutSeconds: z.int().min(1).max(3600).optional(),
  /** Reports the end to the agent's main session: with a turn at once, or with the next message. */
  wakeMode: z.enum(['now', 'next-heartbeat']).optional(),
})

export const hookRoutes = ['/hooks/wake', '/hooks/agent']

interface HookParts {
  auth: Auth
  calls: Calls
}

/** Resolves to the answer's body. The credential is checked before the body is read. */
export async function receiveHook(
  pathname: string,
  request: IncomingMessage,
  parts: HookParts,
): Promise<unknown> {
  if (!parts.calls.app.config.hooks.enabled || !parts.auth.hasHookToken())
    throw new HttpRefusal(404, 'not-found', 'Hooks are off. Set hooks.enabled and a hook token.')
  const { text, key } = await admit(request, parts.auth)
  const body = parseJson(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new RockpoolError('input-invalid', 'The body must be one JSON object.')
  const fields = body as Record<string, unknown>
  return pathname === '/hooks/wake' ? wake(fields, key, parts) : agentTurn(fields, key, parts)
}

type Key = { idempotencyKey?: string }

/** Checks the token or the signature; resolves to the body and the idempotency key. */
async function admit(request: IncomingMessage, auth: Auth): Promise<{ text: string; key: Key }> {
  const read = (): Promise<string> => readBody(request, maxBody)
  if (bearerToken(request) === undefined && claimsSignature(request)) {
    const { id, body } = await auth.admitSignedHook(request, read)
    // The id is part of the signature, so a repeated request has the same id.
    return { text: body, key: { idempotencyKey: `webhook:${id}` } }
  }
  auth.admitHook(bearerToken(request), request)
  const key = request.headers['idempotency-key']
  return { text: await read(), key: typeof key === 'string' ? { idempotencyKey: key } : {} }
}

async function wake(body: Record<string, unknown>, key: Key, { calls }: HookParts): Promise<unknown> {
  const { text, mode } = checkInput({ name: '/hooks/wake', input: wakeInput }, body)
  await calls.call({ jsonrpc: '2.0', method: 'system.event', params: { text, mode, ...key } }, hookCaller)
  return { ok: true, mode }
}

async function agentTurn(body: Record<string, unknown>, key: Key, { calls }: HookParts): Promise<unknown> {
  const given = checkInput({ name: '/hooks/agent', input: agentInput }, body) as z.infer<typeof agentInput>
  const { agentId, sessionKey, message, name, timeoutSeconds, wakeMode, ...rest } = given
  if (agentId !== undefined && !calls.app.agentIds().includes(agentId))
    throw new RockpoolError('input-invalid', `There is no agent ${JSON.stringify(agentId.slice(0, 80))}.`)
  if (sessionKey !== undefined) checkSessionKey(sessionKey, calls.app.config.hooks.allowRequestSessionKey)
  // The text of another program gets a session of its own, never the owner's conversation.
  const id = sessionKey?.slice('hook:'.length) ?? hookSession(key)
  const who = agentId ?? defaultAgentId(calls.app.config)
  const title = name?.replace(/[\r\n[\]]+/g, ' ')
  const params = {
    ...rest,
    message: markedAsHook(message, title),
    sessionKey: buildInternalSessionKey({ agentId: who, kind: 'hook', id }),
    ...key,
  }
  const send = { jsonrpc: '2.0' as const, method: 'turns.send', params }
  const result = (await calls.call(send, hookCaller)) as { runId: string; sessionKey: string }
  const run = { ...result, agentId: who, name: title ?? 'agent', timeoutSeconds, wakeMode }
  void followRun(calls, run)
  return { ok: true, ...result }
}

/**
 * The markers contain the hash of the text: a repeated request gets the same markers, and no text can contain its own hash.
 */
function markedAsHook(message: string, title: string | undefined): string {
  const from = title === undefined ? 'a hook' : `the hook [${title}]`
  const fence = createHash('sha256').update(message).digest('hex').slice(0, 32)
  return [
    `Task from ${from}. Another program sent the text between the markers (untrusted: the owner did not write it).`,
    `--- hook ${fence} ---`,
    message,
    `--- end of hook ${fence} ---`,
  ].join('\n')
}

function checkSessionKey(sessionKey: string, allowed: boolean): void {
  if (!allowed)
    throw new RockpoolError('input-invalid', 'sessionKey is not accepted from hooks.', {
      hint: 'Set hooks.allowRequestSessionKey to accept keys that begin with `hook:`.',
    })
  if (!/^hook:[a-z0-9][a-z0-9._:-]{0,127}$/.test(sessionKey))
    throw new RockpoolError('input-invalid', 'A sessionKey from a hook must begin with `hook:`.')
}

/** A repeated request gets the session of the first one. */
function hookSession({ idempotencyKey }: Key): string {
  if (idempotencyKey === undefined) return randomUUID()
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32)
}

interface HookRun {
  runId: string
  sessionKey: string
  agentId: string
  name: string
  timeoutSeconds?: number
  wakeMode?: 'now' | 'next-heartbeat'
}

/** Polled in short waits, so that a stopping gateway does not have to wait for it. */
const waitMs = 2_000
const longestSeconds = 3_600

/** Stops the turn when its time is over, and reports the end to the agent's main session if the caller asked for that. */
async function followRun(calls: Calls, run: HookRun): Promise<void> {
  if (run.timeoutSeconds === undefined && run.wakeMode === undefined) return
  const call: HookCall = (method, params) => calls.call({ jsonrpc: '2.0', method, params }, hookCaller)
  try {
    const status = await untilEnded(calls, call, run)
    if (status === 'timeout') await call('turns.stop', { sessionKey: run.sessionKey, runId: run.runId })
    if (run.wakeMode !== undefined) await reportToMain(call, run, status)
  } catch (thrown) {
    const error = asRockpoolError(thrown)
    // A stopping gateway refuses new calls; the turn itself is resumed after the restart.
    if (error.code !== 'unavailable')
      calls.app.log.warn(
        { event: 'hook-follow-failed', runId: run.runId, error: error.message },
        'Could not follow the turn of a hook; its time limit and its report to the main session are lost.',
      )
  }
}

type HookCall = (method: string, params: Record<string, unknown>) => Promise<unknown>

async function untilEnded({ app }: Calls, call: HookCall, { runId, timeoutSeconds }: HookRun) {
  const until = app.clock.monotonic() + (timeoutSeconds ?? longestSeconds) * 1000
  for (;;) {
    const left = Math.max(0, until - app.clock.monotonic())
    const timeoutMs = Math.ceil(Math.min(waitMs, left))
    const { status } = (await call('turns.wait', { runId, timeoutMs })) as { status: string }
    if (status !== 'timeout' || left <= waitMs) return status
  }
}

async function reportToMain(call: HookCall, run: HookRun, status: string): Promise<void> {
  const { runId, sessionKey, agentId, name, wakeMode } = run
  const asked = { keys: [sessionKey], limit: 1, maxChars: 2000 }
  const { previews } = (await call('sessions.preview', asked)) as OutputOf<'sessions.preview'>
  const last = previews[0]?.items.at(-1)
  const answer = last?.role === 'assistant' ? `: ${last.text}` : ''
  const how = { ok: 'has ended', timeout: 'took too long and was stopped' }[status] ?? 'was stopped or failed'
  const text = `Hook ${name} ${how}${status === 'ok' ? answer : '.'}`
  // With the key the event is stored once, even if the hook was called several times with one idempotency key.
  await call('system.event', { text, mode: wakeMode, agentId, idempotencyKey: `hook-run:${runId}` })
}
