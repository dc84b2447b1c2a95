// The chat that a session of Rockpool belongs to, in OpenClaw's terms. Rockpool keeps it with the session and names it with each
// delivery, so that the plugin needs no memory of its own.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentConfig } from './openclaw-api.ts'
import type { CommandContext, OpenClawApi, OpenClawConfig, ToolContext } from './openclaw-api.ts'

export interface Target {
  agentId: string
  sessionKey: string
  /** Absent for OpenClaw's own web chat, which is reached through its session. */
  channel?: string
  to?: string
  accountId?: string
  threadId?: string
}

/** As Rockpool's `originChannel`: channel, account, target. */
export function originChannelOf(target: Target): string {
  return `openclaw|default|${Buffer.from(JSON.stringify(target)).toString('base64url')}`
}

export function defaultAgent({ agents }: OpenClawConfig): string {
  const list = agents?.list ?? []
  return (list.find((agent) => agent.default) ?? list[0])?.id ?? 'main'
}

/** 2026.9.6 names the chat of the turn. 2026.1.30 names only the session, whose row has the chat. */
export function targetOfTool(api: OpenClawApi, context: ToolContext): Target {
  const agentId = context.agentId ?? defaultAgent(currentConfig(api))
  const sessionKey = context.sessionKey ?? `agent:${agentId}:main`
  const chat = context.deliveryContext ?? storedChat(api, agentId, sessionKey)
  return target(agentId, sessionKey, chat)
}

/** 2026.1.30 names neither chat nor agent: the private chat with the sender is taken. */
export function targetOfCommand(api: OpenClawApi, context: CommandContext): Target {
  const { channel, senderId, accountId, messageThreadId: threadId } = context
  const cfg = currentConfig(api)
  const peer = senderId === undefined ? undefined : { kind: 'dm', id: senderId }
  const route =
    context.sessionKey === undefined
      ? api.runtime.channel.routing?.resolveAgentRoute?.({ cfg, channel, accountId, peer })
      : undefined
  const agentId = context.agentId ?? route?.agentId ?? defaultAgent(cfg)
  const sessionKey = context.sessionKey ?? route?.sessionKey ?? `agent:${agentId}:main`
  const stored = context.to === undefined ? storedChat(api, agentId, sessionKey) : undefined
  const isSameChannel = stored?.channel === channel
  const to = context.to ?? (isSameChannel ? stored.to : senderId)
  return target(agentId, sessionKey, { channel, to, accountId: accountId ?? route?.accountId, threadId })
}

function target(agentId: string, sessionKey: string, chat: ToolContext['deliveryContext']): Target {
  const { channel, to, accountId, threadId } = chat ?? {}
  if (channel === undefined || to === undefined || channel === 'webchat') return { agentId, sessionKey }
  return {
    agentId,
    sessionKey,
    channel,
    to: withoutChannel(to, channel),
    accountId,
    threadId: threadId === undefined || threadId === null ? undefined : String(threadId),
  }
}

/** OpenClaw writes `telegram:42` in some places where its senders expect `42`. */
function withoutChannel(to: string, channel: string): string {
  return to.startsWith(`${channel}:`) ? to.slice(channel.length + 1) : to
}

/** From `sessions.json` of 2026.1.30. Later versions keep no such file, and name the chat themselves. */
function storedChat(api: OpenClawApi, agentId: string, sessionKey: string): ToolContext['deliveryContext'] {
  const row = readSessionRow(api, agentId, sessionKey)
  return row?.deliveryContext ?? { channel: row?.lastChannel, to: row?.lastTo, accountId: row?.lastAccountId }
}

interface SessionRow {
  sessionId?: string
  deliveryContext?: ToolContext['deliveryContext']
  lastChannel?: string
  lastTo?: string
  lastAccountId?: string
}

/** Undefined when there is no such file or row. */
export function readSessionRow(
  api: OpenClawApi,
  agentId: string,
  sessionKey: string,
): SessionRow | undefined {
  try {
    const text = readFileSync(join(sessionFolder(api, agentId), 'sessions.json'), 'utf8')
    return (JSON.parse(text) as Record<string, SessionRow>)[sessionKey]
  } catch {
    return undefined
  }
}

export function sessionFolder({ runtime }: OpenClawApi, agentId: string): string {
  return join(runtime.state.resolveStateDir(), 'agents', agentId, 'sessions')
}
