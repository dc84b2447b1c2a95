// Words that were searched for, marked in a text.
import { createContext } from 'preact'
import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { visible } from '../format.ts'

/** The words to mark in the conversation; empty without a search. */
export const Marked = createContext('')

/** Text with the searched words marked. Invisible characters are shown as their code. */
export function Words({ text }: { text: string }) {
  const words = useContext(Marked)
  return <>{withMarks(visible(text), words)}</>
}

/** Marks the whole phrase if the text has it, otherwise each word. */
function withMarks(text: string, words: string): ComponentChildren[] {
  const wanted = words.trim().toLowerCase()
  if (wanted === '') return [text]
  const parts = text.toLowerCase().includes(wanted)
    ? [wanted]
    : wanted.split(/\s+/).filter((word) => word.length > 2)
  if (parts.length === 0) return [text]
  const pattern = new RegExp(
    parts.map((part) => part.replaceAll(/[^\p{L}\p{N}\s]/gu, String.raw`\$&`)).join('|'),
    'giu',
  )
  const shown: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(pattern)) {
    shown.push(text.slice(from, match.index), <mark key={match.index}>{match[0]}</mark>)
    from = match.index + match[0].length
  }
  return [...shown, text.slice(from)]
}
