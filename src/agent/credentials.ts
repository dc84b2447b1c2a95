// Finds the credential for Claude. The order is Claude Code's own, so that Rockpool uses the same one as `claude`.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../domain/errors.ts'
import type { Billing } from '../domain/agent.ts'
import type { ClaudeConfig } from '../domain/config/agent-settings.ts'
import type { Environment } from '../store/config-file.ts'
import { readForeign } from '../store/disk/foreign-file.ts'

type CredentialKind = Exclude<ClaudeConfig['credential'], 'auto' | 'none'>

export interface Credential {
  kind: CredentialKind
  billing: Billing
  /** The variables that Claude's process needs. Secret. */
  variables: Record<string, string>
  /** The command that prints a key, for `api-key-helper`. */
  apiKeyHelper?: string
  /** Where it was found, without the secret: for `rockpool doctor`. */
  source: string
}

type Variables = Readonly<Record<string, string | undefined>>

interface Found {
  /** The variables of the environment, and those of Claude's settings file that the environment lacks. */
  variables: Variables
  settings: ClaudeSettings
  configDir: string
  home: string
}

interface ClaudeSettings {
  apiKeyHelper?: string
  env?: Record<string, string>
}

const finders: Record<CredentialKind, (found: Found) => Credential | undefined> = {
  bedrock: ({ variables }) =>
    isOn(variables['CLAUDE_CODE_USE_BEDROCK'])
      ? cloud('bedrock', variables, /^(AWS_|ANTHROPIC_BEDROCK_|CLAUDE_CODE_(USE|SKIP)_BEDROCK)/)
      : undefined,
  vertex: ({ variables }) =>
    isOn(variables['CLAUDE_CODE_USE_VERTEX'])
      ? cloud(
          'vertex',
          variables,
          /^(ANTHROPIC_VERTEX_|CLOUD_ML_REGION$|VERTEX_REGION_|GOOGLE_|GCLOUD_|CLAUDE_CODE_(USE|SKIP)_VERTEX)/,
        )
      : undefined,
  'auth-token': ({ variables }) => fromVariable('auth-token', 'ANTHROPIC_AUTH_TOKEN', 'api', variables),
  'api-key': ({ variables }) => fromVariable('api-key', 'ANTHROPIC_API_KEY', 'api', variables),
  'api-key-helper': ({ settings, configDir }) =>
    settings.apiKeyHelper
      ? {
          kind: 'api-key-helper',
          billing: 'api',
          variables: {},
          apiKeyHelper: settings.apiKeyHelper,
          source: join(configDir, 'settings.json'),
        }
      : undefined,
  'oauth-token': ({ variables }) =>
    fromVariable('oauth-token', 'CLAUDE_CODE_OAUTH_TOKEN', 'subscription', variables),
  login: findLogin,
}

/** The configured credential, or the first one found; undefined if there is none. */
export function findCredential(
  environment: Environment,
  wanted: ClaudeConfig['credential'],
): Credential | undefined {
  if (wanted === 'none') return undefined
  const found = readSettings(environment)
  if (wanted !== 'auto') return finders[wanted](found)
  for (const find of Object.values(finders)) {
    const credential = find(found)
    if (credential) return credential
  }
  return undefined
}

/** Claude's own directory: settings, login, transcripts. */
export function claudeConfigDir(environment: Environment): string {
  return environment.claudeConfigDir ?? join(environment.home, '.claude')
}

/** Where Claude Code keeps its login, and the key that it may have made of it. */
export function loginFilesOf(environment: Environment): string[] {
  const configDir = claudeConfigDir(environment)
  return [
    join(configDir, '.credentials.json'),
    join(configDir, '.claude.json'),
    join(environment.home, '.claude.json'),
  ]
}

function readSettings(environment: Environment): Found {
  const configDir = claudeConfigDir(environment)
  const settings = readJson<ClaudeSettings>(join(configDir, 'settings.json')) ?? {}
  const set = Object.fromEntries(Object.entries(environment.variables).filter(([, value]) => value))
  return { variables: { ...settings.env, ...set }, settings, configDir, home: environment.home }
}

function fromVariable(
  kind: CredentialKind,
  name: string,
  billing: Billing,
  variables: Variables,
): Credential | undefined {
  const value = variables[name]
  return value ? { kind, billing, variables: { [name]: value }, source: name } : undefined
}

function cloud(kind: 'bedrock' | 'vertex', variables: Variables, names: RegExp): Credential {
  const picked = Object.entries(variables).flatMap(([name, value]) =>
    names.test(name) && value ? [[name, value] as const] : [],
  )
  return {
    kind,
    billing: 'api',
    variables: Object.fromEntries(picked),
    source: kind === 'bedrock' ? 'Amazon Bedrock' : 'Google Vertex AI',
  }
}

interface LoginFile {
  claudeAiOauth?: { accessToken?: string; refreshToken?: string; subscriptionType?: string }
}
interface ClaudeState {
  primaryApiKey?: string
  oauthAccount?: object
}

/** Claude Code reads its login itself; we only check whether there is one, and how it is paid for. */
function findLogin({ configDir, home }: Found): Credential | undefined {
  const file = join(configDir, '.credentials.json')
  const oauth = readJson<LoginFile>(file)?.claudeAiOauth
  if (oauth?.refreshToken || oauth?.accessToken) return login('subscription', file)
  const stateFile = [join(configDir, '.claude.json'), join(home, '.claude.json')].find((path) =>
    existsSync(path),
  )
  const state = stateFile ? readJson<ClaudeState>(stateFile) : undefined
  if (stateFile && state?.primaryApiKey) return login('api', stateFile)
  // On a Mac the login itself is in the keychain.
  if (stateFile && state?.oauthAccount && process.platform === 'darwin')
    return login('subscription', stateFile)
  return undefined
}

function login(billing: Billing, source: string): Credential {
  return { kind: 'login', billing, variables: {}, source }
}

function isOn(value: string | undefined): boolean {
  return value === '1' || value === 'true'
}

function readJson<T>(path: string): T | undefined {
  // Undefined if it is not there or not JSON: Claude Code itself reports a file of its own that it cannot read.
  return attempt(() => JSON.parse(readForeign(path, 1_048_576).toString('utf8')) as T)
}
