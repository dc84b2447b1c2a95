// Messages of a group since the agent's last reply, as context for the next message that addresses the agent. The program
// keeps them in the store; the functions on a map are the seeds', for the library.
import { CURRENT_MESSAGE_MARKER, HISTORY_CONTEXT_MARKER, oneLine } from './normalize.ts'

export interface HistoryEntry {
  sender: string
  body: string
  timestamp?: number
  messageId?: string
}

export const DEFAULT_GROUP_HISTORY_LIMIT = 50
export const MAX_HISTORY_KEYS = 1000

/** Adds an entry and removes the oldest beyond the limit. The group becomes the most recently used. */
export function appendHistoryEntry<T extends HistoryEntry>(params: {
  historyMap: Map<string, T[]>
  historyKey: string
  entry: T
  limit: number
}): T[] {
  const { historyMap, historyKey, entry, limit } = params
  if (limit <= 0) return []
  const history = historyMap.get(historyKey) ?? []
  history.push(entry)
  while (history.length > limit) history.shift()
  historyMap.delete(historyKey)
  historyMap.set(historyKey, history)
  evictOldHistoryKeys(historyMap)
  return history
}

/** The history of a group and the current message in one text. */
export function buildHistoryContextFromMap(params: {
  historyMap: Map<string, HistoryEntry[]>
  historyKey: string
  limit: number
  entry?: HistoryEntry
  currentMessage: string
  formatEntry: (entry: HistoryEntry) => string
  /** The last entry is the current message itself. */
  excludeLast?: boolean
}): string {
  const { historyMap, historyKey, limit, entry, currentMessage, formatEntry, excludeLast = true } = params
  if (limit <= 0) return currentMessage
  const all = entry
    ? appendHistoryEntry({ historyMap, historyKey, entry, limit })
    : (historyMap.get(historyKey) ?? [])
  return buildHistoryContext(excludeLast ? all.slice(0, -1) : all, currentMessage, formatEntry)
}

export function buildHistoryContext<T extends HistoryEntry>(
  entries: readonly T[],
  currentMessage: string,
  formatEntry: (entry: T) => string,
): string {
  if (entries.length === 0) return currentMessage
  return [
    HISTORY_CONTEXT_MARKER,
    ...entries.map(formatEntry),
    '',
    CURRENT_MESSAGE_MARKER,
    currentMessage,
  ].join('\n')
}

/** Removes the least recently used groups beyond `maxKeys`. */
export function evictOldHistoryKeys<T>(historyMap: Map<string, T[]>, maxKeys = MAX_HISTORY_KEYS): void {
  for (const key of historyMap.keys()) {
    if (historyMap.size <= maxKeys) return
    historyMap.delete(key)
  }
}

/** Empties the history of a group, after the agent has answered. */
export function clearHistoryEntries(params: {
  historyMap: Map<string, HistoryEntry[]>
  historyKey: string
}): void {
  params.historyMap.set(params.historyKey, [])
}

/** `[WhatsApp 120363@g.us 2026-01-13T07:45Z] Alice: hello` */
export function formatEnvelope(params: {
  channel: string
  chat: string
  timestamp?: number
  sender: string
  body: string
}): string {
  const when =
    params.timestamp === undefined ? '' : ` ${new Date(params.timestamp).toISOString().slice(0, 16)}Z`
  const where = `${channelTitle(params.channel)} ${oneLine(params.chat, 100)}${when}`
  return `[${where}] ${oneLine(params.sender, 100)}: ${params.body}`
}

function channelTitle(channel: string): string {
  const known: Record<string, string> = {
    whatsapp: 'WhatsApp',
    telegram: 'Telegram',
    discord: 'Discord',
    web: 'Web',
  }
  return Object.hasOwn(known, channel) ? known[channel]! : oneLine(channel, 40)
}
