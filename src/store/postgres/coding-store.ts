// Coding sessions that every machine sees: written to the shared database, read from this machine's copy of it.
import { isDeepStrictEqual } from 'node:util'
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { dropOutput, freeName } from '../sqlite/coding-rows.ts'
import type { NewOutput, OwnerRequest, Watch } from '../sqlite/coding-rows.ts'
import { CodingStore, keptBlocks } from '../sqlite/coding-store.ts'
import type { Database } from '../sqlite/database.ts'
import type { RecordBodies } from './record-kinds.ts'
import type { SharedRecords } from './records.ts'

export class SharedCodingStore extends CodingStore {
  #copy: Database
  #records: SharedRecords
  #keepBlocks: number
  #saving = new Map<string, Promise<void>>()

  constructor(copy: Database, records: SharedRecords, options: { keepBlocks?: number } = {}) {
    super(copy, options)
    this.#copy = copy
    this.#records = records
    this.#keepBlocks = options.keepBlocks ?? keptBlocks
  }

  /** One after the other for each session, over whichever connections: the last that was said is what stays. */
  override save(session: CodingSession, by?: CodingOwner): Promise<void> {
    const { id } = session
    const write = async (): Promise<void> => {
      await this.#records.updatePatiently<CodingSession>('coding', id, (stored) => {
        if (by && stored && !isDeepStrictEqual(stored.owner, asStored(by))) throw takenAway(stored)
        return session
      })
    }
    const saved = (this.#saving.get(id) ?? Promise.resolve()).then(write, write)
    this.#saving.set(id, saved)
    const forget = (): void => {
      if (this.#saving.get(id) === saved) this.#saving.delete(id)
    }
    void saved.then(forget, forget)
    return saved
  }

  override async update(id: string, change: (session: CodingSession) => unknown): Promise<CodingSession> {
    let changed: CodingSession | undefined
    await this.#records.update<CodingSession>('coding', id, (session) => {
      if (session) change(session)
      return (changed = session)
    })
    if (!changed) throw new RockpoolError('not-found', `There is no coding session ${id}.`)
    return changed
  }

  /** Atomic over all machines. */
  override add(session: CodingSession, check: () => void): Promise<CodingSession> {
    return this.#records.alone('coding add', async () => {
      check()
      const named = { ...session, name: freeName(this.#copy.queries, session.name) }
      await this.save(named)
      return named
    })
  }

  override async addOutput(id: string, blocks: NewOutput[]): Promise<number> {
    const end = await this.#records.append('output', id, blocks, this.#keepBlocks)
    await this.#copy.write((q) => dropOutput(q, id, end - this.#keepBlocks))
    return end
  }

  override async setWatch(watch: Watch): Promise<void> {
    await this.#records.update<Watch>('watch', watchId(watch), (before) => ({
      ...watch,
      seenSeq: Math.max(watch.seenSeq, before?.seenSeq ?? 0),
    }))
  }

  override async markSeen(codingId: string, channel: string, seq: number): Promise<void> {
    await this.#records.update<Watch>('watch', watchId({ codingId, channel }), (before) =>
      before && before.seenSeq < seq ? { ...before, seenSeq: seq } : undefined,
    )
  }

  override ask(request: OwnerRequest): Promise<void> {
    return this.#records.put('request', request.id, request, request.askedAt)
  }

  override async answer(id: string, answer: unknown): Promise<void> {
    await this.#records.update<RecordBodies['request']>(
      'request',
      id,
      (request) => request && { ...request, answer },
    )
  }

  override answerFirst(id: string, answer: unknown): Promise<boolean> {
    return this.#records.update<RecordBodies['request']>('request', id, (request) =>
      request && request.answer === undefined ? { ...request, answer } : undefined,
    )
  }

  override markOwner(owner: string, at: number): Promise<void> {
    return this.#records.put('owner', owner, { owner, at: at + this.#records.aheadMs }, at)
  }

  /** By our clock, whatever the owner's says. None: it was never there, or was buried. */
  override ownerSeenAt(owner: string): number | undefined {
    const at = super.ownerSeenAt(owner)
    return at === undefined ? undefined : Math.max(at - this.#records.aheadMs, this.#records.backSince)
  }

  /** Every machine forgets in its own copy; together they forget in the database. */
  override async forgetOutputBefore(endedBefore: number): Promise<number> {
    const over = this.list().filter(
      ({ lifecycle, end }) => lifecycle === 'ended' && end && end.at < endedBefore,
    )
    for (const kind of ['request', 'owner'] as const)
      await this.#records.forget(kind, { before: endedBefore })
    await this.#records.forget('output', { groups: over.map(({ id }) => id) })
    return super.forgetOutputBefore(endedBefore)
  }
}

function asStored(owner: CodingOwner): unknown {
  return JSON.parse(JSON.stringify(owner))
}

function takenAway({ name }: CodingSession): RockpoolError {
  return new RockpoolError('lock-lost', `${name} was taken from this process: it was silent for too long.`, {
    hint: 'It can be resumed.',
  })
}

function watchId({ codingId, channel }: Pick<Watch, 'codingId' | 'channel'>): string {
  return `${codingId}|${channel}`
}
