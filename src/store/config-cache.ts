// The checked configuration, kept beside the state: building the schema and checking a file against it takes
// longer than everything else that a small command does. Thrown away whenever the text or the program changes.
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../domain/config.ts'
import { makeFolders } from './disk/make-folders.ts'

interface CachedConfig {
  text: string
  program: string
  config: Config
}

/** The cached configuration, if text and program are unchanged. */
export function readCachedConfig(stateDir: string, text: string): Config | undefined {
  try {
    const cached = JSON.parse(readFileSync(pathIn(stateDir), 'utf8')) as CachedConfig
    return cached.text === text && cached.program === programStamp() ? cached.config : undefined
  } catch {
    // No valid cache: the file is checked again.
    return undefined
  }
}

export function writeCachedConfig(stateDir: string, text: string, config: Config): void {
  const path = pathIn(stateDir)
  const cached: CachedConfig = { text, program: programStamp(), config }
  const temporary = `${path}.${process.pid}.tmp`
  try {
    makeFolders(dirname(path))
    writeFileSync(temporary, JSON.stringify(cached), { mode: 0o600 })
    renameSync(temporary, path)
  } catch {
    // Only speed is lost. Code that must write reports a read-only state directory.
  }
}

/** Identifies this build: a newer one may know other keys. */
function programStamp(): string {
  const file = fileURLToPath(import.meta.url)
  return `${file} ${statSync(file).mtimeMs}`
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'index', 'config.json')
}
