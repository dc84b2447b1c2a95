// Is there room for one more session: in all, and in its repository?
import type { CodingParts } from '../coding-parts.ts'
import { noRoom, repoTaken } from '../refusals.ts'
import { isOn, isRunning } from '../session/run-state.ts'

type Parts = Pick<CodingParts, 'store' | 'ownerLives' | 'repos' | 'config' | 'machine'>

/** Throws when there is none, and says who takes it. */
export function checkRoom({ store, ownerLives, repos, config, machine }: Parts, workdir: string): void {
  const { maxSessions, perRepo } = config
  const running = store
    .list({ running: true })
    .filter((session) => isRunning(session) && isOn(machine, session) && ownerLives(session))
  if (running.length >= maxSessions) throw noRoom(running, maxSessions)
  const working = repos.workingIn(workdir)
  const queued = repos.queuedIn(workdir)
  // Those that were launched a moment ago still count as queued.
  const [first] = [...working, ...queued]
  const isFull = working.length + queued.length >= perRepo.running + perRepo.queued
  if (first && isFull) throw repoTaken(first, working.length + queued.length - 1)
}
