// Words with which the agent says that it has nothing to say.

export const HEARTBEAT_TOKEN = 'HEARTBEAT_OK'
export const SILENT_REPLY_TOKEN = 'NO_REPLY'

/** After HEARTBEAT_OK a heartbeat may add this much and still count as silent. */
export const DEFAULT_HEARTBEAT_ACK_MAX_CHARS = 300

export interface StrippedHeartbeat {
  /** Nothing is left that is worth sending. */
  shouldSkip: boolean
  text: string
  didStrip: boolean
}

/** Takes HEARTBEAT_OK off the beginning and the end, also when it stands in bold or code. */
export function stripHeartbeatToken(
  raw: string | undefined,
  options: { mode?: 'heartbeat' | 'message'; maxAckChars?: number } = {},
): StrippedHeartbeat {
  const { mode = 'message', maxAckChars = DEFAULT_HEARTBEAT_ACK_MAX_CHARS } = options
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

/** Takes NO_REPLY off the end when it stands on a line of its own below something that was said. */
export function stripSilentToken(text: string): string {
  return text.replace(/\n[*_`~ \t]{0,8}NO_REPLY[*_`~. \t]{0,8}\s*$/, '').trimEnd()
}
