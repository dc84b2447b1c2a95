// The contracts for pending work, which is stored before anything is done: accepted messages, running turns, replies to send.
// store/sqlite and store/postgres implement them. Every promise resolves when its change is on disk.
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import type { TurnEnd, Usage } from '../domain/turn.ts'
import type { Author } from '../rights/author.ts'

export interface WorkStore {
  readonly inbox: Inbox
  readonly lanes: TurnLanes
  readonly outbox: Outbox
  readonly overheard: Overheard
  readonly systemEvents: SystemEvents
  /** Present if several processes share one database. */
  readonly share?: LaneShare
}

/** How several processes share lanes: one of them serves a lane while there is work in it. */
export interface LaneShare {
  /** Does this process take all work, or only work that a caller in this process waits for? */
  readonly serves: boolean
  /** Releases lanes, takes up to `room` new ones, and resolves to their inputs in order. */
  take(room: number, up: { idle: string[]; failed: string[] }): Promise<LaneWork[]>
  /** Turns of dead processes, and our own turns outside of the `busy` lanes. Their lanes are held until they are released. */
  lost(busy: string[]): Promise<RunningTurn[]>
  /** Notifies other processes of new work. */
  wakeOthers(): void
  onWork(listener: () => void): () => void
  /** Called when other processes considered this one dead: it must release all its work before it continues. */
  onDeclaredDead(release: () => Promise<void>): void
  /** The other living processes that have inputs of a lane, or this input of it: in a turn, queued, or with a caller that waits. */
  holders(lane: string, inputKey?: string): Promise<LaneHolder[]>
  /** Keeps an input for this process if its caller waits here, or if it waits behind an input whose caller waits elsewhere. */
  keep(input: number): Promise<boolean>
  /** Waiting inputs of a lane that no living process has. */
  unheld(lane: string): Promise<WaitingInput[]>
  /** Ends these inputs as stopped, except one that a living process has taken meanwhile; resolves to their number. */
  stopUnheld(inputs: readonly number[]): Promise<number>
  /** Which accounts (`channel|account`) this process can send through. */
  setReach(reach: readonly string[]): Promise<void>
}

export interface LaneHolder {
  machine: string
  /** Is it the gateway of its machine? */
  serves: boolean
}

export interface LaneWork {
  input: WaitingInput
  /** Another process served this lane last: a live conversation of this process is out of date. */
  hasMoved: boolean
}

/** A message that needs a turn, with the decisions of admission. */
export interface Input {
  /** The permanent id of the message; a second input with the same key is a duplicate. */
  key: string
  /** The session key. Inputs of one lane are processed in order, one turn at a time. */
  lane: string
  agentId: string
  message: Message
  /** May the sender give commands? And the owner's commands? */
  mayCommand: boolean
  owner: boolean
  /** The owner wrote it, possibly in a group; defaults to `owner`. */
  byOwner?: boolean
  /** In a group: a person on the group's list wrote it; defaults to `byOwner`. */
  byMember?: boolean
  turnOptions?: TurnOptions
  /** A caller in this process waits for the answer, so this process must take the turn. Not stored. */
  isWatched?: boolean
}

/** Options for one turn. */
interface TurnOptions {
  /** The author of the turn; defaults to the owner. */
  askedBy?: Author
  model?: string
  thinking?: string
  /** The turn is stopped when its calls to the model have cost this much. */
  maxBudgetUsd?: number
  /** Send the reply to the message's address; otherwise it is only recorded and returned to the caller. */
  deliver: boolean
  /** A heartbeat turn: does not keep the session fresh, and most of its replies are not sent. */
  heartbeat?: boolean
  /** The text comes from the program and is used verbatim. */
  internal?: boolean
}

export interface WaitingInput extends Input {
  id: number
  acceptedAt: number
  /** How many turns with this input were lost. */
  lostTurns: number
  /** Which process serves its lane, if several share the work. */
  laneServer?: 'here' | 'elsewhere' | 'nowhere'
  hasMoved?: boolean
}

type InputEnd = 'answered' | 'command' | 'dropped' | 'stopped' | 'refused' | 'failed' | 'given-up'

export type InputState = 'waiting' | 'running' | InputEnd

export interface Inbox {
  /** Undefined if it was accepted before. `hasRoom`: this process can serve its lane now. */
  accept(input: Input, hasRoom?: boolean): Promise<WaitingInput | undefined>
  /** Was a message with this key accepted before? */
  knows(key: string): Promise<boolean>
  /** Waiting, running, or how it ended. Undefined if it was never accepted, or its key has expired; with `agentId` also if it is
   *  for another agent. */
  state(key: string, agentId?: string): Promise<InputState | undefined>
  /** When the last input of a lane, or of a chat whose keys begin so, was accepted; undefined if there is none. */
  lastAcceptedAt(of: { lane: string } | { keyStart: string }): Promise<number | undefined>
  /** Replaces the text of a message that was edited before its turn started. False if the turn has started. */
  replace(key: string, message: Message): Promise<boolean>
  /** Inputs that wait for a turn, oldest first. */
  waiting(lane?: string): Promise<WaitingInput[]>
  /** The inputs of one lane that were given up, from this one on, in order. */
  givenUp(first: number): Promise<WaitingInput[]>
  /** Ends inputs without a turn and enqueues deliveries; resolves to the new outbox rows. The text of inputs that were given up is
   *  kept, so that they can be asked again. */
  end(ids: number[], how: InputEnd, deliveries?: Delivery[]): Promise<OutboxRow[]>
  /** Deletes the keys of inputs that ended before this time. */
  forget(before: number): Promise<number>
}

/** An input of a turn that runs. */
export interface RunningInput extends WaitingInput {
  /** How often the agent started to work on it. */
  asked: number
}

/** Identifies a process, so that others can check whether it is alive; see process-identity.ts. */
export type Owner = string

export interface RunningTurn {
  id: string
  lane: string
  agentId: string
  kind: 'message' | 'heartbeat'
  owner: Owner
  startedAt: number
  inputs: RunningInput[]
}

/** A finished turn, stored for charts. */
export interface TurnRow extends Omit<RunningTurn, 'owner' | 'inputs'> {
  sessionId?: string
  model?: string
  endedAt: number
  end: string
  usage: Usage
  costUsd: number
  contextTokens?: number
  compactions: number
}

export interface TurnOutcome extends Partial<Omit<TurnRow, 'end' | keyof RunningTurn | 'endedAt'>> {
  end: TurnEnd
  deliveries: Delivery[]
  /** The first delivery is sent at once: it is marked `attempting` in the same transaction. */
  sendsFirst?: boolean
  /** Inputs that had joined the turn and were not answered: they wait again. */
  unanswered?: number[]
  /** Context that the turn received and that must not be repeated. */
  received?: { systemEvents?: number[]; overheard?: { group: string; upTo: number } }
}

export interface TurnLanes {
  /** Claims the lane and its inputs. False if the lane has a running turn, or an input is already taken. */
  begin(turn: Omit<RunningTurn, 'startedAt' | 'inputs'> & { inputs: number[] }): Promise<boolean>
  /** Adds inputs to a running turn; they end with it. False if the turn is over, or an input is already taken. */
  join(turnId: string, inputs: number[]): Promise<boolean>
  /** Records that the agent has started to work on the turn's first inputs. */
  asked(turnId: string): Promise<void>
  /** Ends the turn: marks its inputs as answered and enqueues its replies, atomically. Resolves to the outbox rows. */
  finish(turnId: string, outcome: TurnOutcome): Promise<OutboxRow[]>
  /** Releases a lost turn; its inputs wait again, and their `lostTurns` grows by one. */
  release(turnId: string): Promise<void>
  running(): Promise<RunningTurn[]>
  /** Finished turns, newest first. `inputKey`: only the turn that this input belongs to. */
  history(filter?: {
    lane?: string
    agentId?: string
    inputKey?: string
    since?: number
    limit?: number
  }): Promise<TurnRow[]>
}

export type DeliveryState = 'queued' | 'attempting' | 'retry' | 'unknown' | 'sent' | 'dead'

export interface OutboxRow {
  /** The order within the lane. */
  seq: number
  delivery: Delivery
  state: DeliveryState
  attempts: number
  /** It was sent a second time, marked as such, because the result of the first attempt is unknown. */
  resent: boolean
  /** Not before this time. */
  notBefore: number
  reason?: string
  messageIds: string[]
  updatedAt: number
  /** Marked `attempting` by this process and not sent yet; not in the database. */
  isMarked?: boolean
}

export type DeliveryChange =
  /** On disk before the platform is called. */
  | { state: 'attempting'; resent: boolean }
  /** One of several messages was sent; the attempt continues. */
  | { state: 'attempting'; messageIds: string[] }
  | { state: 'retry'; notBefore: number; reason: string }
  | { state: 'unknown'; reason: string }
  /** `at`: its time in the order of the chat; now when absent. */
  | { state: 'sent'; messageIds: string[]; at?: number }
  | { state: 'dead'; reason: string }

/** A delivery that people saw in a chat, or may have seen. */
export interface ShownDelivery extends OutboxRow {
  /** Another process sent it: its times are by another clock. */
  isForeign: boolean
}

export interface Outbox {
  /** Skips deliveries whose idempotencyKey exists. Resolves to the new rows. */
  add(deliveries: Delivery[]): Promise<OutboxRow[]>
  /** Like `add`, for a process that does not send: the sending process finds the rows with `take`. */
  leave(deliveries: Delivery[]): Promise<void>
  change(id: string, change: DeliveryChange): Promise<void>
  /** Rejects with `lock-lost` if another process may send the delivery by now. Without this method no other process can. */
  checkOwned?(id: string): Promise<void>
  /** Open rows that this process must send and has not received before, in order. With a single process: all of them at the start,
   *  later those after `afterSeq`; never rows that are being sent. */
  take(afterSeq?: number): Promise<OutboxRow[]>
  /** Rows after `afterSeq` that are neither sent nor dead, in order. */
  open(afterSeq?: number): Promise<OutboxRow[]>
  list(filter?: { states?: DeliveryState[]; lane?: string; limit?: number }): Promise<OutboxRow[]>
  get(id: string): Promise<OutboxRow | undefined>
  /** Deliveries whose address contains this text, and which ended at or after this time or may be visible while their sending
   *  continues; of all processes. */
  shownSince(since: number, to: string): Promise<ShownDelivery[]>
  /** Deletes rows that were sent or dead before this time. */
  forget(before: number): Promise<number>
}

export interface OverheardEntry {
  id: number
  sender: string
  body: string
  timestamp?: number
  messageId?: string
}

/** Messages in groups that were not addressed to us, since the last reply. */
export interface Overheard {
  /** False if it was added before. */
  add(
    group: string,
    key: string,
    entry: Omit<OverheardEntry, 'id'>,
    limits: { entries: number; groups: number },
  ): Promise<boolean>
  list(group: string): Promise<OverheardEntry[]>
}

export interface SystemEventRow {
  id: number
  text: string
  at: number
}

export interface SystemEvents {
  /** The same text twice in a row is stored once; beyond `limit` the oldest are removed. Events that begin with `instead` are
   *  obsolete and are removed first. */
  add(sessionKey: string, text: string, limit: number, instead?: string): Promise<void>
  waiting(sessionKey: string): Promise<SystemEventRow[]>
  /** Removes the events of a session that was reset. */
  clear(sessionKey: string): Promise<void>
}
