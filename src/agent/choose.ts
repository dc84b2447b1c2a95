// Chooses the agent: Claude, if there is a credential for it; otherwise the offline agent, which says so.
import type { AgentRuntime } from '../domain/agent.ts'
import type { ClaudeAgentOptions } from './claude.ts'
import type { ClaudeConfig } from '../domain/config/agent-settings.ts'
import type { Environment } from '../store/config-file.ts'
import { findOwnCgroup } from '../store/disk/cgroup.ts'
import { findCredential } from './credentials.ts'
import { howToConnect, makeOfflineAgent } from './offline.ts'
import type { OfflineOptions } from './offline.ts'

interface ChoiceOptions extends Omit<ClaudeAgentOptions, 'credential'> {
  /** The directions of the offline agent for each prompt. */
  offlineScripts?: OfflineOptions['scripts']
}

export async function chooseAgent(options: ChoiceOptions): Promise<AgentRuntime> {
  const { environment, config, clock, log } = options
  const wanted = config.claude.credential
  const credential = findCredential(environment, wanted)
  if (!credential) {
    const reason =
      wanted === 'auto' || wanted === 'none' ? undefined : `There is no credential of the kind ${wanted}.`
    return makeOfflineAgent({ clock, reason, scripts: options.offlineScripts })
  }
  const { kind, source, billing } = credential
  log.info({ event: 'agent-claude', credential: kind, source, billing }, 'Using Claude.')
  const { openClaudeAgent } = await import('./claude.ts')
  return openClaudeAgent({ ...options, credential, cgroups: findOwnCgroup() })
}

/** The credential with which Claude answers, or why it does not and what to do. */
export type Connection = { connected: true; source: string } | { connected: false; hint: string }

/** For status pages: opens nothing. */
export function lookForClaude(environment: Environment, wanted: ClaudeConfig['credential']): Connection {
  const credential = findCredential(environment, wanted)
  if (credential) return { connected: true, source: credential.source }
  return { connected: false, hint: wanted === 'none' ? howToSwitchOn : howToConnect }
}

const howToSwitchOn =
  'It is switched off: `claude.credential` is `none`. ' +
  'To use Claude, run `rockpool config set claude.credential auto` and restart Rockpool.'
