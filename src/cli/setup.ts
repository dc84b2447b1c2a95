// `rockpool setup`: the first run. Finds out what is set up, asks about the rest, and changes no existing setting. Every
// step can be skipped. Without a terminal it only reports what it found.
import type * as clack from '@clack/prompts'
import { z } from 'zod'
import { findCredential } from '../agent/credentials.ts'
import { findChannelToken, storeChannelToken } from '../store/channel-tokens.ts'
import { editConfigFile } from '../store/config-edit.ts'
import type { JsonObject } from '../store/config-edit.ts'
import { loadConfig } from '../store/config-file.ts'
import { statePaths } from '../store/paths.ts'
import type { StatePaths } from '../store/paths.ts'
import { findGateway, openClient } from './call-operation.ts'
import type { Host, LocalCommand } from './host.ts'
import { pairs, prose } from './print.ts'
import type { Page } from './print.ts'
import { installService, serviceStatus } from './start-at-login.ts'

interface Findings {
  claude: { found: boolean; source?: string; hint?: string }
  agents: string[]
  channels: Array<{ channel: string; tokenFrom: string }>
  service: { installed: boolean }
}

export const commands: LocalCommand[] = [
  {
    name: 'setup',
    description: 'Set up Claude, an agent, a first channel and the service. Every step can be skipped.',
    input: z.strictObject({}),
    command: { examples: ['rockpool setup', 'rockpool setup --json'] },
    async run(host, _input, json) {
      const { findings, paths } = await examine(host)
      if (json || !host.terminal.canAsk) return findings
      await walkThrough(host, findings, paths)
      return undefined
    },
    print: printFindings,
  },
]

const tokenChannels = ['telegram', 'discord'] as const

async function examine(host: Host): Promise<{ findings: Findings; paths: StatePaths }> {
  const { environment } = host
  // `configIsNamed: false`: the file may be missing, because this command creates it.
  const { config } = await loadConfig({ ...environment, configIsNamed: false })
  const paths = statePaths(environment.stateDir)
  const credential = findCredential(environment, config.claude.credential)
  const channels = tokenChannels.flatMap((channel) => {
    const found = findChannelToken({ channel, accountId: 'default' }, environment, paths)
    return found ? [{ channel, tokenFrom: found.origin }] : []
  })
  const { installed } = await serviceStatus(host)
  const findings: Findings = {
    claude: credential
      ? { found: true, source: credential.source }
      : {
          found: false,
          hint: 'Run `rockpool login`, or set ANTHROPIC_API_KEY. Until then the offline agent answers.',
        },
    agents: config.agents.list.map(({ id }) => id),
    channels,
    service: { installed },
  }
  return { findings, paths }
}

async function walkThrough(host: Host, findings: Findings, paths: StatePaths): Promise<void> {
  const prompts = await import('@clack/prompts')
  prompts.intro('Rockpool')
  const { claude } = findings
  prompts.log.info(claude.found ? `Claude: ${claude.source}` : `Claude: no login found. ${claude.hint}`)
  for (const ask of [askAgent, askChannel, askClaudePlugin, askService]) {
    if ((await ask(prompts, host, findings, paths)) !== 'leave') continue
    prompts.cancel('Stopped. The settings made before this step are kept.')
    return
  }
  const isUp = (await findGateway(host.environment)) !== undefined
  const next = isUp ? '`rockpool dashboard` opens the dashboard' : '`rockpool up` starts the gateway'
  prompts.outro(`Ready. ${next}, \`rockpool status\` shows the state.`)
}

/** Ctrl-C leaves the setup; an empty answer skips one step. */
type Step = Promise<'leave' | void>

// The type only: the library is loaded if there is a terminal.
type Prompts = typeof clack

async function askAgent(prompts: Prompts, host: Host, findings: Findings): Step {
  if (findings.agents.length > 0) {
    prompts.log.info(`Agents: ${findings.agents.join(', ')}`)
    return
  }
  const name = await prompts.text({
    message: 'Name of the agent? (Enter skips this: then it is called main)',
    validate: (value) => ((value ?? '').length > 100 ? 'At most 100 characters.' : undefined),
  })
  if (prompts.isCancel(name)) return 'leave'
  if (!name?.trim()) return
  await editConfigFile(host.environment.configFile, (config) =>
    editSection(config, 'agents', (agents) => ({
      ...agents,
      list: [{ id: 'main', name: name.trim(), default: true }],
    })),
  )
}

/** Connects the sessions that people start in a terminal. */
async function askClaudePlugin(prompts: Prompts, host: Host): Step {
  const client = await openClient(host)
  try {
    const { install } = await client.call('claude-plugin.status', {})
    if (install.length === 0) {
      prompts.log.info('The plugin in Claude Code is installed.')
      return
    }
    const message = `Connect your terminal sessions of Claude Code?\n${install.join('\n')}`
    const wanted = await prompts.confirm({ message, initialValue: true })
    if (prompts.isCancel(wanted)) return 'leave'
    if (wanted) await client.call('claude-plugin.install', {})
  } finally {
    await client.close()
  }
}

async function askChannel(prompts: Prompts, host: Host, findings: Findings, paths: StatePaths): Step {
  for (const { channel, tokenFrom } of findings.channels)
    prompts.log.info(`${channel}: token from ${tokenFrom}`)
  if (findings.channels.length > 0) return
  const channel = await prompts.select({
    message: 'Add a first channel?',
    options: [
      { value: 'none', label: 'Skip' },
      { value: 'telegram', label: 'Telegram (a bot token from @BotFather)' },
      { value: 'discord', label: 'Discord (a bot token)' },
      { value: 'whatsapp', label: 'WhatsApp (a code to scan)' },
    ],
  })
  if (prompts.isCancel(channel)) return 'leave'
  if (channel === 'none') return
  if (channel === 'whatsapp') {
    prompts.log.info('`rockpool channels add whatsapp` shows the code, once you are ready to scan it.')
    return
  }
  const token = await prompts.password({ message: `The ${channel} bot token (empty: skip)` })
  if (prompts.isCancel(token)) return 'leave'
  if (!token?.trim()) return
  storeChannelToken({ channel, accountId: 'default' }, token, paths)
  await editConfigFile(host.environment.configFile, (config) =>
    editSection(config, 'channels', (channels) => ({ [channel]: { enabled: true }, ...channels })),
  )
  prompts.log.success(
    'Stored in credentials/, readable only by you. Write to the bot; it answers with a pairing code.',
  )
}

async function askService(prompts: Prompts, host: Host, findings: Findings): Step {
  if (findings.service.installed) {
    prompts.log.info('Service: installed')
    return
  }
  const yes = await prompts.confirm({ message: 'Start the gateway at login?', initialValue: false })
  if (prompts.isCancel(yes)) return 'leave'
  if (!yes) return
  try {
    await installService(host, true)
    prompts.log.success('The service is installed and started.')
  } catch (error) {
    prompts.log.warn(error instanceof Error ? error.message : String(error))
  }
}

function editSection(
  config: JsonObject,
  section: string,
  change: (inner: JsonObject) => JsonObject,
): JsonObject {
  return { ...config, [section]: change((config[section] ?? {}) as JsonObject) }
}

/** The output when there is no terminal in which to ask. */
function printFindings(output: unknown, page: Page): string {
  const { claude, agents, channels, service } = output as Findings
  const named = channels.map(({ channel, tokenFrom }) => `${channel} (token from ${tokenFrom})`)
  const facts = pairs(page, {
    Claude: claude.found ? `connected (${claude.source ?? ''})` : `not connected. ${claude.hint ?? ''}`,
    Agents: agents.join(', ') || 'main, with default settings',
    Channels: named.join(', ') || 'none (`rockpool channels add` sets one up)',
    Service: service.installed ? 'installed' : 'not installed (`rockpool service install`)',
  })
  return `${facts}\n\n${prose('Run it in a terminal to set up what is missing.', page)}`
}
