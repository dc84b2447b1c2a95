import { expect, test } from 'vitest'
import { processorMs } from '../../test/support/processor-time.ts'
import { maskTexts, cutBetweenWords, makeRedactor } from './redact.ts'

const redactEverything = (text: string): string => makeRedactor().everything(text)
const word = (length: number): string => 'aB3'.repeat(length).slice(0, length)

test.each([
  ['anthropic-key', `sk-ant-api03-${word(40)}`],
  ['openai-key', `sk-proj-${word(40)}`],
  ['github-token', `ghp_${word(36)}`],
  ['github-token', `github_pat_${word(40)}`],
  ['gitlab-token', `glpat-${word(20)}`],
  ['slack-token', `xoxb-${word(30)}`],
  ['slack-token', `xapp-1-${word(30)}`],
  ['google-key', `AIza${word(35)}`],
  ['aws-key', 'AKIAIOSFODNN7EXAMPLE'],
  ['npm-token', `npm_${word(36)}`],
  ['webhook-secret', `whsec_${word(32)}`],
  ['jwt', `eyJ${word(20)}.eyJ${word(60)}.${word(43)}`],
  ['telegram-token', `1234567890:${word(35)}`],
  ['discord-token', `${word(26)}.${word(6)}.${word(38)}`],
])('takes out a %s and shows its last four characters', (kind, secret) => {
  expect(redactEverything(`before ${secret} after`)).toBe(
    `before [redacted:${kind}:${secret.slice(-4)}] after`,
  )
})

test('takes out what follows Bearer, and the password in an address', () => {
  expect(redactEverything(`Authorization: Bearer ${word(30)}`)).toBe(
    'Authorization: Bearer [redacted:bearer:aB3a]'.replace('aB3a', word(30).slice(-4)),
  )
  expect(redactEverything('postgres://me:hunter22@db/x')).toBe('postgres://me:[redacted:password:er22]@db/x')
})

test('takes out private keys, also one that is cut off', () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${word(64)}\n-----END RSA PRIVATE KEY-----`
  expect(redactEverything(`a ${key} b ${key} c`)).toBe('a [redacted:private-key] b [redacted:private-key] c')
  expect(redactEverything(`a -----BEGIN PRIVATE KEY-----\n${word(64)}`)).toBe('a [redacted:private-key]')
  expect(redactEverything('-----BEGIN CERTIFICATE-----\nabc')).toBe('-----BEGIN CERTIFICATE-----\nabc')
})

test('takes out known values, also as they look inside JSON, and only those where text is kept', () => {
  const redactor = makeRedactor()
  redactor.know('gateway-token', 'tok"en\\value')
  redactor.know('too-short', 'abc')
  const text = `tok"en\\value ${JSON.stringify('tok"en\\value')} abc sk-ant-${word(30)}`
  expect(redactor.knownValues(text)).toBe(
    `[redacted:gateway-token] "[redacted:gateway-token]" abc sk-ant-${word(30)}`,
  )
  expect(redactor.everything(text)).not.toContain('sk-ant-')
})

test('ordinary text stays as it is', () => {
  const text = 'The task-list of 12:30 is at https://example.org/a:b@c, see commit 3f2a9c and sk-1.'
  expect(redactEverything(text)).toBe(text)
})

test.each([
  ['beginnings of a private key', '-----BEGIN PRIVATE KEY-----'],
  ['beginnings of another PEM block', '-----BEGIN CERTIFICATE-----'],
  ['one letter', 'A'],
  ['spaces', ' '],
  ['digits', '7'],
  ['beginnings of a JWT', 'eyJ'],
  ['halves of a JWT', 'eyJabcdefghijkl.'],
  ['beginnings of an address', '://a:'],
  ['Bearer', 'Bearer '],
  ['key prefixes', 'sk-ant-'],
  ['colons', '12345678:'],
  ['dots', 'abcdefghijklmnopqrstuvwx.abcdef.'],
])('100 KB of %s take less than 100 ms', async (_, piece) => {
  const text = piece.repeat(Math.ceil(100_000 / piece.length))
  redactEverything(text)
  expect(await processorMs(() => redactEverything(text))).toBeLessThan(100)
})

test('a text is cut before a word that may be a secret, and within it only when it is one long word', () => {
  const token = `ghp_${'q7W'.repeat(12)}`
  expect(cutBetweenWords(`use ${token}`, 30)).toBe('use ')
  expect(cutBetweenWords('short enough', 30)).toBe('short enough')
  expect(cutBetweenWords('x'.repeat(50), 30)).toBe('x'.repeat(30))
  expect(cutBetweenWords('明日は東京タワーへ行きます', 5)).toBe('明日は東京')
})

test('every text in a value is masked, and pictures stay as they are', () => {
  const redactor = makeRedactor()
  redactor.know('bot', 'hush-hush-hush')
  const picture = 'A'.repeat(5_000)
  const value = { n: 1, list: ['x hush-hush-hush y', null], picture, deep: { key: 'AKIAABCDEFGHIJKLMNOP' } }
  expect(maskTexts(value, redactor.everything)).toEqual({
    n: 1,
    list: ['x [redacted:bot] y', null],
    picture,
    deep: { key: '[redacted:aws-key:MNOP]' },
  })
})

test('a text that ends within a known value says how much of it', () => {
  const redactor = makeRedactor()
  redactor.know('bot', 'hush-hush-hush')
  expect(redactor.partialValueLength('say hush-hu')).toBe(7)
  expect(redactor.partialValueLength('say hush-hush-hush')).toBe(9)
  expect(redactor.partialValueLength('say nothing')).toBe(0)
})
