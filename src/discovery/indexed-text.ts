// The few words of a transcript that are kept in the index and shown in lists, without the secrets in them.
import { cutBetweenWords, makeRedactor } from '../domain/redact.ts'
import { keptText } from './decode.ts'
import type { TranscriptFacts } from './transcript-facts.ts'

const texts = [
  'firstUserMessage',
  'firstPrompt',
  'firstCommand',
  'lastPrompt',
  'customTitle',
  'aiTitle',
  'summary',
] as const

export function withoutSecrets(facts: TranscriptFacts): TranscriptFacts {
  const clean = { ...facts }
  for (const name of texts) {
    const text = facts[name]
    if (text !== undefined) clean[name] = redacted(text)
  }
  return clean
}

/** No secret is in short words alone; most texts are done with this one look. */
const maySayOne = /\S{16}|:\/\/|-----BEGIN /

export function redacted(text: string): string {
  // A text that fills its room was cut, perhaps within a secret.
  const whole = text.length < keptText ? text : cutBetweenWords(text, text.length - 1)
  return maySayOne.test(whole) ? makeRedactor().everything(whole) : whole
}
