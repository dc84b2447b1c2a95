// `rockpool setup`: the first run. Looks what is there, asks about the rest, changes nothing that is set already, and
// every step can be skipped. Without a terminal it only reports what it found.
import type * as clack from '@clack/prompts'
import { z } from 'zod'
import { findCredential } from '../agent/credentials.ts'
import type { Config } from '../domain/config.ts'
import { findChannelToken, keepChannelToken } from '../store/channel-tokens.ts'
import { editConfigFile } from '../store/config-edit.ts'
import type { JsonObject } from '../store/config-edit.ts'
import { loadConfig } from '../store/config-file.ts'
import { statePaths } from '../store/paths.ts'
import type { StatePaths } from '../store/paths.ts'
import { findGateway } from './call-operation.ts'
import type { Host, LocalCommand } from './local-command.ts'

interface Findings {
  claude: { found: boolean; source?: string; hint?: string }
  agents: string[]
  channels: Array<{ channel: string; tokenFrom: string }>
  service: { installed: boolean }
}

export const commands: LocalCommand[] = [
  {
    name: 'setup',
    description: 'Set things up: Claude, an agent, a first channel, the service. Every step can be skipped.',
    input: z.strictObject({}),
    command: { examples: ['rockpool setup', 'rockpool setup --json'] },
    async run(host, _input, json) {
      const world = await look(host)
      if (json || !host.terminal.canAsk) return world.findings
      await walkThrough(host, world)
      return undefined
    },
  },
]

interface World {
  config: Config
  paths: StatePaths
  findings: Findings
}

const tokenChannels = ['telegram', 'discord'] as const

async function look(host: Host): Promise<World> {
  const { environment } = host
  // What is asked here is written into the file, so it need not be there yet.
  const { config } = await loadConfig({ ...environment, configIsNamed: false })
  const paths = statePaths(environment.stateDir)
  const credential = findCredential(environment, config.claude.credential)
  const channels = tokenChannels.flatMap((channel) => {
    const found = findChannelToken({ channel, accountId: 'default' }, environment, paths)
    return found ? [{ channel, tokenFrom: found.origin }] : []
  })
  const { serviceStatus } = await import('./start-at-login.ts')
  const { installed } = await serviceStatus(host)
  const findings: Findings = {
    claude: credential
      ? { found: true, source: credential.source }
      : {
          found: false,
          hint: 'Run `claude` and log in, or set ANTHROPIC_API_KEY. Until then the offline agent answers.',
        },
    agents: config.agents.list.map(({ id }) => id),
    channels,
    service: { installed },
  }
  return { config, paths, findings }
}

async function walkThrough(host: Host, world: World): Promise<void> {
  const prompts = await import('@clack/prompts')
  prompts.intro('Rockpool')
  const { claude } = world.findings
  prompts.log.info(claude.found ? `Claude: ${claude.source}` : `Claude: no log-in found. ${claude.hint}`)
  for (const ask of [askAgent, askChannel, askService]) {
    if ((await ask(prompts, host, world)) !== 'leave') continue
    prompts.cancel('Stopped. The settings made before this step are kept.')
    return
  }
  const isUp = (await findGateway(host.environment)) !== undefined
  const next = isUp ? '`rockpool dashboard` opens the dashboard' : '`rockpool up` starts the gateway'
  prompts.outro(`Ready. ${next}, \`rockpool status\` shows how things are.`)
}

/** Ctrl-C leaves the whole set-up; an empty answer skips one step. */
type Step = Promise<'leave' | void>

// Types only: the library is loaded when there is a terminal to ask at.
type Prompts = typeof clack

async function askAgent(prompts: Prompts, host: Host, { findings }: World): Step {
  if (findings.agents.length > 0) {
    prompts.log.info(`Agents: ${findings.agents.join(', ')}`)
    return
  }
  const name = await prompts.text({
    message: 'What shall the agent be called? (empty: skip)',
    placeholder: 'main',
    validate: (value) => ((value ?? '').length > 100 ? 'At most 100 characters.' : undefined),
  })
  if (prompts.isCancel(name)) return 'leave'
  if (!name?.trim()) return
  await editConfigFile(host.environment.configFile, (config) =>
    within(config, 'agents', (agents) => ({
      ...agents,
      list: [{ id: 'main', name: name.trim(), default: true }],
    })),
  )
}

async function askChannel(prompts: Prompts, host: Host, { findings, paths }: World): Step {
  for (const { channel, tokenFrom } of findings.channels)
    prompts.log.info(`${channel}: token from ${tokenFrom}`)
  if (findings.channels.length > 0) return
  const channel = await prompts.select({
    message: 'A first channel?',
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
  keepChannelToken({ channel, accountId: 'default' }, token, paths)
  await editConfigFile(host.environment.configFile, (config) =>
    within(config, 'channels', (channels) => ({ [channel]: { enabled: true }, ...channels })),
  )
  prompts.log.success(
    `Kept in credentials/, readable by you alone. Write to the bot; it gives you a pairing code.`,
  )
}

async function askService(prompts: Prompts, host: Host, { findings }: World): Step {
  if (findings.service.installed) {
    prompts.log.info('Service: installed')
    return
  }
  const yes = await prompts.confirm({ message: 'Start the gateway at every log-in?', initialValue: false })
  if (prompts.isCancel(yes)) return 'leave'
  if (!yes) return
  const { installService } = await import('./start-at-login.ts')
  try {
    await installService(host, true)
    prompts.log.success('The service is installed and started.')
  } catch (error) {
    prompts.log.warn(error instanceof Error ? error.message : String(error))
  }
}

function within(config: JsonObject, section: string, change: (inner: JsonObject) => JsonObject): JsonObject {
  return { ...config, [section]: change((config[section] ?? {}) as JsonObject) }
}
