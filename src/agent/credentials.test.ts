import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEnvironment } from '../store/config-file.ts'
import type { Environment } from '../store/config-file.ts'
import { findCredential } from './credentials.ts'
import { childEnvironment } from './claude-program.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-credentials-'))
  mkdirSync(join(home, '.claude'))
})
afterEach(() => rmSync(home, { recursive: true }))

const environment = (variables: Record<string, string> = {}): Environment =>
  readEnvironment({ HOME: home, PATH: '/usr/bin', ...variables })
const write = (file: string, content: object): void =>
  writeFileSync(join(home, file), JSON.stringify(content))

test('without any credential there is none', () => {
  expect(findCredential(environment(), 'auto')).toBeUndefined()
})

test("Claude Code's own login is found, and costs are then API equivalents", () => {
  write('.claude/.credentials.json', { claudeAiOauth: { refreshToken: 'x', subscriptionType: 'max' } })
  expect(findCredential(environment(), 'auto')).toMatchObject({
    kind: 'login',
    billing: 'subscription',
    variables: {},
  })
})

test('a login with the Console is paid per call', () => {
  write('.claude.json', { primaryApiKey: 'sk-x' })
  expect(findCredential(environment(), 'auto')).toMatchObject({ kind: 'login', billing: 'api' })
})

test.each([
  ['ANTHROPIC_API_KEY', 'api-key', 'api'],
  ['ANTHROPIC_AUTH_TOKEN', 'auth-token', 'api'],
  ['CLAUDE_CODE_OAUTH_TOKEN', 'oauth-token', 'subscription'],
])('%s is a credential', (name, kind, billing) => {
  const found = findCredential(environment({ [name]: 'secret' }), 'auto')
  expect(found).toEqual({ kind, billing, variables: { [name]: 'secret' }, source: name })
})

test('the helper that prints a key is taken from the settings and handed to Claude', () => {
  write('.claude/settings.json', { apiKeyHelper: '/usr/local/bin/print-key' })
  expect(findCredential(environment(), 'auto')).toMatchObject({
    kind: 'api-key-helper',
    apiKeyHelper: '/usr/local/bin/print-key',
  })
})

test('Bedrock and Vertex take their own variables and no others', () => {
  const bedrock = findCredential(
    environment({ CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1', AWS_PROFILE: 'p', OTHER: 'x' }),
    'auto',
  )
  expect(bedrock).toMatchObject({
    kind: 'bedrock',
    variables: { CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1', AWS_PROFILE: 'p' },
  })
  const vertex = findCredential(
    environment({ CLAUDE_CODE_USE_VERTEX: '1', ANTHROPIC_VERTEX_PROJECT_ID: 'p', CLOUD_ML_REGION: 'r' }),
    'auto',
  )
  expect(Object.keys(vertex!.variables)).toHaveLength(3)
})

test('one kind can be asked for, or none at all', () => {
  const both = environment({ ANTHROPIC_API_KEY: 'a', CLAUDE_CODE_OAUTH_TOKEN: 'b' })
  expect(findCredential(both, 'auto')!.kind).toBe('api-key')
  expect(findCredential(both, 'oauth-token')!.kind).toBe('oauth-token')
  expect(findCredential(both, 'login')).toBeUndefined()
  expect(findCredential(both, 'none')).toBeUndefined()
})

const settings = {
  credential: undefined,
  temporaryDirectory: '/private/tmp',
  maxRetries: 4,
  passEnvironment: [] as string[],
  version: '1',
}

test("Claude's process sees nothing of our environment but what it needs", () => {
  const child = childEnvironment(
    environment({
      ANTHROPIC_API_KEY: 'the key that was not chosen',
      ROCKPOOL_GATEWAY_TOKEN: 'secret',
      TELEGRAM_BOT_TOKEN: 'secret',
      NODE_OPTIONS: '--require evil',
      LD_PRELOAD: 'evil.so',
      BASH_ENV: 'evil.sh',
      GIT_SSH_COMMAND: 'evil',
      HTTPS_PROXY: 'http://proxy:3128',
      NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
      ANTHROPIC_BASE_URL: 'http://gateway',
      TMPDIR: '/tmp/shared',
    }),
    settings,
  )
  expect(child).toMatchObject({
    HOME: home,
    PATH: '/usr/bin',
    HTTPS_PROXY: 'http://proxy:3128',
    NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
    ANTHROPIC_BASE_URL: 'http://gateway',
    TMPDIR: '/private/tmp',
  })
  expect(JSON.stringify(child)).not.toMatch(/secret|evil|not chosen|shared/)
})

test('further variables pass by name, but never those that smuggle code in', () => {
  const passing = { ...settings, passEnvironment: ['SSH_AUTH_SOCK', 'LD_PRELOAD', 'ROCKPOOL_GATEWAY_TOKEN'] }
  const child = childEnvironment(
    environment({ SSH_AUTH_SOCK: '/run/agent', LD_PRELOAD: 'evil.so', ROCKPOOL_GATEWAY_TOKEN: 'secret' }),
    passing,
  )
  expect(child['SSH_AUTH_SOCK']).toBe('/run/agent')
  expect(JSON.stringify(child)).not.toMatch(/secret|evil/)
})
