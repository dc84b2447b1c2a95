// A name that one process has until it gives it back or ends: a bot's token is polled once.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { FileLock } from './file-lock.ts'

/** Resolves to what gives the name back; rejects with `locked` at once while another live process has it. */
export function holdName(folder: string, name: string): Promise<() => Promise<void>> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = new FileLock(join(folder, name), { timeoutMs: 100 })
  return new Promise((resolve, reject) => {
    const held = lock.hold(name, () => {
      return new Promise<void>((giveBack) => {
        resolve(async () => {
          giveBack()
          await held
        })
      })
    })
    held.catch((error: unknown) => reject(inUse(name, error)))
  })
}

function inUse(name: string, error: unknown): unknown {
  if (!(error instanceof RockpoolError) || error.code !== 'locked') return error
  return new RockpoolError('locked', `${name} is in use by another process: ${error.message}`, {
    hint: 'Stop the other Rockpool, or give this one a bot of its own.',
    cause: error,
  })
}
