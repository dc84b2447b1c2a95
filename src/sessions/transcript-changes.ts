// Changes of our own transcript that are not part of a turn: texts that reached the person in another way, changed
// settings, and shortening.
import { basename } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { EntryBody, UntrustedWriter } from '../domain/transcript.ts'
import type { TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { emitChange, refuseBusy, requireSession, type SessionParts } from './session-parts.ts'

type MirrorResult = { ok: true } | { ok: false; reason: string }

/** Records a notice or a message that a tool sent, so that the transcript reads as the person saw the conversation. */
export async function mirrorDelivery(
  parts: { transcripts: TranscriptStore; clock: Clock },
  session: { key: string; entry: SessionEntry },
  delivered: { text?: string; mediaUrls?: string[]; writer?: UntrustedWriter },
): Promise<MirrorResult> {
  const text = mirrorText(delivered)
  if (text === undefined) return { ok: false, reason: 'empty text' }
  const body = deliveryMirror(text, parts.clock.now(), delivered.writer)
  await parts.transcripts.append(transcriptOf(session), [body], { cwd: '', key: session.key })
  return { ok: true }
}

export function deliveryMirror(text: string, now: number, writer?: UntrustedWriter): EntryBody {
  return assistantMessage(text, 'delivery-mirror', now, writer)
}

/** An assistant's message without a call to a model, with the names by which OpenClaw recognizes it. */
export function assistantMessage(
  text: string,
  model: string,
  timestamp: number,
  writer?: UntrustedWriter,
): EntryBody {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  return {
    type: 'message',
    message: {
      role: 'assistant',
      ...(writer ? { writer } : {}),
      content: [{ type: 'text', text }],
      api: 'openai-responses',
      provider: 'openclaw',
      model,
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
      stopReason: 'stop',
      timestamp,
    },
  }
}

/** The text, then the names of the files: `photo.png, report.pdf`. */
function mirrorText({ text, mediaUrls = [] }: { text?: string; mediaUrls?: string[] }): string | undefined {
  const names = mediaUrls.map(fileName).filter((name) => name !== '')
  const files = mediaUrls.length > 0 && names.length === 0 ? 'media' : names.join(', ')
  return [text?.trim(), files].filter(Boolean).join('\n\n') || undefined
}

function fileName(url: string): string {
  const path = url.trim().split(/[?#]/)[0]!
  try {
    return decodeURIComponent(basename(path))
  } catch {
    // The name has a percent sign that starts no escape.
    return basename(path)
  }
}

export const defaultThinkingLevel = 'off'

/**
 * Appends an entry for each changed setting, as pi does. `agentModel` is the model without an override, if known. A session
 * without a transcript gets none for this: its first turn records the settings with which it starts.
 */
export async function recordSettingChanges(
  transcripts: TranscriptStore,
  session: { key: string; before: SessionEntry | undefined; entry: SessionEntry },
  agentModel: string | undefined,
): Promise<void> {
  const { key, before, entry } = session
  const bodies: EntryBody[] = []
  const modelId = entry.modelOverride ?? agentModel
  if (before?.modelOverride !== entry.modelOverride && modelId !== undefined)
    bodies.push({ type: 'model_change', provider: entry.providerOverride ?? 'anthropic', modelId })
  if (before?.thinkingLevel !== entry.thinkingLevel) bodies.push(thinkingChange(entry.thinkingLevel))
  const transcript = transcriptOf({ key, entry })
  if (bodies.length === 0 || !(await transcripts.exists(transcript))) return
  await transcripts.append(transcript, bodies, { cwd: '', key })
}

export function thinkingChange(thinkingLevel = defaultThinkingLevel): EntryBody {
  return { type: 'thinking_level_change', thinkingLevel }
}

interface TruncateResult {
  key: string
  compacted: boolean
  kept: number
  archived?: string
  /** Claude has this conversation, too, and its copy is as long as before. */
  claudeUnchanged: boolean
}

/** Cuts our transcript to its last lines. Claude's own transcript is not ours to cut: Claude compacts that itself. */
export async function truncateTranscript(
  parts: SessionParts,
  key: string,
  maxLines = 400,
): Promise<TruncateResult> {
  if (!Number.isInteger(maxLines) || maxLines < 1)
    throw new RockpoolError('input-invalid', `--max-lines is a whole number from 1 on, not ${maxLines}.`)
  await refuseBusy(parts, key, 'shortened')
  const session = await requireSession(parts, key)
  const claudeUnchanged = typeof session.entry.sdkSessionId === 'string'
  const ref = transcriptOf(session)
  if (!(await parts.transcripts.exists(ref))) return { key, compacted: false, kept: 0, claudeUnchanged }
  const { kept, dropped, archived } = await parts.transcripts.truncate(ref, maxLines)
  if (dropped > 0) emitChange(parts, key, 'compacted')
  return { key, compacted: dropped > 0, kept, claudeUnchanged, archived }
}
