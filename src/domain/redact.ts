// Removes secrets from text that leaves the program: logs, exports, error replies, the dashboard. The text comes from
// outside, so everything here runs in linear time: repetitions are bounded and share no characters, and a scanner instead
// of a pattern finds private keys.

export interface Redactor {
  /** Registers a secret: it is replaced by its name in every text. */
  know(name: string, value: string): void
  /** Removes registered secrets only. For text that is stored and shown to the model again, where a pattern could remove
   *  harmless words. */
  knownValues: (text: string) => string
  /** The number of characters at the end of a text that may be the beginning of a known value. */
  partialValueLength: (text: string) => number
  /** Removes registered secrets and everything that looks like a secret. */
  everything: (text: string) => string
}

/** Shorter values would match ordinary words. */
const shortestSecret = 8

export function makeRedactor(): Redactor {
  const names = new Map<string, string>()
  const knownValues = (text: string): string => {
    let clean = text
    for (const [value, name] of names) {
      if (clean.includes(value)) clean = clean.replaceAll(value, `[redacted:${name}]`)
    }
    return clean
  }
  return {
    know(name, value) {
      if (value.length < shortestSecret) return
      names.set(value, name)
      // Inside JSON a quote or a backslash looks different.
      names.set(JSON.stringify(value).slice(1, -1), name)
    },
    knownValues,
    partialValueLength: (text) =>
      Math.max(0, ...[...names.keys()].map((value) => overlapLength(text, value))),
    everything: (text) => redactPatterns(knownValues(text)),
  }
}

/** How much of the beginning of `value` is at the end of `text`. */
function overlapLength(text: string, value: string): number {
  let length = Math.min(text.length, value.length - 1)
  while (length > 0 && !text.endsWith(value.slice(0, length))) length--
  return length
}

/** Masks every text in a JSON value. Long base64 texts (images, signatures) stay: a pattern would damage them. */
export function maskTexts(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return isBlob.test(value) ? value : mask(value)
  if (Array.isArray(value)) return value.map((inner) => maskTexts(inner, mask))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, maskTexts(inner, mask)]))
}

const isBlob = /^[\w+/=-]{1024,}$/

/** Every text that `pattern` matches also has a match of `quick`, which is faster to search for. */
type Pattern = [kind: string, pattern: RegExp, quick?: RegExp]

// The lookbehinds avoid a try at every character of one long word.
const patterns: Pattern[] = [
  ['anthropic-key', /sk-ant-[\w-]{20,200}/g],
  ['openai-key', /sk-(?:proj-)?[\w-]{20,200}/g],
  ['github-token', /gh[pousr]_\w{30,255}/g],
  ['github-token', /github_pat_\w{22,255}/g],
  ['gitlab-token', /glpat-[\w-]{20,64}/g],
  ['slack-token', /xox[abprs]-[\w-]{10,250}/g],
  ['slack-token', /xapp-[\w-]{10,250}/g],
  ['google-key', /AIza[\w-]{35}/g],
  ['aws-key', /(?:AKIA|ASIA)[A-Z0-9]{16}/g],
  ['npm-token', /npm_\w{36}/g],
  ['webhook-secret', /whsec_[\w+/=]{20,100}/g],
  ['jwt', /(?<![\w-])eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10,1000}/g],
  ['telegram-token', /(?<!\d)\d{8,12}:[\w-]{35}(?![\w-])/g],
  ['discord-token', /(?<![\w-])[\w-]{24,28}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])/g, /\.[\w-]{6}\.[\w-]{27}/],
  ['bearer', /(?<=bearer\s{1,4})[\w.~+/=-]{16,500}/gi, /bearer\s/i],
  ['password', /(?<=:\/\/[^/\s:@]{1,64}:)[^/\s@]{1,128}(?=@)/g, /:\/\//],
]

function redactPatterns(text: string): string {
  let clean = redactPrivateKeys(text)
  for (const [kind, pattern, quick] of patterns) {
    if (quick?.test(clean) === false) continue
    clean = clean.replace(pattern, (secret) => `[redacted:${kind}:${secret.slice(-4)}]`)
  }
  return clean
}

const keyBegin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/y

/** From a BEGIN line to the next END line; to the end of the text when there is none. */
function redactPrivateKeys(text: string): string {
  let clean = ''
  let done = 0
  for (let at = text.indexOf('-----BEGIN '); at >= 0; at = text.indexOf('-----BEGIN ', at)) {
    keyBegin.lastIndex = at
    if (!keyBegin.test(text)) {
      at += 1
      continue
    }
    clean += `${text.slice(done, at)}[redacted:private-key]`
    const end = text.indexOf('-----END ', at)
    const close = end < 0 ? -1 : text.indexOf('-----', end + 9)
    done = close < 0 ? text.length : close + 5
    at = done
  }
  return clean + text.slice(done)
}

const partOfSecret = /[\w+/=.:~-]/
const longestSecret = 8_192

/** The beginning of a text. It does not end inside a word that may be a secret: no pattern would match a part of it. */
export function cutBetweenWords(text: string, most: number): string {
  if (text.length <= most) return text
  let end = most
  while (end > 0 && most - end < longestSecret && partOfSecret.test(text[end - 1]!)) end--
  const isOneWord = end === 0 || most - end === longestSecret
  return text.slice(0, isOneWord ? most : end).toWellFormed()
}
