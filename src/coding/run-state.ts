// Whether a coding session runs, works, and has a process that owns it.
import { hostname } from 'node:os'
import type { CodingSession } from '../domain/coding.ts'
import { isSameProcess } from '../store/process-identity.ts'

export function isRunning(session: CodingSession): boolean {
  return session.status === 'starting' || session.status === 'running'
}

export function isWorking(session: CodingSession): boolean {
  return isRunning(session) && session.lifecycle !== 'awaiting-input'
}

export function ownerLives(session: CodingSession): boolean {
  const { owner } = session
  // On another machine nobody here can tell; its own Rockpool will.
  if (!owner || owner.host !== hostname()) return owner !== undefined
  return isSameProcess(owner)
}
