// Rockpool's plugin in Claude Code: where it is installed, what an installation would change, installing and removing it.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { findPlugin, installPlugin, isOutdated, pluginIn, removePlugin } from '../../claude-hooks/install.ts'
import type { PluginSource } from '../../claude-hooks/install.ts'
import { configDirsOf } from '../../discovery/list-files.ts'
import { asRockpoolError, attempt } from '../../domain/errors.ts'
import { packageFolder } from '../../store/package-folder.ts'
import { readClaudeHookFile } from '../../store/claude-hook-file.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'

const execute = promisify(execFile)

/** The oldest Claude Code with every hook of the plugin, and the one with which everything was tried last. */
const oldest = '2.1.200'
const tried = '2.1.325'

const home = z.object({
  configDir: z.string().describe("Claude's config directory."),
  folder: z.string().describe('The folder of the plugin in it.'),
  state: z
    .enum(['installed', 'outdated', 'not installed', 'other'])
    .describe('`other`: of another Rockpool, or not ours.'),
  version: z.string().optional(),
  problem: z.string().optional(),
})

const report = z.object({
  homes: z.array(home),
  claudeVersion: z.string().optional().describe('The version of Claude Code on this machine.'),
  missing: z.array(z.string()).describe('What does not work, and what to do about it.'),
})

const changeReport = report.extend({ changes: z.array(z.string()).describe('What was done, in sentences.') })

const status = operation({
  name: 'claude-plugin.status',
  description: 'Show where the plugin for Claude Code is installed, and what is missing.',
  input: z.strictObject({}),
  output: report.extend({
    install: z.array(z.string()).describe('What `install` would do.'),
    remove: z.array(z.string()).describe('What `remove` would do.'),
  }),
  scope: 'read',
  operatorOnly: true,
  heavyParts: [],
  command: { examples: ['rockpool claude-plugin status', 'rockpool claude-plugin status --json'] },
  async run(app) {
    const homes = homesOf(app)
    return { ...(await reportOn(app)), install: stepsToInstall(homes), remove: stepsToRemove(homes) }
  },
})

const install = change(
  'install',
  'Put the plugin into every config directory of Claude Code, or update it there.',
  ['rockpool claude-plugin install', 'rockpool claude-plugin install --yes'],
)

const remove = change('remove', 'Take the plugin out of Claude Code. Sessions and settings stay.', [
  'rockpool claude-plugin remove',
])

type Steps = Record<'install' | 'remove', string[]>

/** A person sees the steps before the confirmation; without a step there is nothing to confirm. */
function change(verb: keyof Steps, description: string, examples: string[]) {
  const stepsOf = (output: Record<string, unknown>): string[] => (output as Steps)[verb]
  return operation({
    name: `claude-plugin.${verb}`,
    description,
    input: z.strictObject({}),
    output: changeReport,
    scope: 'admin',
    changesState: true,
    destructive: true,
    heavyParts: [],
    command: {
      confirmIfFound: () => ({
        name: 'claude-plugin.status',
        steps: stepsOf,
        isFound: (output) => stepsOf(output).length > 0,
      }),
      examples,
    },
    async run(app) {
      const homes = homesOf(app)
      for (const { configDir, state } of homes) {
        if (verb === 'remove' && isOurs(state)) removePlugin(configDir)
        if (verb === 'install' && state !== 'installed') installPlugin(configDir, sourceOf(app))
      }
      const changes = verb === 'install' ? stepsToInstall(homes) : stepsToRemove(homes)
      return { ...(await reportOn(app)), changes }
    },
  })
}

/** Updates the plugin where it is installed, after an update of Rockpool. Called when a gateway starts. */
export function updatePlugins(app: App): void {
  for (const { configDir, state } of homesOf(app))
    if (state === 'outdated') installPlugin(configDir, sourceOf(app))
}

type Home = z.infer<typeof home>

function homesOf(app: App): Home[] {
  const dirs = configDirsOf({ ...app.environment, discovery: app.config.discovery })
  const existing = dirs.filter((dir) => existsSync(dir))
  // Before its first start Claude Code has none; it will use the first.
  return (existing.length > 0 ? existing : dirs.slice(0, 1)).map((configDir) => homeOf(app, configDir))
}

function homeOf(app: App, configDir: string): Home {
  const folder = pluginIn(configDir)
  try {
    const found = findPlugin(configDir)
    if (!found) return { configDir, folder, state: 'not installed' }
    const { version, stateDir } = found
    if (stateDir !== app.paths.root)
      return {
        configDir,
        folder,
        version,
        state: 'other',
        problem: `It belongs to the Rockpool in ${stateDir}.`,
      }
    return { configDir, folder, version, state: isOutdated(found, sourceOf(app)) ? 'outdated' : 'installed' }
  } catch (error) {
    return { configDir, folder, state: 'other', problem: asRockpoolError(error).message }
  }
}

function isOurs(state: Home['state']): boolean {
  return state === 'installed' || state === 'outdated'
}

function stepsToInstall(homes: Home[]): string[] {
  return homes.flatMap(({ folder, state }) => {
    if (state === 'installed') return []
    const verb = { outdated: 'Update', other: 'Replace', 'not installed': 'Add' }[state]
    return [`${verb} the folder ${folder}. New sessions load it; no setting is changed.`]
  })
}

function stepsToRemove(homes: Home[]): string[] {
  return homes.flatMap(({ folder, state }) => (isOurs(state) ? [`Remove the folder ${folder}.`] : []))
}

function sourceOf(app: App): PluginSource {
  const folder = join(packageFolder(), 'plugins', 'claude-code', 'dist')
  return { folder, stateDir: app.paths.root, node: process.execPath }
}

async function reportOn(app: App): Promise<z.infer<typeof report>> {
  const homes = homesOf(app)
  const version = await claudeVersion(app)
  const isRunning = readClaudeHookFile(app.paths.root) !== undefined
  return {
    homes,
    claudeVersion: version.version,
    missing: [
      ...version.missing,
      ...homes.flatMap(({ problem }) => problem ?? []),
      ...(isRunning ? [] : ['The gateway does not run; sessions are connected when it does: `rockpool up`.']),
    ],
  }
}

/** The Claude Code that people start on this machine, and what of the plugin does not work in it. */
async function claudeVersion({
  environment,
  config,
}: Pick<App, 'environment' | 'config'>): Promise<{ version?: string; missing: string[] }> {
  const program = config.claude.binary || 'claude'
  const { PATH, HOME } = environment.variables
  const asked = execute(program, ['--version'], { env: { PATH, HOME }, timeout: 5_000 })
  const text = await asked.then(({ stdout }) => stdout).catch(() => '')
  const version = attempt(() => /\d+\.\d+\.\d+/.exec(text)?.[0])
  return { version, missing: missingIn(version) }
}

function missingIn(version: string | undefined): string[] {
  if (version === undefined) return ['There is no `claude` on the PATH; the plugin waits for it.']
  if (isOlder(version, oldest))
    return [`Claude Code ${version} is older than ${oldest} and may not load the plugin. Update Claude Code.`]
  if (isOlder(version, tried))
    return [
      `Claude Code ${version} may not report what resuming a session costs (${tried} does); everything else works.`,
    ]
  return []
}

function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('.').map(Number)) as [number[], number[]]
  const at = one.findIndex((number, i) => number !== other[i])
  return at >= 0 && one[at]! < (other[at] ?? 0)
}

export const operations = [status, install, remove]
