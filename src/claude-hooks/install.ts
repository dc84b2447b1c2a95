// Puts Rockpool's plugin into a config directory of Claude Code, and takes it out again. Claude Code loads every folder in `skills/`
// that is a plugin, so one folder is all that changes: no setting of the user is touched, and removing the folder removes everything.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { attempt, RockpoolError } from '../domain/errors.ts'
import { parseRecord } from '../domain/json.ts'

export interface PluginSource {
  /** The plugin as it is shipped with Rockpool. */
  folder: string
  stateDir: string
  /** The Node that the plugin's server runs with. */
  node: string
}

interface InstalledPlugin {
  folder: string
  version: string
  /** The state directory of the Rockpool that it belongs to. */
  stateDir: string
}

/** Written beside the files of the plugin; the shell lines read it. */
const installedFile = 'installed.sh'

export function pluginIn(configDir: string): string {
  return join(configDir, 'skills', 'rockpool')
}

/** Undefined if there is none. Throws if the folder is not ours. */
export function findPlugin(configDir: string): InstalledPlugin | undefined {
  const folder = pluginIn(configDir)
  if (!existsSync(folder)) return undefined
  const values = attempt(() => readFileSync(join(folder, installedFile), 'utf8'))
  const [, stateDir] = /^rockpool_state='(.*)'$/m.exec(values ?? '') ?? []
  if (stateDir !== undefined) return { folder, version: versionOf(folder), stateDir: unquoted(stateDir) }
  throw new RockpoolError('conflict', `${folder} exists and is not Rockpool's plugin.`, {
    hint: 'Rename that folder, then install the plugin.',
  })
}

/** Installs or updates. */
export function installPlugin(configDir: string, { folder: shipped, stateDir, node }: PluginSource): void {
  findPlugin(configDir)
  checkShipped(shipped)
  const folder = pluginIn(configDir)
  const skills = join(configDir, 'skills')
  const madeSkills = existsSync(skills) ? readsMadeSkills(folder) : true
  mkdirSync(skills, { recursive: true })
  rmSync(folder, { recursive: true, force: true })
  cpSync(shipped, folder, { recursive: true })
  const lines = [
    '# Written by `rockpool claude-plugin install`.',
    `rockpool_state=${quoted(stateDir)}`,
    `rockpool_node=${quoted(node)}`,
    `made_skills=${quoted(madeSkills ? 'yes' : 'no')}`,
  ]
  writeFileSync(join(folder, installedFile), `${lines.join('\n')}\n`)
}

/** Also removes what Claude Code made for the plugin, and `skills/` if the installation made it. */
export function removePlugin(configDir: string): void {
  if (!findPlugin(configDir)) return
  const folder = pluginIn(configDir)
  const skills = join(configDir, 'skills')
  const madeSkills = readsMadeSkills(folder)
  rmSync(folder, { recursive: true, force: true })
  rmSync(join(configDir, 'plugins', 'data', 'rockpool-skills-dir'), { recursive: true, force: true })
  if (madeSkills && readdirSync(skills).length === 0) rmdirSync(skills)
}

/** Does the installed plugin differ from the shipped one? */
export function isOutdated(installed: InstalledPlugin, { folder: shipped, node }: PluginSource): boolean {
  const text = (root: string, file: string): string => readFileSync(join(root, file), 'utf8')
  const files = readdirSync(shipped, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(shipped.length + 1))
  const isSame = attempt(
    () =>
      files.every((file) => text(shipped, file) === text(installed.folder, file)) &&
      text(installed.folder, installedFile).includes(`rockpool_node=${quoted(node)}`),
  )
  return isSame !== true
}

function checkShipped(folder: string): void {
  if (existsSync(join(folder, 'server.mjs'))) return
  throw new RockpoolError('not-found', `The plugin is missing in ${folder}.`, {
    hint: 'In a checkout: `npm run build`. Otherwise install Rockpool again.',
  })
}

function versionOf(folder: string): string {
  const manifest = attempt(() => readFileSync(join(folder, '.claude-plugin', 'plugin.json'), 'utf8'))
  const version = parseRecord(manifest ?? '')?.['version']
  return typeof version === 'string' ? version : 'unknown'
}

function readsMadeSkills(folder: string): boolean {
  return (
    attempt(() => readFileSync(join(folder, installedFile), 'utf8'))?.includes("made_skills='yes'") === true
  )
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function unquoted(text: string): string {
  return text.replaceAll("'\\''", "'")
}
