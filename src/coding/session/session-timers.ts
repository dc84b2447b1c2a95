// The timers of a running session: silence although no tool runs, a turn that takes long, no message from a person. A running
// tool and an open question are not silence.
import type { Clock } from '../../domain/clock.ts'

const silenceMs = 15_000
const longRunMs = 10 * 60_000

interface TimerActions {
  isBusy(): boolean
  /** Claude is silent and no tool runs, but the stream did not report the end of the turn. */
  onSilence(): void
  /** The session did nothing for the longest time that its launch allows. */
  onStuck(seconds: number): void
  onLongRun(): void
  onIdle(): void
}

type TimerName = 'silence' | 'stuck' | 'long-run' | 'idle'

export type SessionTimers = ReturnType<typeof makeSessionTimers>

export function makeSessionTimers(clock: Clock, stuckSeconds: number | undefined, actions: TimerActions) {
  const running = new Map<TimerName, () => void>()
  const openTools = new Set<string>()
  const stop = (...names: TimerName[]): void => {
    for (const name of names) {
      running.get(name)?.()
      running.delete(name)
    }
  }
  const start = (name: TimerName, ms: number, action: () => void): void => {
    stop(name)
    running.set(name, clock.after(ms, action))
  }
  /** Claude sent something. The stream reports when Claude waits; these timers catch the case that it does not. */
  const activity = (): void => {
    if (stuckSeconds !== undefined)
      start('stuck', stuckSeconds * 1_000, () => {
        if (openTools.size > 0) activity()
        else actions.onStuck(stuckSeconds)
      })
    start('silence', silenceMs, () => {
      if (openTools.size === 0 && !actions.isBusy()) actions.onSilence()
    })
  }
  return {
    activity,
    turnStarted(): void {
      start('long-run', longRunMs, () => actions.onLongRun())
      activity()
    },
    toolStarted: (toolUseId: string) => void openTools.add(toolUseId),
    toolEnded: (toolUseId: string) => void openTools.delete(toolUseId),
    questionAsked: () => stop('stuck'),
    turnEnded(): void {
      stop('silence', 'stuck', 'long-run')
      openTools.clear()
    },
    waitForMessage: (idleMs: number) => start('idle', idleMs, () => actions.onIdle()),
    messageArrived: () => stop('idle'),
    stopAll: () => stop(...running.keys()),
  }
}
