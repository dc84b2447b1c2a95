// The one place that reads the environment and the configuration file.
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, userInfo } from 'node:os'
import { join, resolve, dirname } from 'node:path'
import type JSON5 from 'json5'
import type { z } from 'zod'
import { fileURLToPath } from 'node:url'
import type { Config } from '../domain/config.ts'
import { RockpoolError, attempt, errorText } from '../domain/errors.ts'
import { isRecord } from '../domain/json.ts'
import { expectationOf } from '../domain/schema-issue.ts'
import { errorCode, makeFolders } from './disk/atomic-file.ts'

export type Environment = ReturnType<typeof readEnvironment>

interface LoadedConfig {
  config: Config
  file: string
  /** The content of the file, without defaults. */
  written: Record<string, unknown>
}

/** The environment variables that Rockpool uses, read once at the start. */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>> = process.env) {
  const home = variables['HOME'] || homedir()
  const stateDir = resolve(variables['ROCKPOOL_STATE_DIR'] || join(home, '.rockpool'))
  return {
    home,
    stateDir,
    configFile: resolve(variables['ROCKPOOL_CONFIG'] || join(stateDir, 'rockpool.json')),
    /** `ROCKPOOL_CONFIG` names the file, so it must exist. */
    configIsNamed: Boolean(variables['ROCKPOOL_CONFIG']),
    gatewayUrl: variables['ROCKPOOL_GATEWAY_URL'],
    gatewayToken: variables['ROCKPOOL_GATEWAY_TOKEN'],
    databaseUrl: variables['ROCKPOOL_DATABASE_URL'],
    claudeConfigDir: variables['CLAUDE_CONFIG_DIR'],
    vaultPassphrase: variables['ROCKPOOL_VAULT_PASSPHRASE'],
    /** For a shared vault on an S3-compatible server, by the names that all programs use. */
    s3: {
      endpoint: variables['AWS_ENDPOINT_URL_S3'] || variables['AWS_ENDPOINT_URL'],
      region: variables['AWS_REGION'] || variables['AWS_DEFAULT_REGION'],
      accessKeyId: variables['AWS_ACCESS_KEY_ID'],
      secretAccessKey: variables['AWS_SECRET_ACCESS_KEY'],
      sessionToken: variables['AWS_SESSION_TOKEN'],
    },
    openclawStateDir: resolve(variables['OPENCLAW_STATE_DIR'] || join(home, '.openclaw')),
    /** Shared by all Rockpools of this user on this machine; see held-name.ts. */
    machineDir: machineDirectory(),
    /** How long file mode may reuse what it has read; 0 disables the cache. */
    sessionCacheTtlMs: milliseconds(variables['OPENCLAW_SESSION_CACHE_TTL_MS']),
    /** All variables; agent/ selects the few for Claude's process. */
    variables,
  }
}

/** Independent of TMPDIR and HOME: with two different folders, two processes could receive for one bot. */
function machineDirectory(): string {
  const user = process.getuid?.()
  return user === undefined ? join(userInfo().homedir, '.rockpool-machine') : `/tmp/rockpool-${user}`
}

function milliseconds(text: string | undefined): number | undefined {
  const value = Number(text?.trim() || Number.NaN)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

export async function loadConfig(environment: Environment): Promise<LoadedConfig> {
  const file = environment.configFile
  const text = readConfigText(file, environment.configIsNamed)
  const written = parseConfig(text, file)
  const known = readCachedConfig(environment.stateDir, text)
  if (known) return { config: known, file, written }
  const config = await checkConfig(written, file)
  writeCachedConfig(environment.stateDir, text, config)
  return { config, file, written }
}

/** Like `loadConfig`, but if the file is not valid, the last valid configuration that Rockpool has read. For commands that must
 *  always answer. */
export async function loadLastConfig(environment: Environment): Promise<LoadedConfig> {
  try {
    return await loadConfig(environment)
  } catch (error) {
    const last = readCache(environment.stateDir)
    if (!last) throw error
    const { configFile: file } = environment
    const written = parseConfig(last.text, file)
    return { config: await checkConfig(written, file), file, written }
  }
}

/** Throws if the text of a configuration file is not valid. */
export async function checkConfigText(text: string, file: string): Promise<void> {
  await checkConfig(parseConfig(text, file), file)
}

/** Only the key `store`, for synchronous functions of the library. */
export function readStoreKind({ configFile, configIsNamed }: Environment): unknown {
  return parseConfig(readConfigText(configFile, configIsNamed), configFile)['store']
}

async function checkConfig(written: Record<string, unknown>, file: string): Promise<Config> {
  // Loaded only when needed: the schema of everything takes a while to build.
  const { configSchema } = await import('../domain/config.ts')
  const checked = configSchema.safeParse(written)
  if (checked.success) return checked.data
  const issues = checked.error.issues.map(describeIssue)
  throw new RockpoolError('config-invalid', `${file}: ${issues.join('; ')}.`, {
    hint: 'docs/config.md lists every key. Fix the file, or remove the key to use its default.',
  })
}

export function readConfigText(file: string, isNamed: boolean): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const isMissing = errorCode(error) === 'ENOENT'
    if (isMissing && !isNamed) return '{}'
    if (errorCode(error) === 'ENOTDIR')
      throw new RockpoolError('config-invalid', `${dirname(file)} is not a directory.`, {
        hint: 'Name a directory for the state (ROCKPOOL_STATE_DIR), or move away what is in its place.',
        cause: error,
      })
    throw new RockpoolError('config-invalid', `${file} ${isMissing ? 'does not exist' : 'cannot be read'}.`, {
      hint: isNamed
        ? 'ROCKPOOL_CONFIG names this file. Correct or unset the variable, or make the file; `{}` in it is enough to begin with.'
        : 'Look at its owner and mode.',
      cause: error,
    })
  }
}

export function parseConfig(text: string, file: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseWithComments(text)
  } catch (error) {
    const reason = errorText(error).replace(/^JSON5: /, '')
    throw new RockpoolError('config-invalid', `${file} is not JSON: ${reason}.`, {
      hint: 'Correct it there. Comments and a comma at the end are fine; a missing quote, comma or brace is not.',
      cause: error,
    })
  }
  if (isRecord(value)) return value
  throw new RockpoolError('config-invalid', `${file} must hold one object: { … }.`, {
    hint: 'docs/config.md has examples; `{}` is enough to begin with.',
  })
}

/** Plain JSON is parsed a hundred times faster; only files with comments need JSON5. */
function parseWithComments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not plain JSON: JSON5 parses it or reports the error.
    const json5 = createRequire(import.meta.url)('json5') as typeof JSON5
    return json5.parse(text)
  }
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return `unknown key ${issue.keys.map((key) => (path ? `${path}.${key}` : key)).join(', ')}`
  }
  return `${path || 'the file'}: ${expectationOf(issue)}`
}

/** The checked configuration is cached beside the state: building the schema and checking a file against it takes longer than
 *  everything else that a small command does. The cache is valid for one text and one build of the program. */
interface CachedConfig {
  text: string
  program: string
  config: Config
}

function readCachedConfig(stateDir: string, text: string): Config | undefined {
  const cached = readCache(stateDir)
  return cached?.text === text ? cached.config : undefined
}

function readCache(stateDir: string): CachedConfig | undefined {
  // Fails if there is no valid cache: the file is checked again.
  const cached = attempt(() => JSON.parse(readFileSync(pathIn(stateDir), 'utf8')) as CachedConfig)
  return cached?.program === programStamp() ? cached : undefined
}

function writeCachedConfig(stateDir: string, text: string, config: Config): void {
  const path = pathIn(stateDir)
  const cached: CachedConfig = { text, program: programStamp(), config }
  const temporary = `${path}.${process.pid}.tmp`
  // If it fails, only speed is lost. Code that must write reports a read-only state directory.
  attempt(() => {
    makeFolders(dirname(path))
    writeFileSync(temporary, JSON.stringify(cached), { mode: 0o600 })
    renameSync(temporary, path)
  })
}

/** Identifies this build: a newer one may know other keys. */
function programStamp(): string {
  const file = fileURLToPath(import.meta.url)
  return `${file} ${statSync(file).mtimeMs}`
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'index', 'config.json')
}
