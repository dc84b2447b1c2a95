// What must happen, written down before anything is done: messages that were accepted, turns that run, replies that
// are to be sent. These are the contracts; inbox.ts, turn-lanes.ts and outbox.ts keep them with SQLite.
// Every promise here resolves when its change is on disk.
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
  /** With several processes on one database; absent where this process has all the work. */
  readonly share?: LaneShare
}

/** How several processes share the lanes: each lane is served by one of them as long as there is work in it. */
export interface LaneShare {
  /** Does this process take whatever there is, or only what somebody waits for here? */
  readonly serves: boolean
  /** Gives up lanes, takes as many as there is `room` for, and resolves to the inputs that are now ours, in order. */
  take(room: number, up: { idle: string[]; failed: string[] }): Promise<LaneWork[]>
  /** Turns of processes that died, and of ours outside the `busy` lanes. Their lanes are held until they are released. */
  lost(busy: string[]): Promise<RunningTurn[]>
  /** There is work that another process should look at. */
  wakeOthers(): void
  onWork(listener: () => void): () => void
  /** This process was taken for dead: everything must be let go before it may work again. */
  onBuried(letGo: () => Promise<void>): void
  /** Which accounts (`channel|account`) this process can send through. */
  setReach(reach: readonly string[]): Promise<void>
}

export interface LaneWork {
  input: WaitingInput
  /** Another process served this lane last: what is warm here is out of date. */
  hasMoved: boolean
}

/** Something that wants a turn: a message with what was decided about it at the door. */
export interface Input {
  /** What identifies it for ever; a second one with the same key is the same message. */
  key: string
  /** The session key: inputs of one lane are taken in order, one turn at a time. */
  lane: string
  agentId: string
  message: Message
  /** May its sender give commands, and those of the owner? */
  mayCommand: boolean
  owner: boolean
  /** The owner said it, be it in a group; as `owner` when absent. */
  byOwner?: boolean
  /** In a group: somebody who is named in its list of people said it; as `byOwner` when absent. */
  byMember?: boolean
  wish?: TurnWish
  /** Somebody in this process waits for the answer, so this process must give it. Not kept. */
  isWatched?: boolean
}

/** What the one who asks wants of this turn only. */
export interface TurnWish {
  /** For whom the turn is taken; the owner when absent. */
  askedBy?: Author
  model?: string
  thinking?: string
  /** Send the reply to the message's address; otherwise it is only recorded and given to whoever waits. */
  deliver: boolean
  /** A turn of the agent's own: keeps nothing fresh, and most of its words are kept back. */
  heartbeat?: boolean
  /** The text is the program's: taken as it stands. */
  internal?: boolean
}

export interface WaitingInput extends Input {
  id: number
  acceptedAt: number
  /** How many turns were begun with it and lost. */
  lostTurns: number
  /** Where its lane is served, when several processes share the work. */
  lies?: 'here' | 'elsewhere' | 'nowhere'
  hasMoved?: boolean
}

export type InputEnd = 'answered' | 'command' | 'dropped' | 'stopped' | 'failed' | 'given-up'

export type InputState = 'waiting' | 'running' | InputEnd

export interface Inbox {
  /** Undefined: it was accepted before. `hasRoom`: this process would serve its lane now. */
  accept(input: Input, hasRoom?: boolean): Promise<WaitingInput | undefined>
  /** Was a message with this key accepted before? */
  knows(key: string): Promise<boolean>
  /** What became of it: waiting, running, or how it ended. Undefined when it was never accepted, or is forgotten. */
  state(key: string): Promise<InputState | undefined>
  /** A message was edited before its turn began: its text is replaced. False when it is too late. */
  replace(key: string, message: Message): Promise<boolean>
  /** Inputs that wait for a turn, oldest first. */
  waiting(lane?: string): Promise<WaitingInput[]>
  /** Ends inputs without a turn, with what is to be said about it; resolves to the outbox rows that are new. */
  end(ids: number[], how: InputEnd, deliveries?: Delivery[]): Promise<OutboxRow[]>
  /** Forgets the keys of inputs that ended before this time. */
  forget(before: number): Promise<number>
}

/** An input of a turn that runs. */
export interface RunningInput extends WaitingInput {
  /** How often the agent began to work on it. */
  asked: number
}

/** A process that may be asked whether it still lives; see process-liveness.ts. */
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

/** A turn that is over, as it is kept for charts. */
export interface TurnRow {
  id: string
  lane: string
  agentId: string
  kind: RunningTurn['kind']
  sessionId?: string
  model?: string
  startedAt: number
  endedAt: number
  end: string
  usage: Usage
  costUsd: number
  contextTokens?: number
  compactions: number
}

export interface TurnOutcome {
  end: TurnEnd
  sessionId?: string
  model?: string
  usage?: Usage
  costUsd?: number
  contextTokens?: number
  compactions?: number
  deliveries: Delivery[]
  /** The first of them is sent at once: it is marked `attempting` in the same step. */
  sendsFirst?: boolean
  /** Inputs that had joined and were not dealt with: they wait again. */
  unanswered?: number[]
  /** What the turn was told and must not be told again. */
  heard?: { systemEvents?: number[]; overheard?: { group: string; upTo: number } }
}

export interface TurnLanes {
  /** Claims the lane and its inputs. False: a turn of this lane runs already, or an input is taken. */
  begin(turn: {
    id: string
    lane: string
    agentId: string
    kind: RunningTurn['kind']
    owner: Owner
    inputs: number[]
  }): Promise<boolean>
  /** Inputs that were added to a running turn; they end with it. False: the turn is over, or an input is taken. */
  join(turnId: string, inputs: number[]): Promise<boolean>
  /** The agent has begun to work on what the turn began with. */
  asked(turnId: string): Promise<void>
  /** The turn is over: its inputs are answered, its replies are in the outbox, as one step. Resolves to those rows. */
  finish(turnId: string, outcome: TurnOutcome): Promise<OutboxRow[]>
  /** Gives up a turn that was lost; its inputs wait again, with one lost turn more. */
  release(turnId: string): Promise<void>
  running(): Promise<RunningTurn[]>
  /** Turns that are over, newest first. */
  history(filter?: { lane?: string; agentId?: string; since?: number; limit?: number }): Promise<TurnRow[]>
}

export type DeliveryState = 'queued' | 'attempting' | 'retry' | 'unknown' | 'sent' | 'dead'

export interface OutboxRow {
  /** The order within the lane. */
  seq: number
  delivery: Delivery
  state: DeliveryState
  attempts: number
  /** It was sent a second time, marked, because nobody knows about the first. */
  resent: boolean
  /** Not before this time. */
  notBefore: number
  reason?: string
  messageIds: string[]
  updatedAt: number
  /** Marked `attempting` by this process and not tried yet; not in the database. */
  isMarked?: boolean
}

export type DeliveryChange =
  /** On disk before the platform is called. */
  | { state: 'attempting'; resent: boolean }
  /** One of several messages was sent; the attempt goes on. */
  | { state: 'attempting'; messageIds: string[] }
  | { state: 'retry'; notBefore: number; reason: string }
  | { state: 'unknown'; reason: string }
  | { state: 'sent'; messageIds: string[] }
  | { state: 'dead'; reason: string }

export interface Outbox {
  /** One that says the same thing (idempotencyKey) as an earlier one is left out. Resolves to the rows that are new. */
  add(deliveries: Delivery[]): Promise<OutboxRow[]>
  /** The same for somebody who does not send himself: whoever does finds them with `take`. */
  leave(deliveries: Delivery[]): Promise<void>
  change(id: string, change: DeliveryChange): Promise<void>
  /**
   * Open rows that this process is to send and was not given before, in order. With one process: at the start all of
   * them, later those after `afterSeq`, without any that is being sent: it is on its way to us, or somebody else's.
   */
  take(afterSeq?: number): Promise<OutboxRow[]>
  /** Rows that are neither sent nor dead, in order; those after `afterSeq`. */
  open(afterSeq?: number): Promise<OutboxRow[]>
  list(filter?: { states?: DeliveryState[]; lane?: string; limit?: number }): Promise<OutboxRow[]>
  get(id: string): Promise<OutboxRow | undefined>
  /** Forgets rows that were sent or dead before this time. */
  forget(before: number): Promise<number>
}

export interface OverheardEntry {
  id: number
  sender: string
  body: string
  timestamp?: number
  messageId?: string
}

/** What was said in groups, not to us, since the last reply. */
export interface Overheard {
  /** False: it was heard before. */
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
  /** The same text twice in a row is said once; beyond `limit` the oldest go. One that begins with `instead` is no longer
   *  true, and goes first. */
  add(sessionKey: string, text: string, limit: number, instead?: string): Promise<void>
  waiting(sessionKey: string): Promise<SystemEventRow[]>
  /** A session that begins anew is not told what happened in the old one. */
  clear(sessionKey: string): Promise<void>
}
