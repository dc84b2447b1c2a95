// What a person typed, as full-text expressions. Quotes make phrases, a star makes a prefix, the rest are words.
import { splitIdentifier } from './identifiers.ts'

export interface ParsedQuery {
  /** All terms must be there. */
  all: string
  /** Any of them; for when nothing has all. */
  any: string
  /** Substrings for the trigram index: paths, symbols, text without spaces between words. */
  pieces: string | undefined
  /** Plain words to mark in a snippet, lower-cased. */
  marks: string[]
}

const maxTerms = 32
const joinedScripts =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u
const symbolic = /[^\s\p{L}\p{N}"*]/u

export function parseQuery(text: string): ParsedQuery | undefined {
  const terms = termsOf(text.normalize('NFC').slice(0, 4096))
  if (terms.length === 0) return undefined
  const words = terms.map(expressionOf).filter((expression) => expression !== '')
  const substrings = terms.filter((term) => wantsPieces(term.text)).map((term) => quote(term.text))
  if (words.length === 0 && substrings.length === 0) return undefined
  return {
    all: words.join(' AND '),
    any: words.join(' OR '),
    pieces: substrings.length > 0 ? substrings.join(' AND ') : undefined,
    marks: terms.flatMap((term) => term.text.toLowerCase().split(/\s+/)).filter(Boolean),
  }
}

interface Term {
  text: string
  phrase: boolean
  prefix: boolean
}

function termsOf(text: string): Term[] {
  const found = [...text.matchAll(/"([^"]*)"|(\S+)/g)].slice(0, maxTerms)
  return found
    .map((match) => {
      if (match[1] !== undefined) return { text: match[1].trim(), phrase: true, prefix: false }
      const word = match[2]!.replaceAll('"', '')
      const prefix = word.length > 1 && word.endsWith('*')
      return { text: prefix ? word.slice(0, -1) : word, phrase: false, prefix }
    })
    .filter((term) => term.text !== '')
}

/** Everything is quoted, so that nothing a person types is read as an operator. */
function expressionOf(term: Term): string {
  if (!/[\p{L}\p{N}]/u.test(term.text)) return ''
  const exact = quote(term.text) + (term.prefix ? '*' : '')
  const parts = term.phrase ? term.text : splitIdentifier(term.text)
  return parts === term.text ? exact : `(${exact} OR ${quote(parts)})`
}

function wantsPieces(text: string): boolean {
  return text.length >= 3 && (joinedScripts.test(text) || symbolic.test(text))
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""').replaceAll('\0', '')}"`
}
