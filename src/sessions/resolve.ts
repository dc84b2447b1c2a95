// Which session does a person mean? A key, an id, the beginning of an id, or a label will do.
import { RockpoolError } from '../domain/errors.ts'
import { canonicalSessionKey } from '../domain/session-key-forms.ts'
import type { Session } from '../domain/session.ts'
import type { SessionStore } from '../store/session-store.ts'

const mostCandidates = 10

/** The one session that `ref` names in these stores. Throws `not-found`, or `ambiguous` with the candidates. */
export async function resolveSession(
  stores: readonly SessionStore[],
  ref: string,
  options: { mainKey?: string } = {},
): Promise<Session> {
  const found = await findSessions(stores, ref, options)
  if (found.length === 1) return found[0]!
  if (found.length === 0) {
    throw new RockpoolError('not-found', `No session has the key, id or label ${JSON.stringify(ref)}.`, {
      hint: '`rockpool sessions` lists them; `--all-agents` shows those of every agent.',
    })
  }
  throw new RockpoolError(
    'ambiguous',
    `${JSON.stringify(ref)} may mean ${found.length} sessions: ${describe(found)}.`,
    { hint: 'Give the whole key.' },
  )
}

/** All that `ref` may mean: as a key before anything else, in older forms too. */
export async function findSessions(
  stores: readonly SessionStore[],
  ref: string,
  options: { mainKey?: string } = {},
): Promise<Session[]> {
  const wanted = ref.trim()
  if (wanted === '') return []
  const exact = await Promise.all(stores.map((store) => findKey(store, wanted, options)))
  const keys = exact.filter((session) => session !== undefined)
  if (keys.length > 0) return keys
  const found = await Promise.all(stores.map((store) => store.find(wanted)))
  return found.flat()
}

async function findKey(
  store: SessionStore,
  wanted: string,
  options: { mainKey?: string },
): Promise<Session | undefined> {
  const canonical = canonicalSessionKey(wanted, { agentId: store.agentId, ...options })
  for (const key of new Set([wanted, canonical])) {
    if (!belongsTo(key, store.agentId)) continue
    const entry = await store.get(key)
    if (entry) return { key, agentId: store.agentId, entry }
  }
  return undefined
}

function belongsTo(key: string, agentId: string): boolean {
  return !key.startsWith('agent:') || key.split(':')[1] === agentId
}

function describe(sessions: Session[]): string {
  const shown = sessions.slice(0, mostCandidates).map(({ key, entry }) => {
    const name = entry.label ?? entry.displayName
    return `${key} (${entry.sessionId.slice(0, 8)}${name ? `, ${name}` : ''})`
  })
  const more = sessions.length - shown.length
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '')
}
