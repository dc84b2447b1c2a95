// `rockpool openclaw`: puts Rockpool's plugin into OpenClaw with tokens of its own, shows how it is, and takes it out again.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { openclawPrefix } from '../domain/agent.ts'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { writePrivateFile } from '../store/disk/private-file.ts'
import { findGateway, openClient } from './call-operation.ts'
import type { OperationClient } from './call-operation.ts'
import { pageOf } from './host.ts'
import type { Host, LocalCommand } from './host.ts'
import { OpenClaw, openclawStateDir } from './openclaw-program.ts'
import { pairs, prose, safe } from './print.ts'
import type { Page } from './print.ts'

const openclaw = z.string().optional().describe("OpenClaw's program, when it is not on the PATH.")
const yes = z.boolean().default(false).describe('Do not ask for confirmation.')
const changeInput = z.strictObject({ openclaw, yes })
const change = { shortFlags: { yes: 'y' }, paths: ['openclaw'] }

export const commands: LocalCommand[] = [
  {
    name: 'openclaw.install',
    description: 'Put the Rockpool plugin into OpenClaw, or update it there.',
    input: changeInput,
    command: {
      ...change,
      examples: ['rockpool openclaw install', 'rockpool openclaw install --openclaw ~/bin/openclaw --yes'],
    },
    run: (host, input, json) => install(host, input as ChangeInput, json),
    print: printChange,
  },
  {
    name: 'openclaw.status',
    description: 'Show whether the plugin is installed in OpenClaw and connected, and what is missing.',
    input: z.strictObject({ openclaw }),
    command: {
      paths: ['openclaw'],
      examples: ['rockpool openclaw status', 'rockpool openclaw status --json'],
    },
    run: (host, input) => status(host, input['openclaw'] as string | undefined),
    print: printStatus,
  },
  {
    name: 'openclaw.remove',
    description: 'Take the plugin and its tokens out of OpenClaw. Sessions stay.',
    input: changeInput,
    command: { ...change, examples: ['rockpool openclaw remove'] },
    run: (host, input, json) => remove(host, input as ChangeInput, json),
    print: printChange,
  },
]

type ChangeInput = z.output<typeof changeInput>

/** The tokens of the plugin: what the model's tools may do, and what a person may do who gives a command. */
const tokens = {
  agentToken: { name: 'openclaw', scopes: ['read', 'write'] },
  personToken: { name: 'openclaw-person', scopes: ['read', 'write', 'approve'] },
} as const

interface Change {
  version: string
  stateDir: string
  /** In one sentence. */
  done: string
  next: string[]
}

async function install(host: Host, input: ChangeInput, json: boolean): Promise<Change> {
  const claw = await OpenClaw.find(host, input.openclaw)
  const folder = shippedPlugin(host)
  const file = tokenFile(claw.stateDir)
  const steps = [
    safe`Make two tokens for OpenClaw's agents, and write them to ${file} (mode 600).`,
    safe`Install the plugin from ${folder} into ${claw.pluginFolder}, with \`openclaw plugins install\`.`,
    'Switch it on in the configuration of OpenClaw.',
  ]
  await confirm(host, { version: claw.version, steps, input, json })
  const client = await openClient(host)
  try {
    await removeTokens(client)
    const secrets = {
      agentToken: await addToken(client, 'agentToken'),
      personToken: await addToken(client, 'personToken'),
    }
    writePrivateFile(file, `${JSON.stringify({ ...gatewayOf(host), ...secrets }, null, 2)}\n`)
    const config = isElsewhere(host) ? {} : { command: ownCommand(host) }
    const { needsRestart } = await claw.installPlugin(folder, config).catch(async (error: unknown) => {
      await removeTokens(client)
      rmSync(file, { force: true })
      throw error
    })
    const next = [
      ...(needsRestart ? ['Restart the gateway of OpenClaw, so that it loads the plugin.'] : []),
      '`rockpool openclaw status` shows when the plugin is connected.',
      'Then write to your agent in any chat: "Fix the failing test in ~/code/shop."',
    ]
    return { version: claw.version, stateDir: claw.stateDir, done: 'The plugin is installed.', next }
  } finally {
    await client.close()
  }
}

async function remove(host: Host, input: ChangeInput, json: boolean): Promise<Change> {
  const claw = await OpenClaw.find(host, input.openclaw)
  const file = tokenFile(claw.stateDir)
  const steps = [
    'Remove the plugin from the configuration of OpenClaw.',
    safe`Remove ${claw.pluginFolder}.`,
    safe`Revoke the two tokens, and remove ${file}.`,
  ]
  await confirm(host, { version: claw.version, steps, input, json })
  await claw.removePlugin(shippedPlugin(host))
  const client = await openClient(host)
  try {
    await removeTokens(client)
  } finally {
    await client.close()
  }
  for (const name of [file, join(claw.stateDir, 'rockpool-delivered.jsonl')]) rmSync(name, { force: true })
  return {
    version: claw.version,
    stateDir: claw.stateDir,
    done: 'The plugin and its tokens are removed.',
    next: [],
  }
}

async function status(host: Host, named: string | undefined) {
  const stateDir = openclawStateDir(host)
  const found = await OpenClaw.find(host, named).catch((error: unknown) => asRockpoolError(error))
  const claw = found instanceof OpenClaw ? found : undefined
  const client = await openClient(host)
  const isRunning = (await findGateway(host.environment)) !== undefined
  try {
    const { connected, pluginVersion, agents, tokens: known } = await client.call('openclaw.connection', {})
    const installed = installedVersion(stateDir)
    const missing = [
      ...(found instanceof RockpoolError ? [`${found.message} ${found.hint ?? ''}`.trim()] : []),
      ...(installed === undefined ? ['The plugin is not installed. Run `rockpool openclaw install`.'] : []),
      ...(known.length < 2 || !existsSync(tokenFile(stateDir))
        ? ['The plugin has no tokens. Run `rockpool openclaw install`.']
        : []),
      ...(isRunning
        ? []
        : ['The gateway of Rockpool does not run; the plugin starts one, or run `rockpool up`.']),
      ...(isRunning && installed !== undefined && !connected
        ? ['The plugin is not connected. Start or restart the gateway of OpenClaw.']
        : []),
    ]
    return {
      version: claw?.version,
      program: claw?.program,
      stateDir,
      installed,
      connected,
      pluginVersion,
      agents: agents.map(({ id }) => id),
      missing,
    }
  } finally {
    await client.close()
  }
}

async function removeTokens(client: OperationClient): Promise<void> {
  const { tokens: known } = await client.call('tokens.list', {})
  const names = Object.values(tokens).map(({ name }) => name as string)
  for (const { name, agents } of known)
    if (agents === openclawPrefix && names.includes(name)) await client.call('tokens.remove', { name })
}

async function addToken(client: OperationClient, which: keyof typeof tokens): Promise<string> {
  const { name, scopes } = tokens[which]
  return (await client.call('tokens.add', { name, scopes: [...scopes], agents: openclawPrefix })).token
}

/** Shows what will change, and asks. A program must say `--yes`. */
async function confirm(
  host: Host,
  { version, steps, input, json }: { version: string; steps: string[]; input: ChangeInput; json: boolean },
): Promise<void> {
  if (input.yes) return
  if (json || !host.terminal.canAsk)
    throw new RockpoolError('usage', 'This changes OpenClaw and must be confirmed.', {
      hint: `Add --yes. It would do this in OpenClaw ${version}: ${steps.join(' ')}`,
    })
  const { numbered } = await import('./print.ts')
  host.terminal.err(`In OpenClaw ${version} this will:\n${numbered(steps, pageOf(host))}\n\n`)
  const prompts = await import('@clack/prompts')
  if ((await prompts.confirm({ message: 'Do it?', initialValue: true })) === true) return
  throw new RockpoolError('refused', 'Not confirmed; nothing changed.')
}

/** Built and published with Rockpool, so that no network is needed. */
function shippedPlugin({ program }: Host): string {
  const folder = join(dirname(dirname(program)), 'plugins', 'openclaw', 'dist')
  if (existsSync(join(folder, 'openclaw.plugin.json'))) return folder
  throw new RockpoolError('not-found', `The plugin is missing in ${folder}.`, {
    hint: 'In a checkout: `npm run build`. Otherwise install Rockpool again.',
  })
}

/** How the plugin starts a gateway of Rockpool when none runs. */
function ownCommand({ program, environment }: Host): string[] {
  const { stateDir, variables } = environment
  const start = [process.execPath, program]
  return variables['ROCKPOOL_STATE_DIR']
    ? ['/usr/bin/env', `ROCKPOOL_STATE_DIR=${stateDir}`, ...start]
    : start
}

/** Where the plugin finds the gateway: by the process that runs on the state directory, or by an address elsewhere. */
function gatewayOf(host: Host): { url?: string; stateDir?: string } {
  const { gatewayUrl: url, stateDir } = host.environment
  return isElsewhere(host) ? { url } : { stateDir }
}

/** The commands of this shell go to a gateway that may be on another machine; the plugin cannot start that one. */
function isElsewhere({ environment }: Host): boolean {
  return environment.gatewayUrl !== undefined
}

/** Not `rockpool.json`: that is Rockpool's own configuration, and both programs may share a directory. */
function tokenFile(stateDir: string): string {
  return join(stateDir, 'rockpool-plugin.json')
}

function installedVersion(stateDir: string): string | undefined {
  const file = join(stateDir, 'extensions', 'rockpool-openclaw', 'package.json')
  if (!existsSync(file)) return undefined
  return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version
}

function printChange(output: unknown, page: Page): string {
  const { version, done, next } = output as Change
  return [safe`OpenClaw ${version}: ${done}`, ...next].map((line) => prose(line, page)).join('\n')
}

function printStatus(output: unknown, page: Page): string {
  const { version, stateDir, installed, connected, agents, missing } = output as Awaited<
    ReturnType<typeof status>
  >
  const facts = pairs(page, {
    OpenClaw: safe`${version ?? 'not found'}, state in ${stateDir}`,
    Plugin:
      installed === undefined
        ? 'not installed'
        : safe`${installed}, ${connected ? 'connected' : 'not connected'}`,
    Agents: agents.length > 0 ? agents.join(', ') : 'none reported yet',
  })
  return [facts, ...missing.map((line) => prose(`! ${line}`, page))].join('\n')
}
