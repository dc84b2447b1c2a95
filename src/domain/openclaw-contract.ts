// The contract between Rockpool and its plugin in OpenClaw: the chat in which a coding session was launched, the agents in
// OpenClaw's configuration, deliveries into OpenClaw's chats, and questions to OpenClaw.
import { z } from 'zod'
import { attempt } from './errors.ts'
import { openclawChannel, parseOriginChannel } from './address.ts'
import { permissionModes } from './agent.ts'
import { sessionSelectionOverrides } from './config/coding-settings.ts'

/** A chat of OpenClaw, and the session and agent behind it. Without `channel` and `to` only the session is known. */
const openclawTarget = z.strictObject({
  channel: z.string().min(1).max(64).optional(),
  to: z.string().min(1).max(256).optional(),
  accountId: z.string().max(128).optional(),
  threadId: z.union([z.string().max(128), z.number()]).optional(),
  sessionKey: z.string().min(1).max(256),
  agentId: z.string().min(1).max(64),
})
export type OpenClawTarget = z.infer<typeof openclawTarget>

/** `openclaw|default|<the target as JSON in base64url>`. */
export function formatOpenClawOrigin(target: OpenClawTarget): string {
  return `${openclawChannel}|default|${Buffer.from(JSON.stringify(target)).toString('base64url')}`
}

/** Undefined for another channel, and for a damaged target. */
export function parseOpenClawOrigin(origin: string): OpenClawTarget | undefined {
  const address = parseOriginChannel(origin)
  return address?.channel === openclawChannel ? readTarget(address.to) : undefined
}

/** The target in the address of a delivery. */
export function readTarget(to: string): OpenClawTarget | undefined {
  return attempt(
    () => openclawTarget.safeParse(JSON.parse(Buffer.from(to, 'base64url').toString('utf8'))).data,
  )
}

/** `agents.list[].claudeCode` in OpenClaw's configuration. */
export const claudeCodeSettings = z.object({
  repos: z
    .union([z.array(z.string()), z.record(z.string(), z.string())])
    .transform((repos) => (Array.isArray(repos) ? Object.fromEntries(repos.map(named)) : repos))
    .optional(),
  defaultWorkdir: z.string().optional(),
  model: z.string().min(1).max(200).optional(),
  maxBudgetUsd: z.number().positive().optional(),
  permissionMode: z.enum(permissionModes).optional(),
  sessionSelection: sessionSelectionOverrides.optional(),
  agentChannels: z.record(z.string(), z.string()).optional(),
  fallbackChannel: z.string().optional(),
})
export type ClaudeCodeSettings = z.infer<typeof claudeCodeSettings>

/** A repository in a list has the name of its folder. */
function named(path: string): [name: string, path: string] {
  return [path.split('/').findLast((part) => part !== '') ?? path, path]
}

/** An agent of OpenClaw, as its configuration describes it. */
export interface OpenClawAgent {
  id: string
  workspace?: string
  claudeCode: ClaudeCodeSettings
}

/** The report of the plugin when it connects. */
export interface OpenClawReport {
  version: string
  pluginVersion: string
  at: number
  agents: OpenClawAgent[]
}

/** A message for a chat of OpenClaw. */
export interface OpenClawDelivery {
  id: string
  /** The same for every attempt: the plugin sends a message once for each key. */
  key: string
  target: OpenClawTarget
  text: string
  buttons: Array<Array<{ label: string; data: string }>>
  kind: 'notice' | 'question' | 'output'
  codingId?: string
  /** The agent of OpenClaw should take a turn: the session waits for input or has ended. */
  wake: boolean
  /** An earlier copy may have arrived. */
  isMaybeSecond: boolean
}

/** A question of a coding session through the bridge. */
export interface OpenClawQuestion {
  id: string
  kind: 'conversation' | 'memory'
  target: OpenClawTarget
  limit: number
  query?: string
}

export type OpenClawEvent =
  | { type: 'openclaw-delivery'; delivery: OpenClawDelivery }
  | { type: 'openclaw-question'; question: OpenClawQuestion }
