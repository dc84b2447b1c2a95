// Composes replies from what the agent said. The agent writes directives into its text: `[[reply_to_current]]`,
// `[[reply_to:id]]`, `[[audio_as_voice]]`, lines `MEDIA:path`, and the words NO_REPLY and HEARTBEAT_OK. Text inside code is
// never a directive.
import type { Reply } from '../domain/reply.ts'

interface ComposeOptions {
  isHeartbeat?: boolean
  /** The message that `[[reply_to_current]]` answers. */
  currentMessageId?: string
}

interface Composed {
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

export interface ParsedDirectives {
  text: string
  /** The agent chose not to reply. */
  isSilent: boolean
  /** Files to send, as paths in the workspace. */
  media?: string[]
  replyToId?: string
  /** Set by a reply directive: does it name the current message? */
  replyToCurrent?: boolean
  audioAsVoice?: boolean
  /** Files that may not be sent, with the reason. */
  refused: string[]
}

export function parseDirectives(raw: string, currentMessageId?: string): ParsedDirectives {
  const found: ParsedDirectives = { text: '', isSilent: false, refused: [] }
  const lines: string[] = []
  for (const { line, isCode } of linesOf(raw)) {
    if (isCode) lines.push(line)
    else if (!takeMedia(line, found)) lines.push(takeTags(line, found, currentMessageId))
  }
  const text = lines.join('\n').trim()
  found.isSilent = isSilentReplyText(text) || (text === '' && isSilentReplyText(raw))
  found.text = found.isSilent ? '' : stripSilentToken(text)
  return found
}

function takeMedia(line: string, found: ParsedDirectives): boolean {
  const match = /^\s{0,3}(?:[-*]\s{1,3})?MEDIA:\s{0,4}(.+)$/.exec(line)
  if (!match) return false
  const path = match[1]!.trim().replace(/^([`"'])(.*)\1$/, '$2')
  // A link stays in the text; the reader decides whether to open it.
  if (/^https?:\/\//i.test(path)) return false
  const reason = reasonToRefuse(path)
  if (reason === undefined) found.media = [...(found.media ?? []), path]
  else found.refused.push(`${path}: ${reason}`)
  return true
}

/** Only relative paths inside the workspace; whether the turn may send the file is checked when it is attached. */
function reasonToRefuse(path: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|~|\/|\\|[A-Za-z]:[\\/])/i.test(path))
    return 'only files of the workspace can be sent'
  return path.split(/[\\/]/).includes('..') ? 'a path may not leave the workspace' : undefined
}

const tags =
  /\[\[\s{0,4}(reply_to_current|reply_to\s{0,4}:\s{0,4}([^\]\n]{1,200})|audio_as_voice)\s{0,4}\]\][ \t]?/gi

function takeTags(line: string, found: ParsedDirectives, currentMessageId: string | undefined): string {
  return outsideInlineCode(line, (part) =>
    part.replace(tags, (_, tag: string, id: string | undefined) => {
      if (tag.toLowerCase() === 'audio_as_voice') {
        found.audioAsVoice = true
        return ''
      }
      const replyToId = id?.trim() ?? currentMessageId
      found.replyToCurrent = id === undefined
      if (replyToId !== undefined) found.replyToId = replyToId
      return ''
    }),
  )
}

function outsideInlineCode(line: string, change: (part: string) => string): string {
  return line
    .split(/(`[^`\n]+`)/)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('')
}

function* linesOf(text: string): Generator<{ line: string; isCode: boolean }> {
  let fence: string | undefined
  for (const line of text.split('\n')) {
    const mark = /^\s{0,3}(```+|~~~+)/.exec(line)?.[1]
    const closes = fence !== undefined && mark !== undefined && mark.startsWith(fence)
    yield { line, isCode: fence !== undefined || mark !== undefined }
    if (fence === undefined) fence = mark
    else if (closes) fence = undefined
  }
}

export const HEARTBEAT_TOKEN = 'HEARTBEAT_OK'
export const SILENT_REPLY_TOKEN = 'NO_REPLY'

/** A heartbeat with HEARTBEAT_OK and at most this much text is not sent. */
const maxAcknowledgement = 300

interface StrippedHeartbeat {
  /** Nothing is left to send. */
  shouldSkip: boolean
  text: string
  didStrip: boolean
}

/** Removes HEARTBEAT_OK from the start and the end, in bold or code too. */
export function stripHeartbeatToken(
  raw: string | undefined,
  options: { mode?: 'heartbeat' | 'message'; maxAckChars?: number } = {},
): StrippedHeartbeat {
  const { mode = 'message', maxAckChars = maxAcknowledgement } = options
  let text = raw?.trim() ?? ''
  if (text === '') return { shouldSkip: true, text: '', didStrip: false }
  if (!text.includes(HEARTBEAT_TOKEN)) return { shouldSkip: false, text, didStrip: false }
  const before = text
  text = stripAtEdges(text)
  if (text === '') return { shouldSkip: true, text: '', didStrip: true }
  if (text === before) return { shouldSkip: false, text, didStrip: false }
  const isAcknowledgement = mode === 'heartbeat' && text.length <= maxAckChars
  return isAcknowledgement
    ? { shouldSkip: true, text: '', didStrip: true }
    : { shouldSkip: false, text, didStrip: true }
}

const atStart = /^(?:<[a-z]{1,10}>|[*_`~]{1,3})?HEARTBEAT_OK(?:<\/[a-z]{1,10}>|[*_`~]{1,3})?(?![\w])[.!]?/
const atEnd = /(?<![\w])(?:<[a-z]{1,10}>|[*_`~]{1,3})?HEARTBEAT_OK(?:<\/[a-z]{1,10}>|[*_`~]{1,3})?[.!]?$/

function stripAtEdges(text: string): string {
  let rest = text
  for (;;) {
    const next = rest.replace(atStart, '').replace(atEnd, '').trim()
    if (next === rest) return rest
    rest = next
  }
}

/** Is the whole text NO_REPLY? Case, quotes, dots and emphasis do not matter. */
export function isSilentReplyText(text: string | undefined): boolean {
  return text !== undefined && /^[\s"'*_`~.([]*NO_REPLY[\s"'*_`~.)\]]*$/i.test(text)
}

/** Removes NO_REPLY from the end if it is on a line of its own below other text. */
function stripSilentToken(text: string): string {
  return text.replace(/\n[*_`~ \t]{0,8}NO_REPLY[*_`~. \t]{0,8}\s*$/, '').trimEnd()
}
