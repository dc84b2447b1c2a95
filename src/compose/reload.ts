// Takes up a changed configuration while the gateway runs. Everybody who reads `app.config` sees the new values; what
// was settled at the start (ports, stores, channels) is said to need a restart. A file that is wrong changes nothing.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../domain/config.ts'
import type { App } from '../operations/app.ts'
import { loadConfig } from '../store/config-file.ts'
import { watchConfigFile } from '../store/config-watch.ts'

/** Settled at the start; keys and sections. */
const settledAtStart = [
  'store',
  'durability',
  'timeZone',
  'log',
  'gateway.port',
  'gateway.bind',
  'channels',
  'claude',
  'memory',
  'discovery',
]

export function reloadConfigOnChange(app: App): () => void {
  return watchConfigFile(app.environment.configFile, app.clock, async () => {
    try {
      const { config } = await loadConfig(app.environment)
      takeUp(app, config)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      app.log.error({ reason }, 'The changed configuration is wrong; the old one stays in force.')
    }
  })
}

function takeUp(app: App, next: Config): void {
  const changed = changedKeys(app.config, next)
  const needsRestart = changed.filter((key) => settledAtStart.some((fixed) => isWithin(key, fixed)))
  const reloaded = [
    ...new Set(changed.filter((key) => !needsRestart.includes(key)).map((key) => key.split('.', 1)[0]!)),
  ]
  if (changed.length === 0) return
  // In place: many hold on to this object.
  for (const section of reloaded) Object.assign(app.config, { [section]: next[section as keyof Config] })
  app.log.info({ reloaded, needsRestart }, 'The configuration was changed.')
  app.events.emit({ type: 'config-changed', reloaded, needsRestart })
}

function isWithin(key: string, fixed: string): boolean {
  return key === fixed || key.startsWith(`${fixed}.`)
}

/** `session`, or `gateway.port` where single keys of a section count. */
function changedKeys(old: Config, next: Config): string[] {
  const sections = Object.keys(next) as Array<keyof Config>
  return sections.flatMap((section) => {
    const before: unknown = old[section]
    const after: unknown = next[section]
    if (isDeepStrictEqual(before, after)) return []
    const single = settledAtStart.some((fixed) => fixed.startsWith(`${section}.`))
    if (!single || !isRecord(before) || !isRecord(after)) return [section]
    const keys = Object.keys(after).filter((key) => !isDeepStrictEqual(before[key], after[key]))
    return keys.map((key) => `${section}.${key}`)
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
