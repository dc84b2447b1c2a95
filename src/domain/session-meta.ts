// The name under which a group's session is shown.
import type { SessionEntry } from './session.ts'

/** `slack:acme#general`, `whatsapp:g-family`: short, and safe to show anywhere. */
export function groupDisplayName(
  channel: string,
  { subject, groupChannel, space }: Pick<SessionEntry, 'subject' | 'groupChannel' | 'space'>,
  fallback: string,
): string {
  const inSpace = groupChannel && space ? `${space}#${groupChannel.replace(/^#/, '')}` : undefined
  const name = plainName(inSpace || groupChannel || subject || space || '') || plainName(fallback)
  if (name === '') return channel
  return /[#]|^@|^g-/.test(name) ? `${channel}:${name}` : `${channel}:g-${name}`
}

/** A name that was made from the key alone: to people the key itself, or what was said, is of more use. */
export function isNamedByKey({ key, displayName }: { key: string; displayName?: string }): boolean {
  return displayName?.endsWith(groupDisplayName('', {}, key)) ?? false
}

function plainName(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9#@._+-]+/g, '-')
    .replace(/-{2,}/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
}
