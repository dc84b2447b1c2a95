// A session whose process was killed while it started. Claude's id was chosen and stored before Claude started, so Claude's
// transcript tells what became of the first message: it is never said in a second conversation.
import { randomUUID } from 'node:crypto'
import type { AgentRuntime, Resumable } from '../../domain/agent.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'
import { goOn } from '../machines/hand-over.ts'
import { notResumable } from '../refusals.ts'
import type { LiveRecord } from './live-record.ts'

type Parts = Pick<CodingParts, 'runtime' | 'clock'>

/** A process of Claude's that lost its Rockpool ends by itself; so long it is waited for. */
const waitMs = 30_000
const lookMs = 500

/** Did an earlier process give Claude the first messages, without learning what became of them? */
export function mayHaveStarted({ sdkSessionId, given, turns }: CodingSession): boolean {
  return sdkSessionId === undefined && turns === 0 && given.length > 0
}

/** Continues Claude's conversation if there is one. Otherwise the messages wait again, and the session starts with its id. */
export async function takeUpStart(parts: Parts, record: LiveRecord, signal: AbortSignal): Promise<void> {
  const { session } = record
  const sdkSessionId = startedAs(session)
  if (!mayHaveStarted(session) || sdkSessionId === undefined) return
  const runtime = await parts.runtime()
  const found = await whenReleased(parts, runtime, sdkSessionId, signal)
  if (signal.aborted) return
  if (!found.ok && found.why === 'in-use') throw notResumable(found)
  const received = found.ok ? await runtime.received(sdkSessionId, session.given) : new Set<string>()
  await record.change(({ given, inbox }) => {
    const unsaid = [...given.filter(({ uuid }) => !received.has(uuid)).map(({ text }) => text), ...inbox]
    const isKnown = received.size > 0
    return {
      given: [],
      inbox: isKnown && unsaid.length === 0 ? [goOn] : unsaid,
      ...(isKnown ? { sdkSessionId } : {}),
      // Claude refuses an id whose file is there, whatever is in it.
      ...(isKnown || (!found.ok && found.why === 'gone') ? {} : { newSdkSessionId: randomUUID() }),
    }
  })
}

function startedAs({ request, newSdkSessionId }: CodingSession): string | undefined {
  return request.resume && !request.resume.fork ? request.resume.sdkSessionId : newSdkSessionId
}

async function whenReleased(
  { clock }: Parts,
  runtime: AgentRuntime,
  sdkSessionId: string,
  signal: AbortSignal,
): Promise<Resumable> {
  for (const until = clock.monotonic() + waitMs; ;) {
    const found = await runtime.resumable(sdkSessionId)
    const isInUse = !found.ok && found.why === 'in-use'
    if (!isInUse || signal.aborted || clock.monotonic() >= until) return found
    await new Promise<void>((resolve) => void clock.after(lookMs, resolve))
  }
}
