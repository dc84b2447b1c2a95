// A label: the name that a person gives to a session. It is shown in tables, menus and chats, so it is one short
// line of visible characters. That it is unique is the store's care.

export const SESSION_LABEL_MAX_LENGTH = 64

export type ParsedSessionLabel = { ok: true; label: string } | { ok: false; error: string }

/** Characters that steer a terminal or reorder the line around them. */
const invisible = /[\p{Cc}\p{Cs}\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u

export function parseSessionLabel(raw: unknown): ParsedSessionLabel {
  if (typeof raw !== 'string') return refuse('a label is text')
  if (!raw.isWellFormed() || invisible.test(raw)) return refuse('it has control or invisible characters')
  const label = raw.trim()
  if (label === '') return refuse('it is empty')
  const length = Array.from(label).length
  if (length <= SESSION_LABEL_MAX_LENGTH) return { ok: true, label }
  return refuse(`it has ${length} characters; at most ${SESSION_LABEL_MAX_LENGTH} are allowed`)
}

function refuse(why: string): ParsedSessionLabel {
  return { ok: false, error: `invalid label: ${why}` }
}
