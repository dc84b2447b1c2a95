// Who answers here: Claude, if there is a credential for it; otherwise the offline agent, which says so.
import type { AgentRuntime } from '../domain/agent.ts'
import type { ClaudeAgentOptions } from './claude.ts'
import { findCredential } from './credentials.ts'
import { makeOfflineAgent } from './offline.ts'

export async function chooseAgent(options: Omit<ClaudeAgentOptions, 'credential'>): Promise<AgentRuntime> {
  const { environment, config, clock, log } = options
  const wanted = config.claude.credential
  const credential = findCredential(environment, wanted)
  if (!credential) {
    const reason =
      wanted === 'auto' || wanted === 'none' ? undefined : `There is no credential of the kind ${wanted}.`
    return makeOfflineAgent({ clock, reason })
  }
  log.info(
    { credential: credential.kind, source: credential.source, billing: credential.billing },
    'Claude answers.',
  )
  const { openClaudeAgent } = await import('./claude.ts')
  return openClaudeAgent({ ...options, credential })
}
