// A label: the name that a person gives to a session. It is shown in tables, menus and chats, so it is one short line of
// visible characters. The store keeps labels unique.

export const SESSION_LABEL_MAX_LENGTH = 64

export type ParsedSessionLabel = { ok: true; label: string } | { ok: false; error: string }

/** Characters that control a terminal, reorder the line or are invisible; joiners and variation selectors are allowed. */
const invisible =
  /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]|(?!\p{Join_Control}|\p{Variation_Selector})\p{Default_Ignorable_Code_Point}/u

/** Texts that `--session-key` reads as a key. */
const keyLike = /^(?:agent:.*|main|global|unknown)$/i

/** `mainKey` is the configured name of the main session; a label must not look like it. */
export function parseSessionLabel(raw: unknown, names: { mainKey?: string } = {}): ParsedSessionLabel {
  if (typeof raw !== 'string') return refuse('a label is text')
  if (!raw.isWellFormed() || invisible.test(raw)) return refuse('it has control or invisible characters')
  const label = raw.trim()
  if (label === '') return refuse('it is empty')
  if (keyLike.test(label) || label.toLowerCase() === names.mainKey?.trim().toLowerCase())
    return refuse('it reads like the key of a session')
  const length = Array.from(label).length
  if (length <= SESSION_LABEL_MAX_LENGTH) return { ok: true, label }
  return refuse(`it has ${length} characters; at most ${SESSION_LABEL_MAX_LENGTH} are allowed`)
}

function refuse(why: string): ParsedSessionLabel {
  return { ok: false, error: `invalid label: ${why}` }
}
