// The chat that gets the notifications of a launched session.
import { resolveOriginChannel } from '../../coding/session/origin.ts'
import { openclawChannel, parseOriginChannel } from '../../domain/address.ts'
import { openclawPrefix } from '../../domain/agent.ts'
import { formatOpenClawOrigin } from '../../domain/openclaw-contract.ts'
import { openclawAgentOf } from '../../store/openclaw/openclaw-report.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

/** A launch from a terminal or a program without a chat sends no notifications: its operator looks at the result. */
export function launchOrigin(
  app: App,
  caller: Caller,
  asked: Parameters<typeof resolveOriginChannel>[0],
): string {
  if (caller.agentId !== undefined && caller.agentPrefix !== undefined)
    return originInOpenClaw(app, caller.agentId, asked)
  const origin = resolveOriginChannel(asked, app.config.coding)
  return origin === 'unknown' && caller.agentId === undefined ? 'gateway' : origin
}

/** OpenClaw names channels as we do, but only OpenClaw reaches them. */
function originInOpenClaw(
  app: App,
  agentId: string,
  asked: Parameters<typeof resolveOriginChannel>[0],
): string {
  const { agentChannels = {}, fallbackChannel } = openclawAgentOf(app.paths, agentId)?.claudeCode ?? {}
  const origin = resolveOriginChannel(asked, { agentChannels, fallbackChannel })
  const address = parseOriginChannel(origin)
  if (!address) return 'gateway'
  if (address.channel === openclawChannel) return origin
  const { channel, to, accountId } = address
  const id = agentId.slice(openclawPrefix.length)
  const account = accountId === 'default' ? undefined : accountId
  return formatOpenClawOrigin({
    channel,
    to,
    accountId: account,
    sessionKey: `agent:${id}:main`,
    agentId: id,
  })
}
