// Who said what a session is told as a system event. Events are kept as text, so words that are not our own carry a mark at
// their beginning; a text of ours that happened to begin like it would only lose rights.
import type { Author } from './author.ts'
import { lesserOf } from './author.ts'

const mark = /^Untrusted, from a (program|hook): /

/** The text as it is kept: our own words as they are, others' with their mark. */
export function eventFrom(author: Author, text: string): string {
  return author === 'program' || author === 'hook' ? `Untrusted, from a ${author}: ${text}` : text
}

export function isUntrustedEvent(text: string): boolean {
  return mark.test(text)
}

/** In whose turns this event is told. What a session's own people should know is not told to somebody with fewer rights who
 *  writes there, and others' words are told in a turn that has no more rights than they. */
export function toldTo(text: string, session: Author): Author {
  const said = mark.exec(text)?.[1] as 'program' | 'hook' | undefined
  return said === undefined ? session : lesserOf(said, session)
}
