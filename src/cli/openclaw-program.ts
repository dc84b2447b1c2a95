// OpenClaw on this machine: its program, its state directory, and the plugin in it. Everything that changes OpenClaw is done by
// OpenClaw's own commands; only the folder of the plugin is removed by hand in versions without `plugins uninstall`.
import { execFile } from 'node:child_process'
import { accessSync, constants, cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { RockpoolError } from '../domain/errors.ts'
import { isRecord } from '../domain/json.ts'
import type { Host } from './host.ts'

const pluginId = 'rockpool-openclaw'
const entryPath = `plugins.entries.${pluginId}`
const oldest = '2026.1.30'
const execute = promisify(execFile)

/** Under these names the program kept its state before it was called OpenClaw. */
const olderStateDirs = ['.moltbot', '.clawdbot']

export class OpenClaw {
  readonly program: string
  readonly stateDir: string
  readonly version: string
  #variables: Host['environment']['variables']

  private constructor(host: Host, program: string, version: string) {
    this.program = program
    this.stateDir = openclawStateDir(host)
    this.version = version
    this.#variables = host.environment.variables
  }

  /** `named`: the program, when it is not on the PATH. */
  static async find(host: Host, named: string | undefined): Promise<OpenClaw> {
    const program = findProgram(host, named)
    if (program === undefined)
      throw new RockpoolError('not-found', `There is no OpenClaw ${named ?? 'on the PATH'}.`, {
        hint: 'Name the program: `rockpool openclaw install --openclaw /path/to/openclaw`.',
      })
    const unknown = new OpenClaw(host, program, '')
    const [version] = /\d{4}\.\d+\.\d+/.exec(await unknown.#run('--version')) ?? []
    if (version === undefined || isOlder(version, oldest))
      throw new RockpoolError(
        'refused',
        `OpenClaw ${version ?? 'of an unknown version'} has no plugins like this.`,
        {
          hint: `The plugin needs OpenClaw ${oldest} or later. Update OpenClaw first.`,
        },
      )
    return new OpenClaw(host, program, version)
  }

  get pluginFolder(): string {
    return join(this.stateDir, 'extensions', pluginId)
  }

  /** Installs or updates the plugin. `config`: added to the settings that the plugin has. */
  async installPlugin(folder: string, config: Record<string, unknown>): Promise<{ needsRestart: boolean }> {
    const help = await this.#run('plugins', 'install', '--help')
    const flags = ['--force', '--accept-capabilities'].filter((flag) => help.includes(flag))
    const before = await this.#settings(folder)
    // Older versions refuse to replace a plugin, and load a new one only when they start.
    const isOld = !flags.includes('--force')
    if (isOld) await this.#removeByHand(before !== undefined)
    await this.#run('plugins', 'install', folder, ...flags)
    const settings = { ...before, ...config }
    await this.#run('config', 'set', `${entryPath}.config`, JSON.stringify(settings), '--json')
    return { needsRestart: isOld }
  }

  async removePlugin(folder: string): Promise<void> {
    const isConfigured = (await this.#settings(folder)) !== undefined
    const help = await this.#run('plugins', '--help')
    if (!/^\s+uninstall\b/m.test(help)) return this.#removeByHand(isConfigured)
    if (existsSync(this.pluginFolder)) await this.#run('plugins', 'uninstall', pluginId, '--force')
    // `uninstall` leaves the entry there, switched off.
    await this.#run('config', 'unset', entryPath).catch(() => '')
  }

  /** The settings of the plugin; undefined when OpenClaw's configuration does not name it. */
  async #settings(folder: string): Promise<Record<string, unknown> | undefined> {
    if (!readConfigText(this.stateDir).includes(pluginId)) return undefined
    // While the configuration names a plugin without a folder, every command of OpenClaw 2026.1.30 fails.
    if (!existsSync(this.pluginFolder)) cpSync(folder, this.pluginFolder, { recursive: true })
    const text = await this.#run('config', 'get', entryPath, '--json').catch(() => 'null')
    const entry: unknown = JSON.parse(text)
    const config = isRecord(entry) ? entry['config'] : undefined
    return isRecord(entry) ? (isRecord(config) ? config : {}) : undefined
  }

  /** First the configuration, then the folder: in the opposite order no command would work in between. */
  async #removeByHand(isConfigured: boolean): Promise<void> {
    if (isConfigured) await this.#run('config', 'unset', entryPath)
    await this.#run('config', 'unset', `plugins.installs.${pluginId}`).catch(() => '')
    rmSync(this.pluginFolder, { recursive: true, force: true })
  }

  async #run(...args: string[]): Promise<string> {
    const isScript = /\.[cm]?js$/.test(this.program)
    const [file, all] = isScript ? [process.execPath, [this.program, ...args]] : [this.program, args]
    const env = { ...this.#variables, OPENCLAW_STATE_DIR: this.stateDir, NO_COLOR: '1' }
    try {
      return (await execute(file, all, { env, timeout: 300_000, maxBuffer: 8 << 20 })).stdout
    } catch (error) {
      const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string }
      const why = (stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' ')
      throw new RockpoolError('unavailable', `\`openclaw ${args.join(' ')}\` failed: ${why}`, {
        hint: 'Run that command yourself to see everything that it says.',
        cause: error,
      })
    }
  }
}

/** By OPENCLAW_STATE_DIR, else `~/.openclaw`, else under an older name. */
export function openclawStateDir({ environment }: Host): string {
  const { openclawStateDir: named, variables, home } = environment
  if (variables['OPENCLAW_STATE_DIR'] || existsSync(named)) return named
  return olderStateDirs.map((name) => join(home, name)).find((path) => existsSync(path)) ?? named
}

function findProgram({ environment, cwd }: Host, named: string | undefined): string | undefined {
  const folders = (environment.variables['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const candidates =
    named === undefined ? folders.map((folder) => join(folder, 'openclaw')) : [resolve(cwd, named)]
  return candidates.find((path) => isExecutable(path) || (named !== undefined && existsSync(path)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function readConfigText(stateDir: string): string {
  const file = join(stateDir, 'openclaw.json')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('.').map(Number))
  const at = one!.findIndex((number, i) => number !== other![i])
  return at >= 0 && one![at]! < other![at]!
}
