// Is there room in the queue for one more session: on this machine, and for its repository?
import type { CodingParts } from '../coding-parts.ts'
import { queueFull, repoTaken } from '../refusals.ts'
import { isOn } from '../session/run-state.ts'

type Parts = Pick<CodingParts, 'store' | 'repos' | 'config' | 'machine'>

/** Throws when there is none. A launch beyond `maxSessions` is no error: it waits in the queue. */
export function checkRoom({ store, repos, config, machine }: Parts, workdir: string): void {
  const { maxQueued, perRepo } = config
  const waiting = store
    .list({ running: true })
    .filter((session) => session.lifecycle === 'queued' && isOn(machine, session))
  if (waiting.length >= maxQueued) throw queueFull(waiting.length)
  const working = repos.workingIn(workdir)
  const queued = repos.queuedIn(workdir)
  // Sessions that were launched a moment ago still count as queued.
  const [first] = [...working, ...queued]
  const isFull = working.length + queued.length >= perRepo.running + perRepo.queued
  if (first && isFull) throw repoTaken(first, working.length + queued.length - 1)
}
