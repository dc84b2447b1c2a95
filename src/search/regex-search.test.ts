import { expect, test } from 'vitest'
import { literalIn } from './regex-search.ts'

test.each([
  ['TODO\\(\\w+\\)', 'TODO('],
  ['pars\\w+ reads', ' reads'],
  ['(token|branch) names?', ' name'],
  ['colou?r of', 'colo'],
  ['ab+cde', 'cde'],
  ['x{0,2}long{2}er', 'lon'],
  ['[abc]def[^\\]ghi]', 'def'],
  ['\\p{Lu}nder', 'nder'],
  ['a\\u{1F600}bcd', 'bcd'],
  ['(?<=price: )\\d+ USD', ' USD'],
  ['abc(?:def)?', 'abc'],
  ['src/[a-z]+\\.ts', 'src/'],
  ['cats|dogs', undefined],
  ['(cats|dogs)', undefined],
  ['a.c', undefined],
  ['größer', undefined],
  ['^(a+)+$', undefined],
])('every match of %s has %s', (pattern, literal) => {
  expect(literalIn(pattern)).toBe(literal)
})
