// What happens to the work that schedules begin in the simulated month. Turns, coding sessions and messages wait in the real stores; a
// worker on each machine takes them as the gateway does. Every effect on the world outside is written to a ledger in memory, which no
// store knows and no kill touches: what is done twice is there twice.
import { createHash } from 'node:crypto'
import type { CodingOwner, CodingSession } from '../../src/domain/coding-session.ts'
import { askedInput } from '../../src/flow/asked-input.ts'
import { RockpoolError } from '../../src/domain/errors.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { launched } from '../../src/coding/session/session-changes.ts'
import type { ScheduleWorld } from '../../src/operations/schedules/schedule-actions.ts'
import type { CodingStore } from '../../src/store/sqlite/coding-store.ts'
import type { ScheduleStore } from '../../src/store/sqlite/schedule-store.ts'
import type { WorkStore } from '../../src/store/work-store.ts'

const minute = 60_000

/** Something that the world outside sees: the agent was asked, Claude was started, the platform got a message. */
export interface Effect {
  kind: 'turn' | 'session' | 'message'
  /** The key of the input or the delivery, or the id of the coding session. */
  key: string
  at: number
  /** It says of itself that it may repeat an earlier one: a retried turn, a resumed session, a message that is marked as resent. */
  isMarked: boolean
}

/** The stores as one process sees them; each call of them may be its last. */
export interface ProcessStores {
  schedules: ScheduleStore
  work: WorkStore
  coding: CodingStore
}

interface WorkerParts {
  stores: ProcessStores
  clock: Clock
  /** A process, not a machine: after a kill another one. */
  self: string
  lives: (owner: string) => boolean
  ledger: Effect[]
  /** Called after an effect, before anything is written about it. */
  afterEffect: () => void
}

/** How long a piece of work takes: the same for the same key. */
function durationOf(key: string, longestMinutes: number): number {
  return (createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32) * longestMinutes * minute
}

export class MonthWorker {
  readonly #parts: WorkerParts
  /** Turns and sessions that this process works on, until these times. */
  readonly #turns = new Map<string, { lane: string; endsAt: number }>()
  readonly #sessions = new Map<string, number>()
  #isFresh = true

  constructor(parts: WorkerParts) {
    this.#parts = parts
  }

  /** For the actions of the runner of the same process. */
  world(): ScheduleWorld {
    const { stores, clock } = this.#parts
    const { work, coding, schedules } = stores
    return {
      clock,
      work,
      coding,
      schedules,
      requireAgent() {},
      mainSessionOf: (agentId) => `agent:${agentId}:main`,
      addressOf: async () => undefined,
      hand: async (request) => {
        const accepted = await work.inbox.accept(askedInput(request, `ask:${request.key}`, clock.now()))
        if (!accepted) throw new RockpoolError('conflict', 'This was asked before.')
      },
      wake: (request) =>
        work.inbox.accept(
          askedInput(
            { ...request, sessionKey: request.sessionKey!, from: 'wake', askedBy: 'owner' },
            `wake:${request.key}`,
            clock.now(),
          ),
        ),
      stopInput: (lane, key) => this.#stopInput(lane, key),
      launch: (_schedule, { text: prompt, workdir }, id) =>
        coding.add(newSession({ id, prompt, workdir }, clock.now()), () => {}),
      resume: (id) =>
        coding.update(id, (session) => {
          Object.assign(session, {
            status: 'starting',
            lifecycle: 'queued',
            end: undefined,
            owner: undefined,
          })
        }),
      kill: (id) => this.#kill(id),
      limitEnd: () => undefined,
      isOwners: () => true,
      mayWrite: () => true,
    }
  }

  /** What the gateway does between two looks of the runner. */
  async step(): Promise<void> {
    await this.#releaseTurns()
    await this.#finishTurns()
    await this.#beginTurns()
    await this.#workOnSessions()
    await this.#sendMessages()
    this.#isFresh = false
  }

  /** A turn or a session ends now. */
  hasEnding(): boolean {
    const ends = [...[...this.#turns.values()].map(({ endsAt }) => endsAt), ...this.#sessions.values()]
    return ends.some((at) => at <= this.#parts.clock.monotonic())
  }

  #effect(kind: Effect['kind'], key: string, isMarked: boolean): void {
    this.#parts.ledger.push({ kind, key, at: this.#parts.clock.monotonic(), isMarked })
    this.#parts.afterEffect()
  }

  /** Turns of processes that were killed are released: their inputs wait again. */
  async #releaseTurns(): Promise<void> {
    const { lanes } = this.#parts.stores.work
    for (const turn of await lanes.running()) if (!this.#parts.lives(turn.owner)) await lanes.release(turn.id)
  }

  async #beginTurns(): Promise<void> {
    const { stores, self, clock } = this.#parts
    const { lanes, inbox } = stores.work
    for (const { id, key, lane, agentId, lostTurns } of await inbox.waiting()) {
      const turnId = `${key}#${lostTurns}`
      if (!(await lanes.begin({ id: turnId, lane, agentId, kind: 'message', owner: self, inputs: [id] })))
        continue
      this.#turns.set(turnId, { lane, endsAt: clock.monotonic() + durationOf(key, 4) })
      this.#effect('turn', key, lostTurns > 0)
    }
  }

  async #finishTurns(): Promise<void> {
    const { lanes } = this.#parts.stores.work
    for (const [id, { endsAt }] of this.#turns) {
      if (this.#parts.clock.monotonic() < endsAt) continue
      await lanes.finish(id, { end: { kind: 'completed' }, costUsd: 0.01, deliveries: [] })
      this.#turns.delete(id)
    }
  }

  async #stopInput(lane: string, inputKey: string): Promise<void> {
    const { lanes, inbox } = this.#parts.stores.work
    const isMeant = ({ key }: { key: string }): boolean => key === inputKey
    const waiting = (await inbox.waiting(lane)).filter(isMeant)
    if (waiting.length > 0)
      await inbox.end(
        waiting.map(({ id }) => id),
        'stopped',
      )
    for (const turn of await lanes.running()) {
      if (!turn.inputs.some(isMeant)) continue
      await lanes.finish(turn.id, { end: { kind: 'interrupted' }, deliveries: [] })
      this.#turns.delete(turn.id)
    }
  }

  async #workOnSessions(): Promise<void> {
    const { stores, lives, clock } = this.#parts
    for (const { id, owner, lifecycle } of stores.coding.list({ running: true })) {
      if (lifecycle === 'queued') await this.#beginSession(id)
      else if (owner && !lives(owner.domain))
        await stores.coding.update(id, (row) => Object.assign(row, cutOff(clock.now())))
      else if ((this.#sessions.get(id) ?? Infinity) <= clock.monotonic()) {
        await stores.coding.update(id, (row) => Object.assign(row, over('completed', clock.now())))
        this.#sessions.delete(id)
      }
    }
  }

  /** The row has its owner before Claude starts; of two machines one wins. */
  async #beginSession(id: string): Promise<void> {
    const { stores, self, clock } = this.#parts
    let turns: number | undefined
    await stores.coding.update(id, (row) => {
      if (row.lifecycle !== 'queued') return
      turns = row.turns
      Object.assign(row, begun(row, self))
    })
    if (turns === undefined) return
    this.#sessions.set(id, clock.monotonic() + durationOf(id, 50))
    this.#effect('session', id, turns > 0)
  }

  async #kill(id: string): Promise<void> {
    const { stores, clock } = this.#parts
    await stores.coding.update(id, (row) => Object.assign(row, over('killed', clock.now())))
    this.#sessions.delete(id)
  }

  /** The mark is on disk before the platform gets the message. A message that a killed process was sending is sent again, marked. */
  async #sendMessages(): Promise<void> {
    const { outbox } = this.#parts.stores.work
    for (const { delivery, state } of await outbox.open()) {
      if (state === 'attempting' && !this.#isFresh) continue
      const resent = state === 'attempting'
      await outbox.change(delivery.id, { state: 'attempting', resent })
      this.#effect('message', delivery.idempotencyKey, resent)
      await outbox.change(delivery.id, { state: 'sent', messageIds: ['1'] })
    }
  }
}

function newSession(about: { id: string; prompt: string; workdir: string }, now: number): CodingSession {
  const { id, prompt, workdir } = about
  const request = {
    prompt,
    workdir,
    name: id,
    agentId: 'main',
    budgetUsd: 1,
    allowedTools: [],
    permissionMode: 'default' as const,
    multiTurn: false,
    originChannel: 'gateway',
    spawnDepth: 0,
  }
  return { ...launched(request, { id }, { owner: ownerOf('nobody yet'), now }), owner: undefined }
}

function begun({ turns }: CodingSession, self: string): Partial<CodingSession> {
  return { status: 'running', lifecycle: 'active', turns: turns + 1, owner: ownerOf(self) }
}

function cutOff(at: number): Partial<CodingSession> {
  const end = { reason: 'crash', message: 'The process was killed.', at } as const
  return { status: 'killed', lifecycle: 'suspended', owner: undefined, end }
}

function over(status: 'completed' | 'killed', at: number): Partial<CodingSession> {
  const end = { reason: status === 'completed' ? 'done' : 'user', message: '', at } as const
  return { status, lifecycle: 'ended', owner: undefined, costUsd: 0.01, end }
}

function ownerOf(self: string): CodingOwner {
  return { pid: 1, startTime: '1', domain: self, machine: '', host: '' }
}
