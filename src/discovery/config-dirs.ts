// Which directories of Claude's are looked into.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DiscoveryConfig } from '../domain/config/coding-settings.ts'
import { realPath } from './slug.ts'

export interface ConfigDirSources {
  home: string
  /** CLAUDE_CONFIG_DIR; several are separated by commas. */
  claudeConfigDir?: string
  discovery: DiscoveryConfig
}

/** Real paths, each once; those that are not there yet stay, because a first session may make them. */
export function configDirsOf({ home, claudeConfigDir, discovery }: ConfigDirSources): string[] {
  const named = [...(claudeConfigDir?.split(',') ?? []), ...discovery.configDirs]
  const usual = discovery.onlyConfigured ? [] : [join(home, '.claude'), join(home, '.config', 'claude')]
  const paths = [...named, ...usual].map((path) => path.trim()).filter((path) => path !== '')
  const absolute = paths.map((path) => (path.startsWith('~/') ? join(home, path.slice(2)) : resolve(path)))
  return [...new Set(absolute.map((path) => (existsSync(path) ? realPath(path) : path)))]
}
