// Composes replies from what the agent said: heartbeat tokens removed, directives carried out.
import type { Reply } from '../domain/reply.ts'
import { parseDirectives, stripHeartbeatToken } from './directives.ts'

export interface ComposeOptions {
  isHeartbeat?: boolean
  /** The message that `[[reply_to_current]]` answers. */
  currentMessageId?: string
}

export interface Composed {
  /** `media` has paths in the workspace. */
  replies: Reply[]
  /** Files that may not be sent, with the reason. */
  refused: string[]
}

export function composeReplies(said: readonly string[], options: ComposeOptions = {}): Composed {
  const refused: string[] = []
  const replies = said.flatMap((text) => replyOf(text, options, refused))
  return { replies, refused }
}

function replyOf(said: string, options: ComposeOptions, refused: string[]): Reply[] {
  const mode = options.isHeartbeat ? 'heartbeat' : 'message'
  const stripped = stripHeartbeatToken(said, { mode })
  if (stripped.didStrip && stripped.shouldSkip) return []
  const parsed = parseDirectives(stripped.didStrip ? stripped.text : said, options.currentMessageId)
  refused.push(...parsed.refused)
  const { text, media, replyToId, audioAsVoice } = parsed
  if (text === '' && !media && !audioAsVoice) return []
  return [{ text: text || undefined, media, replyToId, audioAsVoice }]
}
