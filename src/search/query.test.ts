import { expect, test } from 'vitest'
import { foreignStem, languageOf } from './languages.ts'
import { parseQuery } from './query.ts'
import { nearnessInTime, timeRangeIn, timesNamedIn } from './times.ts'

const day = 86_400_000

function termsOf(query: string): string[] {
  return parseQuery(query)!.terms.map(({ text }) => text)
}

test('punctuation and the genitive do not belong to a word, and question words are left out of a sentence', () => {
  expect(termsOf("Where did we talk about Ada's (school)?")).toEqual(['talk', 'ada', 'school'])
  expect(parseQuery("Where did we talk about Ada's school?")!.pieces?.always).not.toBe(true)
  expect(parseQuery('src/store/leases.ts')!.pieces?.always).toBe(true)
  expect(parseQuery('where is it')!.terms).toHaveLength(3)
})

test('words of other languages are searched without their ending, English ones as they are', () => {
  expect(languageOf(['warum', 'wurden', 'benutzer'])).toBe('other')
  expect(languageOf(['the', 'café', 'menu'])).toBe('English')
  expect(foreignStem('Sitzungen')).toBe('sitz')
  expect(foreignStem('копии')).toBe('копи')
  expect(
    parseQuery('warum wurden die Benutzer abgemeldet')!.terms.map(({ expression }) => expression),
  ).toContainEqual({
    any: [
      { words: 'Benutzer', isPrefix: false },
      { words: 'benutz', isPrefix: true },
    ],
  })
})

test('a named time is near what was said then, and a little after; a month that may be a word needs a day or a year', () => {
  const may = timesNamedIn('what did we do in May 2026')
  expect(may).toEqual([{ year: 2026, month: 4, day: undefined }])
  expect(nearnessInTime(Date.UTC(2026, 4, 12), may)).toBe(1)
  expect(nearnessInTime(Date.UTC(2026, 5, 10), may)).toBeGreaterThan(0)
  expect(nearnessInTime(Date.UTC(2026, 3, 12), may)).toBe(0)
  expect(timesNamedIn('it may march on')).toEqual([])
  expect(timesNamedIn('on the 7th of July')).toEqual([{ month: 6, day: 7, year: undefined }])
  expect(timesNamedIn('2026-07-07')).toEqual([{ year: 2026, month: 6, day: 7 }])
})

test('a time from now on is a range, without its words', () => {
  // A Wednesday.
  const now = new Date(2026, 10, 18, 15).getTime()
  const monday = new Date(2026, 10, 16).getTime()
  expect(timeRangeIn('flaky test last week', now)).toEqual({
    since: new Date(2026, 10, 9).getTime(),
    until: monday,
    rest: 'flaky test  ',
  })
  expect(timeRangeIn('yesterday the build broke', now)).toMatchObject({
    since: new Date(2026, 10, 17).getTime(),
    until: new Date(2026, 10, 18).getTime(),
  })
  expect(timeRangeIn('in the last 3 days: login', now)).toMatchObject({ since: now - 3 * day })
  expect(timeRangeIn('last week', now)).toBeUndefined()
  expect(timeRangeIn('the last test', now)).toBeUndefined()
})

test('a Japanese question asks for its words, which begin where the script changes', () => {
  expect(parseQuery('メモリリークの原因')!.terms.map(({ text }) => text)).toEqual(['メモリリーク', '原因'])
  expect(parseQuery('行きます')!.terms.map(({ text }) => text)).toEqual(['行きます'])
  expect(parseQuery('数据库连接超时')!.terms).toHaveLength(1)
})
