// Cleans a text from outside: line ends, wrappers that apps add, invisible characters, and imitations of our own markers.

/** `\r\n` and a literal `\n` become line ends, except a literal `\n` inside code or a Windows path. */
export function normalizeInboundTextNewlines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .split(codeParts)
    .map((part, index) => (index % 2 === 1 ? part : unescapeNewlines(part)))
    .join('')
}

// Fenced code (closed, or open to the end) and code inside a line. The group makes `split` keep them, at odd places.
const codeParts = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]+`)/

function unescapeNewlines(text: string): string {
  if (!text.includes('\\n')) return text
  let previous = ''
  return text
    .split(/("[A-Za-z]:\\[^"\n]{0,260}"|\s+)/)
    .map((word) => {
      const from = /^\s/.test(word) ? -1 : pathStart(word, previous)
      if (!/^\s/.test(word)) previous = from < 0 ? '' : word
      if (from < 0) return word.replaceAll('\\r\\n', '\n').replaceAll('\\n', '\n')
      return word.slice(0, from).replaceAll('\\r\\n', '\n').replaceAll('\\n', '\n') + word.slice(from)
    })
    .join('')
}

/** Where a Windows path begins in a word, or -1: a drive, a share, `.\`, `%HOME%\`, or the second half of
 *  `C:\Program Files\node`. */
function pathStart(word: string, previousPath: string): number {
  const start = /(?:^|[^A-Za-z]|\\n)[A-Za-z]:\\|^"?\\\\[^\\]|^"?(?:\.{1,2}|~|%\w{1,64}%)\\/.exec(word)
  if (start) return start.index + (/^\\n[A-Za-z]:/.test(start[0]) ? 2 : 0)
  return /\\[A-Z][^\\]*$/.test(previousPath) && /^[A-Z(]/.test(word) ? 0 : -1
}

/** Removes what an app puts before a message: `[Dec 4 17:35]`, `[WhatsApp 120363@g.us 2026-01-13T07:45Z] Alice:`. */
export function stripStructuralPrefixes(text: string): string {
  const marker = text.lastIndexOf(CURRENT_MESSAGE_MARKER)
  let rest = marker < 0 ? text : text.slice(marker + CURRENT_MESSAGE_MARKER.length).trimStart()
  for (let wrapper = timeWrapper.exec(rest); wrapper; wrapper = timeWrapper.exec(rest)) {
    rest = rest.slice(wrapper[0].length)
    if (envelope.test(wrapper[0])) rest = rest.replace(senderPrefix, '')
  }
  return rest
}

export const CURRENT_MESSAGE_MARKER = '[Current message - respond to this]'
export const HISTORY_CONTEXT_MARKER = '[Chat messages since your last reply - for context]'
export const QUEUED_MESSAGES_MARKER = '[Queued messages while agent was busy]'

// A bracket at the very beginning that holds a time of day or a date: `17:35`, `2026-01-13`, `12/4/25`.
const timeWrapper =
  /^\s*\[[^\]\n]{0,120}?(?:\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}|\d{1,2}\/\d{1,2}\/\d{2,4})[^\]\n]{0,60}\][ \t]*/
// Our own envelope ends its time with `Z` and is followed by the sender.
const envelope = /^\s*\[\S+ \S+ \S+T\d{2}:\d{2}Z\]/
const senderPrefix = /^[^\n:[\]]{1,64}:[ \t]+/

/** Removes invisible characters: controls, bidi overrides, zero-width and tag characters. Joiners inside words and emoji
 *  stay, because they change what is displayed. */
export function stripInvisible(text: string): string {
  return text.replace(invisible, '')
}

/** Does the text contain an invisible character? Such a text is never a command. */
export function hasInvisible(text: string): boolean {
  return text.search(invisible) >= 0 || /[\u200C\u200D]/.test(text)
}

// Tag characters stay after a black flag: they spell the flags of England, Scotland and Wales.
const invisible =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u115F\u1160\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF9-\uFFFB]|(?<!\u{1F3F4}[\u{E0020}-\u{E007E}]{0,8})[\u{E0000}-\u{E007F}]/gu

/** Text that imitates our own markers keeps its words but not its effect: the brackets become round. */
export function neutralizeMarkers(text: string): string {
  return text
    .replace(
      bracketMarkers,
      (marker) => `(${marker.slice(1, -1)}${marker.endsWith(']') ? ')' : marker.slice(-1)}`,
    )
    .replace(/^([ \t]*)System:(?=[ \t]*\[)/gim, '$1System (quoted):')
    .replace(/<<<(?=\s?\/?(?:UNTRUSTED|END))/gi, '((')
    .replace(tagMarkers, (tag) => `(${tag.slice(1, -1)})`)
    .replace(/Untrusted context \(metadata/gi, 'Untrusted context - (metadata')
}

/** Tags with which Claude Code marks text that the person did not write. */
const tagMarkers =
  /<\s*\/?\s*(?:system-reminder|system|conversation_history|command-(?:name|message|args|contents)|local-command-\w+|bash-(?:input|stdout|stderr)|task-notification|task-\w+|cross-session-message|teammate-message|agent-message|channel-message|user-prompt-submit-hook|user-memory-input|tool_use_error|function_results|persisted-output)(?:\s[^<>]*)?>/gi

const bracketMarkers =
  /\[(?:System(?: \w+)?\]|Request interrupted by user[^\]\n]*\]|\s*from\s*:|Chat messages since your last reply[^\]\n]*\]|Current message - respond to this\]|Queued messages while agent was busy\]|Retried(?: after a restart)?:[^\]\n]*\]|openclaw:agent=)/gi

/** A name from outside for use inside one of our lines: one line, no brackets, limited length. */
export function oneLine(text: string, maxChars = 200): string {
  const flat = neutralizeMarkers(stripInvisible(text.replace(/[\r\n\u2028\u2029\t]+/g, ' ')))
    .replace(/[[\]]/g, (bracket) => (bracket === '[' ? '(' : ')'))
    .replace(/ {2,}/g, ' ')
    .trim()
  return cutText(flat, maxChars)
}

/** Cuts between characters, never through the middle of one. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const end = /[\uD800-\uDBFF]/.test(text[maxChars - 2] ?? '') ? maxChars - 2 : maxChars - 1
  return `${text.slice(0, end)}…`
}
