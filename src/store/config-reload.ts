// Applies a changed configuration while the gateway runs. `app.config` is the one reference to it: each part reads it at each
// use, and a reload replaces its sections. What is fixed at the start (ports, stores, channels) keeps its value, and the log
// names it as needing a restart. An invalid file changes nothing.
import { isDeepStrictEqual } from 'node:util'
import { repeat } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { errorText } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import { isRecord } from '../domain/json.ts'
import type { Log } from '../domain/log.ts'
import { loadConfig, type Environment } from './config-file.ts'
import { fileVersion } from './disk/atomic-file.ts'

interface ReloadParts {
  environment: Environment
  config: Config
  clock: Clock
  log: Log
  events: Events
}

export const fixedAtStart = [
  'store',
  'durability',
  'timeZone',
  'log',
  'gateway.port',
  'gateway.bind',
  'gateway.allowPlaintextLan',
  'session.store',
  'machine.name',
  'machine.labels',
  'channels',
  'claude',
  'memory',
  'discovery',
  'vault',
]

/** Polls, because editors replace files in ways that file notifications miss. The result stops it. */
const pollMs = 1_000

export function reloadConfigOnChange(parts: ReloadParts): () => void {
  const { configFile: file } = parts.environment
  let known = fileVersion(file)
  let unreadable: string | undefined
  return repeat(parts.clock, pollMs, async () => {
    const version = fileVersion(file)
    if (version === known) return
    const reason = await reload(parts)
    // An editor may still be writing: an invalid file is read again before it is reported.
    if (reason !== undefined && version !== unreadable) {
      unreadable = version
      return
    }
    known = version
    if (reason !== undefined)
      parts.log.error(
        { event: 'config-invalid', reason },
        'The changed configuration is invalid; the old one stays in force.',
      )
  })
}

/** Resolves to the reason why the file is invalid, or to nothing when it is in force. */
async function reload(parts: ReloadParts): Promise<string | undefined> {
  try {
    applyConfig(parts, (await loadConfig(parts.environment)).config)
    return undefined
  } catch (error) {
    return errorText(error)
  }
}

/** Why the configuration file, as it is now, could not be put in force; undefined when it is valid. */
export async function configProblem(environment: Environment): Promise<string | undefined> {
  try {
    await loadConfig(environment)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Puts the reloadable sections of `next` in force, and reports what changed. */
export function applyConfig(
  { config, log, events }: Pick<ReloadParts, 'config' | 'log' | 'events'>,
  next: Config,
): void {
  const changed = changedKeys(config, next)
  if (changed.length === 0) return
  const isFixed = (key: string): boolean =>
    fixedAtStart.some((fixed) => key === fixed || key.startsWith(`${fixed}.`))
  const reloaded = [
    ...new Set(changed.filter((key) => !isFixed(key)).map((key) => key.split('.', 1)[0] as keyof Config)),
  ]
  const needsRestart = [...changed.filter(isFixed), ...changedHeartbeats(config, next)]
  for (const section of reloaded) replaceSection(config, next, section)
  log.info({ event: 'config-changed', reloaded, needsRestart }, 'The configuration was changed.')
  events.emit({ type: 'config-changed', reloaded, needsRestart })
}

/** Changes `config` in place, because every part refers to this object. Keys that are fixed at the start keep their value. */
function replaceSection(config: Config, next: Config, section: keyof Config): void {
  const value: unknown = next[section]
  const fixed = fixedAtStart.filter((key) => key.startsWith(`${section}.`)).map((key) => key.split('.')[1]!)
  const before = config[section] as Record<string, unknown>
  const kept = Object.fromEntries(fixed.map((key) => [key, before[key]]))
  Object.assign(config, { [section]: fixed.length > 0 && isRecord(value) ? { ...value, ...kept } : value })
}

/** The timers of heartbeats are set at the start. */
function changedHeartbeats(old: Config, next: Config): string[] {
  const intervals = ({ agents: { defaults, list } }: Config): unknown =>
    [defaults, ...list]
      .map(({ heartbeat = defaults.heartbeat }, i) => [list[i - 1]?.id, heartbeat?.every])
      .filter(([, every]) => every !== undefined)
  return isDeepStrictEqual(intervals(old), intervals(next)) ? [] : ['agents.*.heartbeat.every']
}

/** Names of sections, such as `session`; single keys such as `gateway.port` for a section with keys that are fixed at the start. */
function changedKeys(old: Config, next: Config): string[] {
  const sections = Object.keys(next) as Array<keyof Config>
  return sections.flatMap((section) => {
    const before: unknown = old[section]
    const after: unknown = next[section]
    if (isDeepStrictEqual(before, after)) return []
    const single = fixedAtStart.some((fixed) => fixed.startsWith(`${section}.`))
    if (!single || !isRecord(before) || !isRecord(after)) return [section]
    const keys = Object.keys(after).filter((key) => !isDeepStrictEqual(before[key], after[key]))
    return keys.map((key) => `${section}.${key}`)
  })
}
