import { expect, test } from 'vitest'
import { compileMentionPatterns, isMentioned, stripMentions } from './mentions.ts'

test.each([
  ['@bot what do you think?', 'what do you think?'],
  ['hey @BOT, hello', 'hey , hello'],
  ['<@123456> hi', 'hi'],
  ['<@!123456> hi <@&99>', 'hi'],
  ['@4915112345678 hi', 'hi'],
  ['write to a@bots.example', 'write to a@bots.example'],
  ['first line @bot\n  second line', 'first line\n  second line'],
  ['no mention  here', 'no mention  here'],
])('mentions in %j', (text, expected) => {
  expect(stripMentions(text, { names: ['bot'] })).toBe(expected)
})

test('a configured pattern addresses the agent and is taken out', () => {
  const patterns = compileMentionPatterns(['\\brocky\\b'])
  expect(isMentioned('hey Rocky!', { patterns })).toBe(true)
  expect(isMentioned('rockyroad', { patterns })).toBe(false)
  expect(stripMentions('Rocky tell me', { patterns })).toBe('tell me')
})

test.each(['(a+)+b', '(x|y)*z', '([a-z]*){2,}', '(', 'a'.repeat(300)])(
  'the pattern %j is refused',
  (source) => {
    expect(() => compileMentionPatterns([source])).toThrow(/mentionPatterns/)
  },
)

test('a pattern with nested stars that passes the check ends within its time limit, and costs nothing afterwards', () => {
  const patterns = compileMentionPatterns(['((a+))+$', '\\brocky\\b'])
  const text = `${'a'.repeat(60)}! rocky`
  const started = performance.now()
  for (let n = 0; n < 20; n++) {
    expect(isMentioned(text, { patterns })).toBe(true)
    expect(stripMentions(text, { patterns })).toBe(`${'a'.repeat(60)}!`)
  }
  // Without the limit, one of these takes longer than anybody waits.
  expect(performance.now() - started).toBeLessThan(30_000)
})
