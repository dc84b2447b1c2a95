// How text becomes words: a query becomes full-text expressions (quotes make phrases, a star makes a prefix), and an indexed
// text gets the parts of its words added, so that `jsonl header` finds `parseJsonlHeader`.
import { foreignStem, isFiller, languageOf, type Language } from './languages.ts'
import type { WordExpression } from './word-lists.ts'

export interface ParsedQuery {
  /** The words to search for. A passage is better if it has more of them, and rarer ones. */
  terms: QueryTerm[]
  /** Every word was written to be found: nothing was left out as a filler word. */
  isKeywords: boolean
  /** The query has more words than are searched for. */
  isCut: boolean
  /** Substrings, for paths and symbols, and for when no passage has the words. */
  pieces: PiecesQuery | undefined
  /** Plain words to mark in a snippet, lower-cased. */
  marks: string[]
}

export interface QueryTerm {
  expression: WordExpression
  /** In lower case, as it was written. */
  text: string
  /** In quotes: the text itself must have it, exactly. */
  isPhrase: boolean
}

interface PiecesQuery {
  /** A passage must contain all of these; the index knows only their trigrams. */
  substrings: string[]
  /** The query has symbols: search for substrings even if words are found. */
  always: boolean
}

/** More words of a query are not searched for. */
export const maxTerms = 31
const fewWords = 3
const symbolic = /[^\s\p{L}\p{N}\p{M}"*'’`-]/u
/** A word of prose: quotes and brackets around it, and the punctuation after it, do not belong to it. */
const prose =
  /^[("'‘“[{¿¡]*([\p{L}\p{N}](?:[\p{L}\p{N}\p{M}'’`-]*[\p{L}\p{N}\p{M}])?)['’`"”)\]}]*[?!.,;:…]*['’"”)\]}]*$/u

export function parseQuery(text: string): ParsedQuery | undefined {
  const all = termsOf(text.normalize('NFC').replaceAll('\0', '').slice(0, 4096))
  const language = languageOf(all.map(({ text }) => text))
  const used = meaningfulTerms(all, language)
  const terms = used
    .filter(({ text }) => /[\p{L}\p{N}]/u.test(text))
    .map((term) => ({
      expression: expressionOf(term, language),
      text: term.text.toLowerCase(),
      isPhrase: term.phrase,
    }))
  const pieces = piecesOf(all)
  if (terms.length === 0 && !pieces) return undefined
  return {
    terms: [...new Map(terms.map((term) => [JSON.stringify(term.expression), term])).values()],
    isKeywords: used.length === all.length,
    isCut: (text.match(/\S+/g) ?? []).length > maxTerms && all.length === maxTerms,
    pieces,
    marks: used.flatMap((term) => term.text.toLowerCase().split(/\s+/)).filter(Boolean),
  }
}

/** All words of a short query; of a longer one, those that are not filler words. */
function meaningfulTerms(terms: Term[], language: Language): Term[] {
  const meaningful = terms.filter(({ text, phrase, prefix }) => phrase || prefix || !isFiller(text, language))
  return terms.length > fewWords && meaningful.length > 0 ? meaningful : terms
}

interface Term {
  text: string
  phrase: boolean
  prefix: boolean
}

function termsOf(text: string): Term[] {
  const found = [...text.matchAll(/"([^"]*)"|(\S+)/g)].slice(0, maxTerms)
  return found
    .flatMap((match) => {
      if (match[1] !== undefined) return [{ text: match[1].trim(), phrase: true, prefix: false }]
      const word = wordOf(match[2]!.replaceAll('"', ''))
      const prefix = word.length > 1 && word.endsWith('*')
      if (prefix) return [{ text: word.slice(0, -1), phrase: false, prefix }]
      return partsByScript(word).map((part) => ({ text: part, phrase: false, prefix }))
    })
    .filter((term) => term.text !== '')
    .slice(0, maxTerms)
}

/** `(school?)` asks for `school`, and `Ada's` for `Ada`. */
function wordOf(text: string): string {
  const word = prose.exec(text)?.[1]
  return word === undefined ? text.replace(/(?<=[^?!,;:…])[?!,;:…]+$/u, '') : word.replace(/['’`]s$/u, '')
}

/** Japanese has no spaces, but its words mostly begin where the script changes: `メモリの原因` asks for `メモリ` and `原因`. */
function partsByScript(word: string): string[] {
  const parts = joinedRuns(word).join('') === word ? (word.match(oneScript) ?? []) : []
  const words = parts.filter((part) => !onlyHiragana.test(part))
  return words.length > 1 ? words : [word]
}

function expressionOf(term: Term, language: Language): WordExpression {
  const exact = { words: term.text, isPrefix: term.prefix }
  const joined = joinedRuns(term.text)
  if (joined.length > 0) return { any: [exact, { all: joined.flatMap(partsOfRun) }] }
  const parts = term.phrase ? term.text : splitIdentifier(term.text)
  if (parts !== term.text) return { any: [exact, { words: parts }] }
  // The index itself has the stems of English words.
  const stem = term.phrase || term.prefix || language === 'English' ? undefined : foreignStem(term.text)
  return stem === undefined ? exact : { any: [exact, { words: stem, isPrefix: true }] }
}

/** Text without spaces is indexed by its characters and pairs of neighbours. */
function partsOfRun(run: string): WordExpression[] {
  const pairs = pairsOf(run)
  return (pairs.length === 0 ? [run] : pairs).map((words) => ({ words }))
}

function piecesOf(terms: Term[]): PiecesQuery | undefined {
  const long = terms.filter(({ text }) => Array.from(text).length >= 3)
  const always = long.filter(({ text }) => symbolic.test(text))
  const used = (always.length > 0 ? always : long).map(({ text }) => text)
  if (used.length === 0 || (always.length === 0 && long.length < terms.length)) return undefined
  return { substrings: used, always: always.length > 0 }
}

const camel = /[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*/g
const hasCamel = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
const joined =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]+/gu
const oneScript = /[\p{Script=Han}々]+|[\p{Script=Katakana}ー]+|[\p{Script=Hiragana}]+/gu
const onlyHiragana = /^\p{Script=Hiragana}+$/u
/** Scripts before this range (Latin, Greek, Cyrillic, Arabic, Indic) have spaces between words. */
const mayBeJoined = /[\u0e00-\uffff]/

/** The text, followed by the parts of its words. They are at the end, so that phrases stay intact. */
export function indexedText(text: string): string {
  const parts = new Set<string>()
  if (hasCamel.test(text)) {
    for (const word of text.match(camel) ?? []) if (word.length <= 80) parts.add(splitIdentifier(word))
  }
  if (mayBeJoined.test(text)) {
    for (const run of joinedRuns(text))
      for (const piece of [...Array.from(run), ...pairsOf(run)]) parts.add(piece)
  }
  return parts.size === 0 ? text : `${text}\n${[...parts].join(' ')}`
}

export function splitIdentifier(word: string): string {
  return word.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
}

/** The parts of a text in scripts without spaces between words. */
function joinedRuns(text: string): string[] {
  return text.match(joined) ?? []
}

function pairsOf(run: string): string[] {
  const characters = Array.from(run)
  return characters.slice(1).map((character, i) => characters[i]! + character)
}
