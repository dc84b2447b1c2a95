// What a person typed, as full-text expressions. Quotes make phrases, a star makes a prefix, the rest are words.
import { fillerWords } from '../domain/text.ts'
import { joinedRuns, pairsOf, splitIdentifier } from './identifiers.ts'

export interface ParsedQuery {
  /** All terms must be there. */
  all: string[]
  /** Any of those that mean something; for when few have all. Empty when that would be the same. */
  any: string[]
  /** Substrings, for paths and symbols, and for when no word is found. */
  pieces: PiecesQuery | undefined
  /** Plain words to mark in a snippet, lower-cased. */
  marks: string[]
}

export interface PiecesQuery {
  expression: string
  /** A passage has all of these; the index knows only their pieces. */
  substrings: string[]
  /** The words alone do not say it: look for substrings whatever the words find. */
  always: boolean
}

const maxTerms = 32
const fewWords = 3
const symbolic = /[^\s\p{L}\p{N}"*]/u

export function parseQuery(text: string): ParsedQuery | undefined {
  const terms = termsOf(text.normalize('NFC').replaceAll('\0', '').slice(0, 4096))
  const words = wordsOf(terms)
  const pieces = piecesOf(terms)
  if (words.length === 0 && !pieces) return undefined
  return {
    all: words,
    any: words.length < 2 ? [] : words,
    pieces,
    marks: terms.flatMap((term) => term.text.toLowerCase().split(/\s+/)).filter(Boolean),
  }
}

/** A few words are meant one by one; in a whole sentence, those count that say something. */
function wordsOf(terms: Term[]): string[] {
  const meaningful = terms.filter(
    ({ text, phrase, prefix }) => phrase || prefix || !fillerWords.has(text.toLowerCase()),
  )
  const used = terms.length > fewWords && meaningful.length > 0 ? meaningful : terms
  return used.map(expressionOf).filter((expression) => expression !== '')
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
  const joined = joinedRuns(term.text)
  if (joined.length > 0) return `(${exact} OR (${joined.map(runExpression).join(' AND ')}))`
  const parts = term.phrase ? term.text : splitIdentifier(term.text)
  return parts === term.text ? exact : `(${exact} OR ${quote(parts)})`
}

/** A run without spaces is indexed by its characters and pairs of them. */
function runExpression(run: string): string {
  const pairs = pairsOf(run)
  return (pairs.length === 0 ? [run] : pairs).map(quote).join(' AND ')
}

function piecesOf(terms: Term[]): PiecesQuery | undefined {
  const long = terms.filter(({ text }) => Array.from(text).length >= 3)
  const always = long.filter(({ text }) => symbolic.test(text))
  const used = (always.length > 0 ? always : long).map(({ text }) => text)
  if (used.length === 0 || (always.length === 0 && long.length < terms.length)) return undefined
  const trigrams = new Set(used.flatMap(trigramsOf).slice(0, 200))
  return {
    // The index keeps no positions, to stay small; that all pieces are there is asked here, that they stand together
    // is seen in the text itself.
    expression: [...trigrams].map(quote).join(' AND '),
    substrings: used,
    always: always.length > 0,
  }
}

function trigramsOf(text: string): string[] {
  const characters = Array.from(text)
  return characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(''))
}

function quote(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
