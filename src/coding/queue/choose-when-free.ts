// The session that a queued task continues is chosen when its turn comes, not when it was queued: the session before it may
// by then be the best one to continue.
import type { CodingRequest, CodingSession } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'

const lookMs = 500

/** The session to continue, or undefined for a new one. If the choice fails, the task starts a new session. */
export async function chooseWhenFree(
  parts: Pick<CodingParts, 'choose' | 'repos' | 'clock' | 'log'>,
  session: CodingSession,
  signal: AbortSignal,
): Promise<CodingRequest['resume']> {
  try {
    for (;;) {
      const chosen = await parts.choose(session)
      if (chosen.action !== 'queue') return chosen.resume
      // Always a pause: each choice runs git and records a decision.
      await new Promise<void>((resolve) => void parts.clock.after(lookMs, resolve))
      await whileAtWork(parts, session, chosen.sdkSessionId, signal)
      if (signal.aborted) return undefined
    }
  } catch (error) {
    parts.log.warn(
      { event: 'choice-failed', coding: session.id, error: String(error) },
      'The choice of a session for a queued task failed; starting a new one.',
    )
    return undefined
  }
}

/** Waits while the session to continue, or any other when none is named, is at work in the repository. */
async function whileAtWork(
  { repos, clock }: Pick<CodingParts, 'repos' | 'clock'>,
  { id, request }: CodingSession,
  sdkSessionId: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const isAtWork = (): boolean => {
    const working = repos.workingIn(request.workdir, id)
    return sdkSessionId === undefined
      ? working.length > 0
      : working.some((other) => other.sdkSessionId === sdkSessionId)
  }
  while (isAtWork() && !signal.aborted) {
    await new Promise<void>((resolve) => void clock.after(lookMs, resolve))
  }
}
