// Reads settings: the accounts of a platform, the tools of an agent. Apart from the schemas, which take milliseconds to
// build: commands that only read need none of them.
import type { AgentsConfig } from './agent-settings.ts'
import type { AccountSettings, ChannelsConfig, PlatformName } from './channel-settings.ts'

/** Platforms that have accounts in the configuration. */
export const platforms = ['telegram', 'discord', 'whatsapp', 'web'] as const

type AccountOf<P extends PlatformName> = Omit<NonNullable<ChannelsConfig[P]>, 'accounts'>

/** The accounts of a platform, each with its own settings over those of the platform. */
export function accountsOf<P extends PlatformName>(
  config: ChannelsConfig,
  platform: P,
): Array<{ accountId: string; settings: AccountOf<P> }> {
  const section = config[platform]
  if (!section) return []
  const { accounts, ...shared } = section
  const named = Object.entries(accounts ?? {})
  const merged = named.length > 0 ? named : [['default', {}] as const]
  return merged.map(([accountId, own]) => ({ accountId, settings: { ...shared, ...own } as AccountOf<P> }))
}

/** The settings of one account; the platform's when the account is not in the configuration. */
export function accountSettingsOf(
  config: ChannelsConfig,
  channel: string,
  accountId: string,
): AccountSettings {
  const platform = platforms.find((name) => name === channel)
  const account = platform && accountsOf(config, platform).find((one) => one.accountId === accountId)
  if (account || !platform) return account?.settings ?? {}
  const { accounts: _, ...shared } = config[platform] ?? {}
  return shared
}

/** The configuration with further accounts: those that were added by command and have a secret but no settings. */
export function withAccounts(
  config: ChannelsConfig,
  kept: ReadonlyArray<{ channel: string; accountId: string }>,
): ChannelsConfig {
  const all: ChannelsConfig = { ...config }
  for (const platform of platforms) {
    const named = kept.filter((one) => one.channel === platform).map((one) => one.accountId)
    const known = accountsOf(config, platform).map((one) => one.accountId)
    const missing = named.filter((accountId) => !known.includes(accountId))
    if (missing.length === 0) continue
    const ids = [...known, ...missing]
    const accounts = Object.fromEntries(ids.map((id) => [id, config[platform]?.accounts?.[id] ?? {}]))
    Object.assign(all, { [platform]: { ...config[platform], accounts } })
  }
  return all
}

/** Tools that only read. Claude Code itself allows read-only shell commands (`ls`, `grep`); every other tool asks. */
const readOnlyTools = ['Read']

/** The tools that an agent may use without asking. Unless configured otherwise: for the owner it reads the whole machine,
 *  for everybody else only its own folder, which needs no rule. */
export function allowedToolsOf(
  { list, defaults }: AgentsConfig,
  agentId: string,
  withOwner = true,
): string[] {
  const own = list.find((agent) => agent.id === agentId)
  return own?.allowedTools ?? defaults.allowedTools ?? (withOwner ? readOnlyTools : [])
}

/** The grants of the configuration for an agent, by author; rights/ uses them. */
export function grantsOf(config: AgentsConfig, agentId: string) {
  const own = config.list.find((agent) => agent.id === agentId)
  return {
    owner: allowedToolsOf(config, agentId),
    program: allowedToolsOf(config, agentId, false),
    shared: own?.shared ?? config.defaults.shared ?? { files: [], tools: [] },
  }
}
