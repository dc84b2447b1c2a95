// Labels: names that people give to sessions. Short, on one line, and showing nothing but what they say.

export const SESSION_LABEL_MAX_LENGTH = 64

export type ParsedSessionLabel = { ok: true; label: string } | { ok: false; error: string }

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

export function parseSessionLabel(raw: unknown): ParsedSessionLabel {
  if (typeof raw !== 'string') return { ok: false, error: 'a label is a text.' }
  const label = raw.trim()
  if (label === '') return { ok: false, error: 'a label may not be empty.' }
  // Characters as people count them: an emoji is one.
  const length = Array.from(label).length
  if (length > SESSION_LABEL_MAX_LENGTH) {
    return {
      ok: false,
      error: `a label has at most ${SESSION_LABEL_MAX_LENGTH} characters; this one has ${length}.`,
    }
  }
  if (invisible.test(label.replaceAll('\u200d', ''))) {
    return {
      ok: false,
      error: 'a label may not hold control characters or ones that turn the direction of writing.',
    }
  }
  return { ok: true, label }
}
