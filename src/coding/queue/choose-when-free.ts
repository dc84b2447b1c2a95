// What a queued task goes on with is chosen when its turn comes, not when it was asked for: whoever worked before it has
// left something that is worth going on with.
import type { CodingRequest, CodingSession } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'

const lookMs = 500

/** The conversation to go on with, or undefined for a new one. A choice that cannot be made is said and starts afresh. */
export async function chooseWhenFree(
  parts: Pick<CodingParts, 'choose' | 'repos' | 'clock' | 'log'>,
  session: CodingSession,
  signal: AbortSignal,
): Promise<CodingRequest['resume']> {
  try {
    for (;;) {
      const chosen = await parts.choose(session)
      if (chosen.action !== 'queue') return chosen.resume
      await whileAtWork(parts, session, chosen.sdkSessionId, signal)
      if (signal.aborted) return undefined
    }
  } catch (error) {
    parts.log.warn(
      { coding: session.id, error: String(error) },
      'What a queued task should go on with could not be chosen; it begins afresh.',
    )
    return undefined
  }
}

/** The one that is waited for may work in this place beside us, when several may. */
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
