// Library functions for the history of groups in a map. The program keeps this history in its store.
import { buildHistoryContext, MAX_HISTORY_KEYS, type HistoryEntry } from '../inbound/prompt-context.ts'

export { MAX_HISTORY_KEYS } from '../inbound/prompt-context.ts'
export type { HistoryEntry } from '../inbound/prompt-context.ts'

export const DEFAULT_GROUP_HISTORY_LIMIT = 50

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
