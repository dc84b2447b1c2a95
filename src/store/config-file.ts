// The one place that reads the environment and the configuration file.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import JSON5 from 'json5'
import type { Config } from '../domain/config.ts'
import { configSchema } from '../domain/config.ts'
import { RockpoolError } from '../domain/errors.ts'

/** What the environment says, read once at the start. */
export interface Environment {
  home: string
  stateDir: string
  configFile: string
  gatewayUrl?: string
  gatewayToken?: string
  databaseUrl?: string
  claudeConfigDir?: string
  openclawStateDir: string
  /** All variables; agent/ picks the few that Claude's process may have. */
  variables: Readonly<Record<string, string | undefined>>
}

export type ConfigOrigin = 'file' | 'environment' | 'default'

export interface LoadedConfig {
  config: Config
  file: string
  /** What the file itself says, without defaults. */
  written: Record<string, unknown>
}

export function readEnvironment(variables: Record<string, string | undefined> = process.env): Environment {
  const home = variables['HOME'] || homedir()
  const stateDir = resolve(variables['ROCKPOOL_STATE_DIR'] || join(home, '.rockpool'))
  return {
    home,
    stateDir,
    configFile: resolve(variables['ROCKPOOL_CONFIG'] || join(stateDir, 'rockpool.json')),
    gatewayUrl: variables['ROCKPOOL_GATEWAY_URL'],
    gatewayToken: variables['ROCKPOOL_GATEWAY_TOKEN'],
    databaseUrl: variables['ROCKPOOL_DATABASE_URL'],
    claudeConfigDir: variables['CLAUDE_CONFIG_DIR'],
    openclawStateDir: resolve(variables['OPENCLAW_STATE_DIR'] || join(home, '.openclaw')),
    variables,
  }
}

export function loadConfig(environment: Environment): LoadedConfig {
  const file = environment.configFile
  const written = parseConfig(readConfigText(file), file)
  const checked = configSchema.safeParse(written)
  if (checked.success) return { config: checked.data, file, written }
  const issues = checked.error.issues.map(describeIssue)
  throw new RockpoolError('config-invalid', `${file}: ${issues.join('; ')}.`, {
    hint: 'docs/config.md lists every key. Fix the file, or remove the key to use its default.',
  })
}

function readConfigText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '{}'
    throw new RockpoolError('config-invalid', `${file} cannot be read.`, { cause: error })
  }
}

function parseConfig(text: string, file: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON5.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /, '') : String(error)
    throw new RockpoolError('config-invalid', `${file} is not JSON: ${reason}.`, { cause: error })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new RockpoolError('config-invalid', `${file} must hold one object: { … }.`)
}

function describeIssue(issue: {
  code: string
  path: PropertyKey[]
  message: string
  keys?: string[]
}): string {
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys' && issue.keys) {
    return `unknown key ${issue.keys.map((key) => (path ? `${path}.${key}` : key)).join(', ')}`
  }
  return `${path || 'the file'}: ${issue.message}`
}
