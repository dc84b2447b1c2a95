import { expect, test } from 'vitest'
import { configSchema } from '../../domain/config.ts'
import { knownModel, modelForTurn } from './known-model.ts'

const config = configSchema.parse({
  agents: { defaults: { models: { fast: 'claude-haiku-4-5', cheap: 'glm-4.6' } } },
})

test.each([
  ['fast', 'claude-haiku-4-5'],
  ['Opus', 'opus'],
  ['sonnet[1m]', 'sonnet[1m]'],
  ['glm-4.6', 'glm-4.6'],
  ['anthropic/claude-opus-4-5', 'claude-opus-4-5'],
  ['us.anthropic.claude-sonnet-4-5-v1:0', 'us.anthropic.claude-sonnet-4-5-v1:0'],
  ['arn:aws:bedrock:us-east-2:1:application-inference-profile/x', expect.stringMatching(/^arn:/)],
])('%s is a model that a turn can be taken with', (given, model) => {
  expect(modelForTurn({ config }, given)).toEqual(model)
})

test.each([
  ['gtp-5', /no model "gtp-5"/],
  ['openai/gpt-5', /not a model of Claude/],
  ['  ', /no model/],
])('%j is not', (given, message) => {
  expect(() => modelForTurn({ config }, given)).toThrow(message)
})

test('a row may name the model of another provider', () => {
  expect(knownModel({ config }, 'openai/gpt-5')).toBe('openai/gpt-5')
})
