// What was said to the person by another way than a turn (a notice, a message sent by a tool) is written into the
// transcript, so that the conversation reads as the person saw it.
import { basename } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { EntryBody } from '../domain/transcript.ts'
import type { TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'

export type MirrorResult = { ok: true } | { ok: false; reason: string }

export async function mirrorDelivery(
  parts: { transcripts: TranscriptStore; clock: Clock },
  session: { key: string; entry: SessionEntry },
  delivered: { text?: string; mediaUrls?: string[] },
): Promise<MirrorResult> {
  const text = mirrorText(delivered)
  if (text === undefined) return { ok: false, reason: 'empty text' }
  const body = deliveryMirror(text, parts.clock.now())
  await parts.transcripts.append(transcriptOf(session), [body], { cwd: '', key: session.key })
  return { ok: true }
}

/** An assistant's message that no model made, in the words by which OpenClaw knows it. */
export function deliveryMirror(text: string, now: number): EntryBody {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  return {
    type: 'message',
    message: {
      role: 'assistant',
      content: [{ type: 'text', text }],
      api: 'openai-responses',
      provider: 'openclaw',
      model: 'delivery-mirror',
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
      stopReason: 'stop',
      timestamp: now,
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
    // A name with a stray percent sign is a name all the same.
    return basename(path)
  }
}
