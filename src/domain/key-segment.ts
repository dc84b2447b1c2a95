// One variable part of a session key: an id from a platform, made safe and taken back. Keys are lower case and split
// at `:`, and OpenClaw lower-cases every key that it reads; so whatever would not survive that is percent-escaped
// with lower-case hex digits. A plain id stays exactly as OpenClaw writes it.

/** Platforms on which case says nothing: `C1` and `c1` are one channel. Everywhere else it may tell people apart. */
const caselessPlatforms = new Set(['slack', 'irc', 'imessage'])

/** Words with a place of their own in a key. Somebody with such a name is escaped, never confused with them. */
const structuralWords = new Set(
  'direct dm group channel thread topic heartbeat run subagent cron hook node acp dashboard explicit'.split(
    ' ',
  ),
)

/** The id as a key segment; two ids give one segment only if the platform says that they are one id. */
export function encodeId(id: string, platform?: string): string {
  const folded = platform !== undefined && caselessPlatforms.has(platform) ? id.toLowerCase() : id
  if (structuralWords.has(folded)) return escape(folded[0]!) + folded.slice(1)
  let segment = ''
  for (const char of folded) segment += isPlain(char) ? char : escape(char)
  return segment
}

// No escape begins like this, so a segment that does can be no other id's.
const apart = '%.'

/** The same id in another spelling, for when the plain spelling already belongs to another id. */
export function setApart(segment: string): string {
  return apart + segment
}

/** A segment written by another program, in our spelling. Our own segments are returned unchanged. */
export function rewriteId(segment: string, platform?: string): string {
  return (segment.startsWith(apart) ? apart : '') + encodeId(decodeId(segment), platform)
}

/** The id that a segment stands for. A `%` that begins no escape is itself: older programs did not escape. */
export function decodeId(segment: string): string {
  const plain = segment.startsWith(apart) ? segment.slice(apart.length) : segment
  return plain.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = run
      .slice(1)
      .split('%')
      .map((hex) => Number.parseInt(hex, 16))
    return decodeBytes(bytes) ?? run
  })
}

function isPlain(char: string): boolean {
  return /^[!-~]$/.test(char) && !/[A-Z:%]/.test(char)
}

function escape(char: string): string {
  return encodeBytes(char.codePointAt(0)!)
    .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
    .join('')
}

// UTF-8 by hand, because a lone half of a surrogate pair is a possible id and the platform's encoder drops it.
function encodeBytes(code: number): number[] {
  const tail = (shift: number): number => 0x80 | ((code >> shift) & 0x3f)
  if (code < 0x80) return [code]
  if (code < 0x800) return [0xc0 | (code >> 6), tail(0)]
  if (code < 0x10000) return [0xe0 | (code >> 12), tail(6), tail(0)]
  return [0xf0 | (code >> 18), tail(12), tail(6), tail(0)]
}

function decodeBytes(bytes: number[]): string | undefined {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at]!
    const extra = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : -1
    const tail = bytes.slice(at + 1, at + 1 + extra)
    if (extra < 0 || tail.length < extra || tail.some((byte) => byte >> 6 !== 2)) return undefined
    const code = tail.reduce(
      (value, byte) => (value << 6) | (byte & 0x3f),
      extra === 0 ? lead : lead & (0x3f >> extra),
    )
    if (code > 0x10ffff) return undefined
    text += String.fromCodePoint(code)
    at += 1 + extra
  }
  return text
}
