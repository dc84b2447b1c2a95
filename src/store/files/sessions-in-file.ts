// Session rows in file mode: sessions.json is the truth, for a directory that is shared with an OpenClaw up to 2026.7.1. Every
// change rewrites the file, so this is for compatibility, not for large stores.
import { bulkyFields, type Session, type SessionEntry } from '../../domain/session.ts'
import { checkEntry, checkKey, checkLabelIsFree, sessionsNamed, keyFault, matches } from '../session-rules.ts'
import type { Change, ListFilter, SessionPage, SessionStore, Update } from '../session-store.ts'
import { removeCopiesOf } from './recover-sessions.ts'
import { SessionsFile, type Draft, type SessionsFileOptions } from './sessions-file.ts'

export class FileSessions implements SessionStore {
  readonly agentId: string
  readonly #file: SessionsFile

  constructor(options: SessionsFileOptions & { agentId: string }) {
    this.agentId = options.agentId
    this.#file = new SessionsFile(options)
  }

  async get(key: string): Promise<SessionEntry | undefined> {
    return this.#owns(key) ? structuredClone(this.#file.read().entries.get(key)) : undefined
  }

  async peek(key: string): Promise<SessionEntry | undefined> {
    const entry = this.#owns(key) ? this.#file.read().entries.get(key) : undefined
    return entry && leanCopy({ key, agentId: this.agentId, entry }).entry
  }

  async list(filter: ListFilter = {}): Promise<SessionPage> {
    const { limit = Infinity, offset = 0 } = filter
    const all = this.#own().filter((session) => matches(session, filter))
    // The newest first.
    all.sort((a, b) => b.entry.updatedAt - a.entry.updatedAt || (a.key < b.key ? -1 : 1))
    return { total: all.length, sessions: all.slice(offset, offset + limit).map(leanCopy) }
  }

  async find(ref: string): Promise<Session[]> {
    return sessionsNamed(ref, this.#own()).map(leanCopy)
  }

  update(key: string, change: Change): Promise<SessionEntry | undefined> {
    return this.#file.change((draft) => {
      checkKey(this.agentId, key)
      const before = draft.get(key)
      const after = change(draft.get(key))
      if (after === undefined) return before
      checkEntry(key, after)
      checkLabelIsFree(before, after, (label) => labelOwner(draft, label, key))
      draft.set(key, after)
      return structuredClone(after)
    })
  }

  updateAll(updates: Update[]): Promise<Array<PromiseSettledResult<SessionEntry | undefined>>> {
    return Promise.allSettled(updates.map(({ key, change }) => this.update(key, change)))
  }

  async delete(key: string): Promise<SessionEntry | undefined> {
    if (!(await this.get(key))) return undefined
    return this.#file.change((draft) => {
      const before = draft.get(key)
      draft.delete(key)
      return before
    })
  }

  async purge(key: string): Promise<void> {
    await this.delete(key)
    removeCopiesOf(this.#file.path, key)
  }

  move(from: string, to: string): Promise<SessionEntry | undefined> {
    return this.#file.change((draft) => {
      for (const key of [from, to]) checkKey(this.agentId, key)
      const [entry, there] = [draft.get(from), draft.get(to)]
      if (there || !entry) return there
      draft.delete(from)
      draft.set(to, entry)
      return structuredClone(entry)
    })
  }

  async *entries(): AsyncIterable<Session> {
    for (const session of this.#own()) yield structuredClone(session)
  }

  async damage(): Promise<string[]> {
    return this.#file.read().damage
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /** The file may be shared by several agents (`session.store` without `{agentId}`). */
  #own(): Session[] {
    const own = [...this.#file.read().entries].filter(([key]) => this.#owns(key))
    return own.map(([key, entry]) => ({ key, agentId: this.agentId, entry }))
  }

  #owns(key: string): boolean {
    return keyFault(this.agentId, key) === undefined
  }
}

function labelOwner(draft: Draft, label: string, except: string): string | undefined {
  for (const [key, entry] of draft.all()) if (key !== except && entry.label === label) return key
  return undefined
}

function leanCopy({ key, agentId, entry }: Session): Session {
  const lean = { ...entry }
  for (const field of bulkyFields) delete lean[field]
  return { key, agentId, entry: structuredClone(lean) }
}
