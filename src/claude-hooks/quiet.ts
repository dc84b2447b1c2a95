// Sessions whose permission dialogs are shown in their terminal only: one empty file for each, so that a restart does not forget it.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export function isQuiet(stateDir: string, sessionId: string): boolean {
  return existsSync(fileOf(stateDir, sessionId))
}

export function setQuiet(stateDir: string, sessionId: string, quiet: boolean): void {
  const path = fileOf(stateDir, sessionId)
  if (!quiet) return rmSync(path, { force: true })
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, '', { mode: 0o600 })
}

function fileOf(stateDir: string, sessionId: string): string {
  return join(stateDir, 'claude', 'quiet', sessionId)
}
