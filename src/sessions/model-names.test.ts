import { expect, test } from 'vitest'
import { agentsConfig } from '../domain/config/agent-settings.ts'
import { buildModelAliasIndex, resolveModel, takeModelName } from './model-names.ts'

const aliasIndex = buildModelAliasIndex(
  agentsConfig.parse({
    defaults: {
      model: 'claude-opus-5-5',
      models: { haiku: 'claude-haiku-5-5', fast: 'claude-haiku-5-5', minimax: 'minimax-m2' },
    },
  }),
)

test.each([
  ['haiku', 'claude-haiku-5-5'],
  ['FAST', 'claude-haiku-5-5'],
  ['sonnet', 'sonnet'],
  ['claude-opus-5-5', 'claude-opus-5-5'],
  ['anthropic/claude-opus-5-5', 'claude-opus-5-5'],
  ['opus-5', 'claude-opus-5-5'],
  ['claude', undefined],
  ['summarize', undefined],
  ['5', undefined],
])('the word %s means %s', (word, model) => {
  expect(resolveModel(word, aliasIndex)).toBe(model)
})

test.each([
  ['haiku summarize this', 'claude-haiku-5-5', 'summarize this'],
  ['minimax summarize', 'minimax-m2', 'summarize'],
  ['anthropic haiku hello\n  there', 'claude-haiku-5-5', 'hello\n  there'],
  ['haiku', 'claude-haiku-5-5', ''],
  ['summarize this', undefined, 'summarize this'],
  ['', undefined, ''],
])('/new %s', (text, model, rest) => {
  expect(takeModelName(text, aliasIndex)).toEqual({ ...(model && { model }), rest })
})
