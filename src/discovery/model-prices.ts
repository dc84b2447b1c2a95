// The prices and context windows of models: Anthropic's as Claude Code has them, OpenAI's and Google's as ccusage has them. A
// model that is not in the table is priced like the newest of its family, and every sum with such a price is marked as guessed.
// The status line loads this file, so it imports nothing.

/** The day on which these prices were read. */
export const pricesAsOf = '2026-11-15'

/** Dollars for a million tokens. */
export interface ModelPrice {
  input: number
  output: number
  cacheRead: number
  /** Writing to a cache that lives five minutes, and one that lives an hour. */
  cacheWrite5m: number
  cacheWrite1h: number
}

interface ModelFacts {
  price: ModelPrice
  /** The price in fast mode; with Codex the service tier `priority`. */
  fast?: ModelPrice
  /** The price of prompts longer than `above`. */
  longPrompt?: { above: number; price: ModelPrice }
  contextWindow: number
  /** With the long-context beta: a context larger than the window proves that it is on. */
  longestWindow?: number
}

/** Writing to the cache costs 1.25 times the input price, for an hour twice the input price. */
function perMillion(input: number, output: number, cacheRead = input / 10): ModelPrice {
  return { input, output, cacheRead, cacheWrite5m: input * 1.25, cacheWrite1h: input * 2 }
}

const small = 200_000
export const large = 1_000_000
const fastOpus46 = perMillion(30, 150)
const fastOpus48 = perMillion(10, 50)

const claudeModels: Readonly<Record<string, ModelFacts>> = {
  'claude-3-haiku': {
    price: { input: 0.25, output: 1.25, cacheRead: 0.03, cacheWrite5m: 0.3, cacheWrite1h: 0.5 },
    contextWindow: small,
  },
  'claude-3-opus': { price: perMillion(15, 75), contextWindow: small },
  'claude-3-sonnet': { price: perMillion(3, 15), contextWindow: small },
  'claude-3-5-haiku': { price: perMillion(0.8, 4), contextWindow: small },
  'claude-3-5-sonnet': { price: perMillion(3, 15), contextWindow: small },
  'claude-3-7-sonnet': { price: perMillion(3, 15), contextWindow: small },
  'claude-haiku-4-5': { price: perMillion(1, 5), contextWindow: small },
  'claude-haiku-5-5': {
    price: perMillion(0.1, 0.5),
    longPrompt: { above: 100_000, price: perMillion(0.5, 2.5) },
    contextWindow: large,
  },
  'claude-sonnet-4-0': { price: perMillion(3, 15), contextWindow: small, longestWindow: large },
  'claude-sonnet-4-5': { price: perMillion(3, 15), contextWindow: small, longestWindow: large },
  'claude-sonnet-4-6': { price: perMillion(3, 15), contextWindow: small, longestWindow: large },
  'claude-sonnet-5': { price: perMillion(2, 10), contextWindow: large },
  'claude-sonnet-5-5': { price: perMillion(2, 10, 0.1), contextWindow: large },
  'claude-opus-4-0': { price: perMillion(15, 75), contextWindow: small },
  'claude-opus-4-1': { price: perMillion(15, 75), contextWindow: small },
  'claude-opus-4-5': { price: perMillion(5, 25), contextWindow: small },
  'claude-opus-4-6': {
    price: perMillion(5, 25),
    fast: fastOpus46,
    contextWindow: small,
    longestWindow: large,
  },
  'claude-opus-4-7': { price: perMillion(5, 25), fast: fastOpus46, contextWindow: large },
  'claude-opus-4-8': { price: perMillion(5, 25), fast: fastOpus48, contextWindow: large },
  'claude-opus-5': { price: perMillion(5, 25), fast: fastOpus48, contextWindow: large },
  'claude-opus-5-5': { price: perMillion(4, 20, 0.2), fast: perMillion(8, 40, 0.4), contextWindow: large },
  'claude-fable-5': { price: perMillion(10, 50), contextWindow: large },
  'claude-fable-5-1': { price: perMillion(10, 50, 0.25), contextWindow: large },
  'claude-fable-5-2': { price: perMillion(8, 40, 0.2), fast: perMillion(16, 80, 0.4), contextWindow: large },
  'claude-mythos-5': { price: perMillion(10, 50), contextWindow: large },
  'claude-mythos-5-1': { price: perMillion(10, 50, 0.25), contextWindow: large },
  'claude-mythos-5-2': { price: perMillion(8, 40, 0.2), fast: perMillion(16, 80, 0.4), contextWindow: large },
}

/** OpenAI and Google do not charge for writing to a cache beyond the input itself. */
function withoutWrites(input: number, cacheRead: number, output: number): ModelPrice {
  return { input, output, cacheRead, cacheWrite5m: input, cacheWrite1h: input }
}

const codexWindow = 272_000
const geminiWindow = 1_048_576

/** `priority` costs twice as much, and so does the input of prompts beyond 272,000 tokens, whose output costs half as much again. */
function gpt(input: number, cacheRead: number, output: number, above = Infinity): ModelFacts {
  const long = withoutWrites(input * 2, cacheRead * 2, output * 1.5)
  return {
    price: withoutWrites(input, cacheRead, output),
    fast: withoutWrites(input * 2, cacheRead * 2, output * 2),
    longPrompt: above === Infinity ? undefined : { above, price: long },
    contextWindow: codexWindow,
  }
}

function gemini(input: number, cacheRead: number, output: number, above = Infinity): ModelFacts {
  const long = withoutWrites(input * 2, cacheRead * 2, output * 1.5)
  return {
    price: withoutWrites(input, cacheRead, output),
    longPrompt: above === Infinity ? undefined : { above, price: long },
    contextWindow: geminiWindow,
  }
}

const otherModels: Readonly<Record<string, ModelFacts>> = {
  'gpt-5': gpt(1.25, 0.125, 10),
  'gpt-5-codex': gpt(1.25, 0.125, 10),
  'gpt-5.1': gpt(1.25, 0.125, 10),
  'gpt-5.1-codex': gpt(1.25, 0.125, 10),
  'gpt-5.1-codex-max': gpt(1.25, 0.125, 10),
  'gpt-5.1-codex-mini': gpt(0.25, 0.025, 2),
  'gpt-5.2': gpt(1.75, 0.175, 14),
  'gpt-5.2-codex': gpt(1.75, 0.175, 14),
  'gpt-5.3-codex': gpt(1.75, 0.175, 14),
  'gpt-5.3-codex-spark': gpt(1.75, 0.175, 14),
  'gpt-5.4': gpt(2.5, 0.25, 15, codexWindow),
  'gpt-5.4-mini': gpt(0.75, 0.075, 4.5),
  'gpt-5.5': gpt(5, 0.5, 30, codexWindow),
  'gpt-5.6': gpt(4, 0.4, 20, codexWindow),
  'gpt-5.6-sol': gpt(4, 0.4, 20, codexWindow),
  'gpt-5.6-terra': gpt(2, 0.2, 12, codexWindow),
  'gpt-5.6-luna': gpt(0.2, 0.02, 1.2, codexWindow),
  'gpt-6-astra': gpt(10, 1, 50, codexWindow),
  'gemini-2.5-pro': gemini(1.25, 0.125, 10, small),
  'gemini-2.5-flash': gemini(0.3, 0.03, 2.5),
  'gemini-2.5-flash-lite': gemini(0.1, 0.01, 0.4),
  'gemini-3-pro-preview': gemini(2, 0.2, 12, small),
  'gemini-3.1-pro-preview': gemini(2, 0.2, 12, small),
  'gemini-3-flash-preview': gemini(0.5, 0.05, 3),
  'gemini-3.5-flash': gemini(1.5, 0.15, 9),
  'gemini-3.5-flash-lite': gemini(0.3, 0.03, 2.5),
}

/** A model of another provider without a known price: its tokens are counted, and its cost is reported as unknown. */
const unpricedModel: ModelFacts = { price: withoutWrites(0, 0, 0), contextWindow: small }

/** The newest of each family, for unknown names. */
const families: Readonly<Record<string, string>> = {
  haiku: 'claude-haiku-5-5',
  sonnet: 'claude-sonnet-5-5',
  opus: 'claude-opus-5-5',
  fable: 'claude-fable-5-2',
  mythos: 'claude-mythos-5-2',
}
const anyModel = 'claude-sonnet-5-5'

/** The prices of a model: long prompts and fast mode have prices of their own. */
export interface Prices {
  /** Priced like the newest of its family, or not at all. */
  guessed: boolean
  /** The model has no known price, so it costs nothing here. */
  isUnknown?: boolean
  ofCall(call: { promptTokens: number; fast: boolean }): ModelPrice
}

export function pricesOf(model: string | undefined): Prices {
  const { facts, guessed } = factsOf(model)
  return {
    guessed,
    isUnknown: facts === unpricedModel,
    ofCall({ promptTokens, fast }) {
      if (fast && facts.fast) return facts.fast
      return facts.longPrompt && promptTokens > facts.longPrompt.above ? facts.longPrompt.price : facts.price
    },
  }
}

export function factsOf(model = ''): { facts: ModelFacts; guessed: boolean } {
  const name = Object.hasOwn(claudeModels, model) ? model : plainName(model)
  if (Object.hasOwn(claudeModels, name)) return { facts: claudeModels[name]!, guessed: false }
  const other = name.slice(name.lastIndexOf('/') + 1)
  if (Object.hasOwn(otherModels, other)) return { facts: otherModels[other]!, guessed: false }
  const family = Object.keys(families).find((word) => name.includes(word))
  if (family === undefined && ofAnotherProvider.test(name)) return { facts: unpricedModel, guessed: true }
  return { facts: claudeModels[family ? families[family]! : anyModel]!, guessed: true }
}

/** Names of OpenAI and Google, and names with a provider, as other agents write them. */
const ofAnotherProvider = /^(?:gpt|codex|gemini|o\d)\b|\//

/** `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5[1m]` are both `claude-sonnet-4-5`. */
function plainName(model: string): string {
  const name = model
    .toLowerCase()
    .replace(/^.*?(?=claude-)/, '')
    .replace(/\[1m\]$|-latest$|-fast$/g, '')
    .replace(/-v\d+(?::\d+)?$/, '')
    .replace(/[-@]\d{8}.*$/, '')
  // The first models of generation 4 have no second number in their names.
  return /^claude-(?:opus|sonnet)-4$/.test(name) ? `${name}-0` : name
}
