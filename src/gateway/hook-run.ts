// What follows after a hook has handed a message over: the turn is stopped when its time is up, and the agent's main
// session is told how it ended, if the caller asked for that.
import { asRockpoolError } from '../domain/errors.ts'
import type { Caller } from '../operations/operation.ts'
import type { Calls } from './calls.ts'

export interface HookRun {
  runId: string
  sessionKey: string
  agentId: string
  name: string
  timeoutSeconds?: number
  wakeMode?: 'now' | 'next-heartbeat'
}

/** Looked at in short pieces, so that a gateway that stops does not wait for it. */
const pieceMs = 2_000
const longestSeconds = 3_600

export async function followHookRun(calls: Calls, caller: Caller, run: HookRun): Promise<void> {
  if (run.timeoutSeconds === undefined && run.wakeMode === undefined) return
  const ask = (method: string, params: Record<string, unknown>): Promise<unknown> =>
    calls.call({ jsonrpc: '2.0', method, params }, caller)
  try {
    const status = await untilOver(calls, ask, run)
    if (status === 'timeout') await ask('turns.stop', { sessionKey: run.sessionKey })
    if (run.wakeMode !== undefined) await tellMain(ask, run, status)
  } catch (thrown) {
    const error = asRockpoolError(thrown)
    // A gateway that stops takes up nothing new; the turn itself is resumed with the next one.
    if (error.code !== 'unavailable')
      calls.app.log.warn(
        { event: 'hook-follow-failed', runId: run.runId, error: error.message },
        'Could not follow the turn of a hook to its end.',
      )
  }
}

type Ask = (method: string, params: Record<string, unknown>) => Promise<unknown>

async function untilOver({ app }: Calls, ask: Ask, { runId, timeoutSeconds }: HookRun): Promise<string> {
  const until = app.clock.monotonic() + (timeoutSeconds ?? longestSeconds) * 1000
  for (;;) {
    const left = Math.max(0, until - app.clock.monotonic())
    const timeoutMs = Math.ceil(Math.min(pieceMs, left))
    const { status } = (await ask('turns.wait', { runId, timeoutMs })) as { status: string }
    if (status !== 'timeout' || left <= pieceMs) return status
  }
}

async function tellMain(ask: Ask, run: HookRun, status: string): Promise<void> {
  const { runId, sessionKey, agentId, name, wakeMode } = run
  const answer = (await ask('sessions.preview', { keys: [sessionKey], limit: 1, maxChars: 2000 })) as {
    previews: Array<{ items: Array<{ role: string; text: string }> }>
  }
  const last = answer.previews[0]?.items.at(-1)
  const said = last?.role === 'assistant' ? `: ${last.text}` : ''
  const how = { ok: 'has ended', timeout: 'took too long and was stopped' }[status] ?? 'was stopped or failed'
  const text = `Hook ${name} ${how}${status === 'ok' ? said : '.'}`
  // The key makes it one event, however often the hook was called with one idempotency key.
  await ask('system.event', { text, mode: wakeMode, agentId, idempotencyKey: `hook-run:${runId}` })
}
