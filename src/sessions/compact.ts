// Shortening our own transcript of a session to its last lines. What Claude remembers is not ours to cut: for that
// Claude itself is asked to compact.
import { RockpoolError } from '../domain/errors.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { refuseBusy, requireSession, tellChange } from './session-parts.ts'
import type { SessionParts } from './session-parts.ts'

export const defaultMaxLines = 400

export interface TruncateResult {
  key: string
  compacted: boolean
  kept: number
  archived?: string
  /** The session is bound to a conversation of Claude's, and that one is as long as before. */
  claudeUnchanged: boolean
}

export async function truncateTranscript(
  parts: SessionParts,
  key: string,
  maxLines = defaultMaxLines,
): Promise<TruncateResult> {
  if (!Number.isInteger(maxLines) || maxLines < 1) {
    throw new RockpoolError('input-invalid', `--max-lines is a whole number from 1 on, not ${maxLines}.`)
  }
  await refuseBusy(parts, key, 'shortened')
  const session = await requireSession(parts, key)
  const claudeUnchanged = typeof session.entry.sdkSessionId === 'string'
  const ref = transcriptOf(session)
  if (!(await parts.transcripts.exists(ref))) return { key, compacted: false, kept: 0, claudeUnchanged }
  const { kept, dropped, archived } = await parts.transcripts.truncate(ref, maxLines)
  if (dropped > 0) tellChange(parts, key, 'compacted')
  return {
    key,
    compacted: dropped > 0,
    kept,
    claudeUnchanged,
    ...(archived === undefined ? {} : { archived }),
  }
}
