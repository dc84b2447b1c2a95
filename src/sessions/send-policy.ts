// Decides whether the agent may send into a session: by the session's own setting, then the rules (any deny wins, in any
// order), then the configured default, else yes.
import type { SessionConfig } from '../domain/config/session-settings.ts'
import type { ChatType } from '../domain/message.ts'
import { chatTypeOfKey, classifySessionKey, parseAgentSessionKey } from '../domain/session-key-forms.ts'
import type { SessionEntry } from '../domain/session.ts'

export type SessionSendPolicyDecision = 'allow' | 'deny'

type SendRule = SessionConfig['sendPolicy']['rules'][number]
/** A rule before its defaults are filled in: without an action it allows. */
type WrittenRule = { action?: SessionSendPolicyDecision; match?: SendRule['match'] }

export interface SendPolicyParams {
  cfg: { session?: { sendPolicy?: { default?: SessionSendPolicyDecision; rules?: WrittenRule[] } } }
  entry?: Partial<SessionEntry>
  sessionKey?: string
  channel?: string
  chatType?: ChatType
}

export function resolveSendPolicy(params: SendPolicyParams): SessionSendPolicyDecision {
  const own = params.entry?.sendPolicy
  if (own === 'allow' || own === 'deny') return own
  const { rules = [], default: otherwise = 'allow' } = params.cfg.session?.sendPolicy ?? {}
  if (rules.length === 0) return otherwise
  const facts = factsOf(params)
  const matching = rules.filter((rule) => matches(rule, facts))
  if (matching.some((rule) => rule.action === 'deny')) return 'deny'
  return matching.length > 0 ? 'allow' : otherwise
}

interface Facts {
  channel: string | undefined
  chatType: ChatType | undefined
  rawKey: string
  /** The key without `agent:<id>:`. */
  ownKey: string
}

function factsOf({ entry, sessionKey = '', channel, chatType }: SendPolicyParams): Facts {
  const rawKey = sessionKey.trim().toLowerCase()
  return {
    channel: lower(channel ?? entry?.channel ?? entry?.lastChannel) ?? classifySessionKey(rawKey).channel,
    chatType: chatType ?? entry?.chatType ?? chatTypeOfKey(rawKey),
    rawKey,
    ownKey: parseAgentSessionKey(rawKey)?.rest ?? rawKey,
  }
}

function matches(rule: WrittenRule, facts: Facts): boolean {
  const { channel, chatType, keyPrefix, rawKeyPrefix } = rule.match ?? {}
  const prefix = lower(keyPrefix)
  const rawPrefix = lower(rawKeyPrefix)
  return (
    (channel === undefined || lower(channel) === facts.channel) &&
    (chatType === undefined || (chatType === 'dm' ? 'direct' : chatType) === facts.chatType) &&
    (prefix === undefined || facts.rawKey.startsWith(prefix) || facts.ownKey.startsWith(prefix)) &&
    (rawPrefix === undefined || facts.rawKey.startsWith(rawPrefix))
  )
}

function lower(text: string | undefined): string | undefined {
  return text?.trim().toLowerCase() || undefined
}
