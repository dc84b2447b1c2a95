// Wakes an idle terminal session: Claude Code watches one file for each session and calls the FileChanged hook when the file
// changes. The content of the file does not matter; the hook asks the gateway for the text.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The plugin names the same path (plugins/claude-code/files/hooks/start.sh), so that a session that starts without a gateway can
 *  be woken later. */
export function wakeFile(stateDir: string, sessionId: string): string {
  return join(stateDir, 'claude', 'wake', sessionId)
}

/** The file that Claude Code shall watch. It notices no file in a folder that is created later. */
export function watchedFile(stateDir: string, sessionId: string): string {
  const path = wakeFile(stateDir, sessionId)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return path
}

/** Makes the FileChanged hook of the session run, within about a second, if the session lives and has the plugin. */
export function wakeSession(stateDir: string, sessionId: string, now: number): void {
  writeFileSync(watchedFile(stateDir, sessionId), `${now}\n`, { mode: 0o600 })
}

export function removeWakeFile(stateDir: string, sessionId: string): void {
  rmSync(wakeFile(stateDir, sessionId), { force: true })
}
