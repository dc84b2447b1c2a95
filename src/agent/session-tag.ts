// The tag of a session in Claude's own transcript: whose it is. Written as the SDK's `tagSession` writes it, which
// cannot be told where Claude's directory is.
import { appendFile } from 'node:fs/promises'
import { findTranscript } from './resume.ts'

/** False while there is no transcript yet: Claude writes its first lines when the first turn runs. */
export async function tagTranscript(configDir: string, sdkSessionId: string, tag: string): Promise<boolean> {
  const path = findTranscript(configDir, sdkSessionId)
  if (!path) return false
  // One whole line in one write at the end of the file, so Claude's own lines stay whole.
  await appendFile(path, `${JSON.stringify({ type: 'tag', tag, sessionId: sdkSessionId })}\n`)
  return true
}
