// One session in a list: OpenClaw's row, and our own fields beside it.
import { z } from 'zod'
import { groupDisplayName, type Session, type SessionEntry } from '../../domain/session.ts'
import { classifySessionKey, type SessionKeyForm } from '../../domain/session-key-forms.ts'

const kinds = () => ({
  text: z.string().optional(),
  number: z.number().optional(),
  yesNo: z.boolean().optional(),
  any: z.unknown(),
})
type Kinds = ReturnType<typeof kinds>

/** Fields of the entry that a row shows as they are. */
const shown = {
  label: 'text',
  displayName: 'text',
  channel: 'text',
  subject: 'text',
  groupChannel: 'text',
  space: 'text',
  chatType: 'text',
  origin: 'any',
  systemSent: 'yesNo',
  abortedLastRun: 'yesNo',
  thinkingLevel: 'text',
  verboseLevel: 'text',
  reasoningLevel: 'text',
  elevatedLevel: 'text',
  sendPolicy: 'text',
  groupActivation: 'text',
  responseUsage: 'text',
  inputTokens: 'number',
  outputTokens: 'number',
  cacheRead: 'number',
  cacheWrite: 'number',
  contextTokens: 'number',
  modelProvider: 'text',
  model: 'text',
  deliveryContext: 'any',
  lastChannel: 'text',
  lastTo: 'text',
  lastAccountId: 'text',
  lastThreadId: 'any',
  spawnedBy: 'text',
  spawnDepth: 'number',
  parentSessionKey: 'text',
  forkedFromParent: 'yesNo',
  compactionCount: 'number',
  estimatedCostUsd: 'number',
  sdkSessionId: 'text',
  status: 'text',
  sessionStartedAt: 'number',
  lastInteractionAt: 'number',
  archivedAt: 'number',
  pinnedAt: 'number',
} as const satisfies Record<string, keyof Kinds>

const shownFields = Object.keys(shown)

// Built on first use (by the reference page), so that a list does not wait for it.
export const sessionRow = z.lazy(() => {
  const types = kinds()
  const fields = Object.entries(shown).map(([name, kind]) => [name, types[kind]])
  return z.object({
    key: z.string(),
    agentId: z.string(),
    kind: z.enum(['direct', 'group', 'global', 'unknown']),
    sessionId: z.string(),
    updatedAt: z.number(),
    ageMs: z.number(),
    ...(Object.fromEntries(fields) as { [Name in keyof typeof shown]: Kinds[(typeof shown)[Name]] }),
    derivedTitle: types.text,
    lastMessagePreview: types.text,
    totalTokens: types.number,
    totalTokensFresh: types.yesNo,
  })
})

export type SessionRowOutput = z.input<typeof sessionRow>

export function rowOf({ key, agentId, entry }: Session, now: number, mainKey: string): SessionRowOutput {
  const form = classifySessionKey(key, { mainKey })
  const row: Record<string, unknown> = {
    key,
    agentId,
    kind: kindOf(form.kind, entry),
    sessionId: entry.sessionId,
    updatedAt: entry.updatedAt,
    ageMs: Math.max(0, now - entry.updatedAt),
  }
  for (const field of shownFields) if (entry[field] !== undefined) row[field] = entry[field]
  row['channel'] ??= form.channel ?? entry.lastChannel
  row['displayName'] ??= derivedNameOf(key, entry, form)
  row['model'] = entry.model ?? entry.modelOverride
  row['totalTokensFresh'] = entry.totalTokens !== undefined && entry.totalTokensFresh !== false
  // A stale count of tokens is left out.
  if (row['totalTokensFresh']) row['totalTokens'] = entry.totalTokens
  return row as SessionRowOutput
}

/** As OpenClaw 2026.1.30 derives the name that a row does not have. */
function derivedNameOf(key: string, entry: SessionEntry, form: SessionKeyForm): string | undefined {
  const isGroup = form.kind === 'group' || form.kind === 'channel'
  const channel = entry.channel ?? (isGroup ? form.channel : undefined)
  if (channel) return groupDisplayName(channel, entry, (isGroup && form.id) || key)
  return entry.label ?? entry.origin?.label
}

function kindOf(kind: string, entry: SessionEntry): SessionRowOutput['kind'] {
  if (kind === 'global' || kind === 'unknown') return kind
  const isGroup =
    kind === 'group' || kind === 'channel' || entry.chatType === 'group' || entry.chatType === 'channel'
  return isGroup ? 'group' : 'direct'
}
