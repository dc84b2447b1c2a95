// Formats numbers, times and names for people.
import { titleText } from '../../src/domain/machine-text.ts'
import { formatUsd } from '../../src/domain/usd.ts'
import type { NativeSession } from './data.ts'

export function ago(at: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000))
  if (seconds < 60) return 'now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

// Created once, because creating a formatter is too slow for every card of a long list.
const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/** The time of day; with the day when it is not today. */
export function clock(at: number): string {
  const isToday = new Date(at).toDateString() === new Date().toDateString()
  return (isToday ? timeOfDay : dayAndTime).format(at)
}

export function usd(amount: number | undefined): string {
  return amount === undefined ? '–' : formatUsd(amount)
}

export function tokens(count: number | undefined): string {
  if (count === undefined) return '–'
  if (count < 1000) return String(count)
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`
}

export function minutes(ms: number): string {
  return ms < 60_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}

/** The name of a session, as the terminal shows it: its title, or its first message. */
export function nameOf(
  session: Pick<NativeSession, 'title' | 'label' | 'firstMessage' | 'sessionId'>,
): string {
  return session.title ?? session.label ?? (titleText(session.firstMessage) || session.sessionId.slice(0, 8))
}

/** The last part of a path, which is the usual name of a repository. */
export function shortPath(path: string): string {
  return path.split('/').findLast(Boolean) ?? '/'
}

/** A session key for people: its ids are percent-encoded, so that no id can imitate another part of the key. */
export function readableKey(key: string): string {
  return key.replace(/(%[0-9a-f]{2})+/gi, (codes) => {
    try {
      return decodeURIComponent(codes)
    } catch {
      // No UTF-8: shown as it is.
      return codes
    }
  })
}

/** Shows invisible characters, and those that change the writing direction, as their code. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => {
    const code = character.codePointAt(0)!.toString(16)
    return character.length > 1 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
  })
}

// Controls but tabs and line ends, characters that only format, and letters that are drawn as nothing.
const unseen = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu

/** A text as a cell of a table that programs open. A spreadsheet would run a name such as `=HYPERLINK(…)` as a formula. */
export function csvCell(text: string): string {
  const plain = /^\s*[=+\-@]/.test(text) ? `'${text}` : text
  return `"${plain.replaceAll('"', '""')}"`
}

/** Lets the person save a file. */
export function download(name: string, text: string, type = 'text/markdown'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
