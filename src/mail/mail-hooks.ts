// Mail for sessions that people run in a terminal, as answers to the events that Rockpool's plugin reports. A working session gets
// its mail after the tools of the moment, a new one at its start, an idle one when its wake file has changed.
import type { ClaudeHookContributor, ClaudeHookAnswer, ClaudeHookEvent } from '../domain/claude-hook.ts'
import type { Clock } from '../domain/clock.ts'
import type { Handout, PostOffice } from './post-office.ts'

/** Later answers are dropped (claude-hooks/answers.ts), so a handout that is late is ready for the next event, which then needs no
 *  database. Without an event it waits again. */
const lateMs = 200
const readyMs = 5_000
/** An answer that was not sent after this time was dropped, or its session has gone. */
const sentMs = 3_000

export function mailHooks(office: () => PostOffice, clock: Clock): ClaudeHookContributor {
  const late = new LateHandouts(clock)
  return {
    name: 'mail',
    events: ['SessionStart', 'UserPromptSubmit', 'PostToolBatch', 'Stop', 'FileChanged', 'SessionEnd'],
    async answer(event) {
      const { name, sessionId, subagentId } = event
      const since = clock.monotonic()
      // A sub-agent has a conversation of its own, which ends soon.
      if (subagentId !== undefined) return undefined
      if (name !== 'SessionStart' && name !== 'SessionEnd') await office().noticed(sessionId)
      if (name === 'Stop') return nothing(office().turnEnded(sessionId, event.transcriptPath))
      if (name === 'SessionEnd') return nothing(office().ended(sessionId))
      if (name === 'SessionStart') await started(office(), event)
      if (name === 'UserPromptSubmit') await office().prompted(sessionId)
      const handout = late.take(sessionId) ?? (await office().collect(sessionId))
      if (clock.monotonic() - since < lateMs) return handOut(handout, clock)
      if (handout) late.add(sessionId, handout)
      return undefined
    },
  }
}

class LateHandouts {
  readonly #clock: Clock
  readonly #ready = new Map<string, { handout: Handout; cancel: () => void }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(sessionId: string, handout: Handout): void {
    // Another event of the session was late at the same time.
    void this.take(sessionId)?.keep()
    const cancel = this.#clock.after(readyMs, () => void this.take(sessionId)?.keep())
    this.#ready.set(sessionId, { handout, cancel })
  }

  take(sessionId: string): Handout | undefined {
    const { handout, cancel } = this.#ready.get(sessionId) ?? {}
    cancel?.()
    this.#ready.delete(sessionId)
    return handout
  }
}

async function nothing(work: Promise<void>): Promise<undefined> {
  await work
}

/** After `/clear` the process has a session with another id. */
async function started(office: PostOffice, { sessionId, pid, source }: ClaudeHookEvent): Promise<void> {
  if (source !== 'compact') await office.started(sessionId, { pid, source })
}

function handOut(handout: Handout | undefined, clock: Clock): ClaudeHookAnswer | undefined {
  if (!handout) return undefined
  const cancel = clock.after(sentMs, () => void handout.unsure())
  return {
    additionalContext: handout.text,
    onSent() {
      cancel()
      void handout.arrived()
    },
    onDropped() {
      cancel()
      void handout.keep()
    },
  }
}
