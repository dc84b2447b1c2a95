import { describe, expect, test } from 'vitest'
import type { Approval } from '../../domain/coding-session.ts'
import { answersFor, checkAnswer, isLikeAmount, readAmount } from './read-answer.ts'

describe('an amount for a budget', () => {
  test.each([
    ['10', 10],
    ['$10', 10],
    ['10 dollars', 10],
    ['0.50', 0.5],
    ['0,50', 0.5],
    ['$0.005', 0.005],
    ['50 cents', 0.5],
    ['50¢', 0.5],
    ['yes', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s is read', (said, amount) => {
    expect(readAmount(said)).toBe(amount)
  })

  test.each(['abc', '-1', '0', '1,000', '1.000,00', '5 or 10', '10 euros', '1e3', '5 abc'])(
    '%s is refused, and the question stays open',
    (said) => {
      expect(() => readAmount(said)).toThrow(/is not an amount/)
    },
  )

  test('words are taken for an amount when they look like one, right or wrong', () => {
    expect(['0,50', '50 cents', '-1', '$3'].map(isLikeAmount)).toEqual([true, true, true, true])
    expect(['abc', 'not now', 'look at line 5'].map(isLikeAmount)).toEqual([false, false, false])
  })
})

describe('an answer to a question', () => {
  const options = [{ label: 'Red' }, { label: 'Green' }, { label: 'Blue' }]
  const one = { questions: [{ question: 'Which?', options, multiSelect: false }] }
  const several = { questions: [{ question: 'Which?', options, multiSelect: true }] }
  const both = {
    questions: [
      { question: 'A?', options },
      { question: 'B?', options },
    ],
  }

  test.each([
    [one, '2', 'Green'],
    [one, 'green', 'Green'],
    [one, 'neither, use pink', 'neither, use pink'],
    [several, '1,2', 'Red, Green'],
    [several, '1 3', 'Red, Blue'],
    [several, '3 and 1', 'Blue, Red'],
    [several, 'red, blue', 'Red, Blue'],
    [several, '2', 'Green'],
  ])('%#: %s', (input, said, answer) => {
    expect(answersFor(input, said)).toEqual({ 'Which?': answer })
  })

  test.each([
    [one, '1,2', /takes one choice/],
    [one, '7', /no choice 7/],
    [several, '1,9', /no choice 1,9/],
    [both, '1', /2 questions and 1 answers/],
  ])('%#: %s is refused', (input, said, why) => {
    expect(() => answersFor(input, said)).toThrow(why)
  })

  test('several questions are answered line by line, or with semicolons', () => {
    expect(answersFor(both, '1\n2')).toEqual({ 'A?': 'Red', 'B?': 'Green' })
    expect(answersFor(both, '1; my own')).toEqual({ 'A?': 'Red', 'B?': 'my own' })
  })

  test('a yes without an answer names the choices', () => {
    const approval = { id: 'a1', kind: 'question', input: one } as unknown as Approval
    expect(() => checkAnswer(approval, undefined)).toThrow(/is a question and needs an answer/)
    expect(() => checkAnswer(approval, '  ')).toThrow(/needs an answer/)
  })
})
