// Rules for keys and entries that every session store checks, independent of how it stores rows.
import { RockpoolError } from '../domain/errors.ts'
import { checkJsonDepth, hasProtoKey, isRecord, isTooDeep } from '../domain/json.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { ListFilter } from './session-store.ts'

const maxKeyLength = 1024

/** A store belongs to one agent; a key that names another agent does not belong in it. */
function ownsKey(agentId: string | undefined, key: string): boolean {
  const [prefix, owner] = key.split(':', 2)
  return agentId === undefined || prefix !== 'agent' || owner === agentId
}

/** Why a key is not allowed in this agent's store; undefined if it is. `agentId` is undefined for a store that agents share. */
export function keyFault(agentId: string | undefined, key: string): string | undefined {
  if (key === '' || key.length > maxKeyLength) return `has a key that is empty or longer than ${maxKeyLength}`
  if (!key.isWellFormed() || /\p{Cc}/u.test(key)) return 'has a key with control characters'
  return ownsKey(agentId, key) ? undefined : `belongs to another agent than ${agentId}`
}

export function checkKey(agentId: string, key: string): void {
  const fault = keyFault(agentId, key)
  if (!fault) return
  const code = ownsKey(agentId, key) ? 'input-invalid' : 'forbidden'
  throw new RockpoolError(code, `The session ${JSON.stringify(key.slice(0, 80))} ${fault}.`, {
    hint: 'Nothing was changed. Check the key, or ask the store of the agent that it names.',
  })
}

/** Why a value is not a valid session entry; undefined if it is. */
export function entryFault(value: unknown): string | undefined {
  return shapeFaultOf(value) ?? (isTooDeep(value) ? 'is nested too deep' : undefined)
}

function shapeFaultOf(value: unknown): string | undefined {
  if (!isRecord(value)) return 'is not an object'
  const { sessionId, updatedAt }: Partial<SessionEntry> = value
  if (typeof sessionId !== 'string' || sessionId === '') return 'has no sessionId'
  if (updatedAt !== undefined && !Number.isFinite(updatedAt)) return 'has an updatedAt that is not a time'
  return undefined
}

/** Throws if the entry could not be read back unchanged. */
export function checkEntry(key: string, entry: SessionEntry): void {
  checkJsonDepth(entry, `The entry of ${key}`)
  const fault = hasProtoKey(entry) ? 'has a field named __proto__' : shapeFaultOf(entry)
  if (!fault) return
  throw new RockpoolError('input-invalid', `The entry of ${key} ${fault}. Nothing was changed.`)
}

/** Only a changed label is checked: existing duplicates stay. */
export function checkLabelIsFree(
  before: Pick<SessionEntry, 'label'> | undefined,
  after: SessionEntry,
  ownerOf: (label: string) => string | undefined,
): void {
  if (!after.label || after.label === before?.label) return
  const owner = ownerOf(after.label)
  if (owner === undefined) return
  const message = `The label ${JSON.stringify(after.label)} is already in use by ${owner}.`
  throw new RockpoolError('conflict', message, { hint: 'Choose another label, or clear that one first.' })
}

/** The text that a search compares with, in lower case. */
export function searchTextOf(key: string, entry: SessionEntry): string {
  const { label, displayName, subject, sessionId } = entry
  return [key, label, displayName, subject, sessionId]
    .filter((part) => typeof part === 'string')
    .join('\n')
    .toLowerCase()
}

export function matches({ key, entry }: Session, filter: ListFilter): boolean {
  return (
    (typeof entry.archivedAt === 'number') === (filter.archived ?? false) &&
    entry.updatedAt >= (filter.activeSince ?? -Infinity) &&
    (filter.label === undefined || entry.label === filter.label) &&
    (filter.spawnedBy === undefined || entry.spawnedBy === filter.spawnedBy) &&
    (filter.search === undefined || searchTextOf(key, entry).includes(filter.search.toLowerCase()))
  )
}

/** The condition for the rows that match a filter, and its values. `isFound`: the database's term for a text inside another. */
export function filterOf(
  filter: ListFilter,
  isFound: string,
): { where: string; values: Array<string | number> } {
  const terms: Array<[term: string, value: string | number | undefined]> = [
    ['updated_at >= ?', filter.activeSince],
    ['label = ?', filter.label],
    ['spawned_by = ?', filter.spawnedBy],
    [isFound, filter.search?.toLowerCase()],
  ]
  const used = terms.filter(([, value]) => value !== undefined)
  const archived = filter.archived ? 'archived_at IS NOT NULL' : 'archived_at IS NULL'
  const where = [archived, ...used.map(([term]) => term)].join(' AND ')
  return { where, values: used.map(([, value]) => value!) }
}

/** The sessions that `ref` names: by key, else by whole id or label, else by the beginning of an id. */
export function sessionsNamed(ref: string, candidates: Session[]): Session[] {
  const exact = candidates.filter(({ key }) => key === ref)
  if (exact.length > 0) return exact
  const named = candidates.filter(({ entry }) => entry.sessionId === ref || entry.label === ref)
  if (named.length > 0) return named
  return ref === '' ? [] : candidates.filter(({ entry }) => entry.sessionId.startsWith(ref))
}
