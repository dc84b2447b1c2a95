// Directives that the agent writes into its text: `[[reply_to_current]]`, `[[reply_to:id]]`, `[[audio_as_voice]]`,
// lines `MEDIA:path`, and NO_REPLY. Text inside code is never a directive.
import type { ReplyPayload } from './payload.ts'
import { isSilentReplyText, stripSilentToken } from './silent-tokens.ts'

export interface ParsedDirectives extends ReplyPayload {
  text: string
  /** The agent chose to say nothing. */
  isSilent: boolean
  /** What was asked for and refused, with the reason. */
  refused: string[]
}

export function parseReplyDirectives(
  raw: string,
  options: { currentMessageId?: string; mayAttach?: (path: string) => string | undefined } = {},
): ParsedDirectives {
  const mayAttach = options.mayAttach ?? refuseOutside
  const found: ParsedDirectives = { text: '', isSilent: false, refused: [] }
  const lines: string[] = []
  for (const { line, isCode } of linesOf(raw)) {
    if (isCode) lines.push(line)
    else if (!takeMedia(line, found, mayAttach)) lines.push(takeTags(line, found, options.currentMessageId))
  }
  const text = lines.join('\n').trim()
  found.isSilent = isSilentReplyText(text) || (text === '' && isSilentReplyText(raw))
  found.text = found.isSilent ? '' : stripSilentToken(text)
  return found
}

/** Only names inside the folder that the turn may send from; `mayAttach` knows which one that is. */
export function refuseOutside(path: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|~|\/|\\|[A-Za-z]:[\\/])/i.test(path))
    return 'only files of the workspace can be sent'
  if (path.split(/[\\/]/).includes('..')) return 'a path may not leave the workspace'
  return undefined
}

function takeMedia(
  line: string,
  found: ParsedDirectives,
  mayAttach: (path: string) => string | undefined,
): boolean {
  const match = /^\s{0,3}(?:[-*]\s{1,3})?MEDIA:\s{0,4}(.+)$/.exec(line)
  if (!match) return false
  const path = match[1]!.trim().replace(/^([`"'])(.*)\1$/, '$2')
  // A link stays in the text; the reader decides whether to open it.
  if (/^https?:\/\//i.test(path)) return false
  const reason = mayAttach(path)
  if (reason === undefined) found.mediaUrls = [...(found.mediaUrls ?? []), path]
  else found.refused.push(`${path}: ${reason}`)
  return true
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
      found.replyToTag = true
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
