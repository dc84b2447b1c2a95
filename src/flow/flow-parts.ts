// The dependencies of the way of a message. compose/conversations.ts constructs them; what belongs to higher folders (coding
// sessions in a chat, approvals) is passed in here.
import type { AccessPolicy } from '../domain/access.ts'
import type { Address } from '../domain/address.ts'
import type { Agent, AgentRuntime, AskPermission, ToolServer } from '../domain/agent.ts'
import type { Channel } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Media, Message } from '../domain/message.ts'
import type { Delivery, Reply } from '../domain/reply.ts'
import type { Session } from '../domain/session.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'
import type { MentionRules } from '../inbound/mentions.ts'
import type { Deliverer, OnSent } from '../replies/deliver.ts'
import type { Readers } from '../rights/owners.ts'
import type { Rights } from '../rights/rights.ts'
import type { Chores } from '../store/storage.ts'
import type { SendableFiles } from '../store/media/outgoing-files.ts'
import type { SessionStore, TranscriptStore } from '../store/session-store.ts'
import type { Input, Owner, WorkStore } from '../store/work-store.ts'
import type { Author } from '../rights/author.ts'
import type { TurnQueue } from './turn-queue.ts'

export interface FlowParts {
  config: Config
  clock: Clock
  log: Log
  events: Events
  work: WorkStore
  sessions: (agentId: string) => SessionStore
  transcripts: (agentId: string) => TranscriptStore
  runtime: AgentRuntime
  access: AccessPolicy
  /** The running channel that reaches this address. */
  channelFor: (address: Address) => Channel | undefined
  /** Makes the channel of an account from the current configuration and credentials. */
  makeChannel?: (name: string, accountId: string) => Promise<Channel | undefined>
  /** One line for each channel; the first turn of a main session starts with them. */
  channelSummary?: () => readonly string[]
  defaultAgentId: () => string
  agentOf: (agentId: string) => Agent
  /** The folder for copies of notes while an agent writes them. */
  noteCopies: string
  /** This process. */
  self: Owner
  /** Where several machines share the lanes: lets another machine do what `TurnStops.here` does. */
  stopOn?: (machine: string, sessionKey: string, inputKey?: string) => Promise<Stopped>
  /** Leaves the group of processes that share the work. */
  leave?: () => Promise<void>
  isAlive: (owner: Owner) => boolean
  /** Is this private chat the owner's? Decides the author of every turn; see rights/. */
  isOwners: Readers['isOwners']
  hasAccess: Readers['hasAccess']
  /** Our own tools that a turn may call. */
  toolsFor?: (session: Session, address: Address, rights: Rights) => Promise<ToolServer[]>
  /** Answers permission requests of Claude; without it every request is refused with an explanation. */
  askPermission?: (session: Session, address: Address) => AskPermission
  /** Further commands for chats, such as those of coding sessions. */
  commands?: readonly ChatCommand[]
  /** Called after a command was run. */
  onCommand?: (input: Input, reply: Reply | undefined) => void
  /** Handles a button press. Resolves to the text to show, or to undefined if the button is unknown. */
  onButton?: (message: Message, owner: boolean) => Promise<Reply | undefined>
  /** The session for a reply to one of our messages, if it is not the chat's own. */
  routeReply?: (message: Message) => Promise<{ agentId: string; sessionKey: string } | undefined>
  /** The command that a reply to one of our notices stands for: text for a coding session. */
  replyCommand?: (message: Message) => Promise<string | undefined>
  /** Called for every delivery that arrived, before it is marked as sent. */
  onSent?: OnSent
  /** Where the owners can be reached, in private. */
  ownerChats?: () => Address[]
  /** Copies a sent message into the transcript of its session. */
  mirror?: (delivery: Delivery) => Promise<void>
  /** Files of messages: given to the session, or deleted if the message is not accepted. */
  files?: {
    give: (session: { agentId: string; key: string }, media: readonly Media[]) => Promise<Media[]>
    /** Copies files that another machine received to this one; resolves to their paths here. */
    bring: (paths: readonly string[]) => Promise<string[]>
    drop: (media: readonly Media[]) => Promise<void>
  }
  /** Where machines share the notes of agents: fetched before a turn, published after it. */
  notes?: {
    bring: (agentId: string) => Promise<void>
    give: (agentId: string) => Promise<void>
  }
  /** Where several processes share the work: tasks that one of them does for all. */
  chores?: Chores
  /** Further cleanup: of shared data by one process, of this machine's data by each. */
  tidy?: { shared: () => Promise<void>; own: () => Promise<void> }
  /** Copies a file of the workspace to where it can be sent from, or tells why it may not be sent. */
  attach?: (
    session: Session,
    path: string,
    from: SendableFiles,
  ) => Promise<{ path: string } | { refused: string }>
}

export interface ChatCommand {
  /** Without the slash. */
  name: string
  /** The arguments. */
  usage?: string
  description: string
  ownerOnly: boolean
  run(rest: string, input: Input): Promise<Reply | undefined>
}

/** Waits for a turn: a command line, an operation. */
export interface TurnWatcher {
  onEvent?(event: TurnEvent): void
  onEnd(end: WatchedEnd): void
}

export interface WatchedEnd {
  sessionKey: string
  sessionId?: string
  replies: Reply[]
  /** Absent if no turn was needed, or if it failed before the agent was asked. */
  result?: TurnResult
  error?: unknown
}

/** Events of other authors that need a turn with fewer rights than the one that reads the session's events. */
export interface HeldBack {
  author: Author
  /** The id of the last such event. */
  upTo: number
}

export interface TurnParts extends FlowParts {
  deliverer: Deliverer
  mentionsFor: (message: Message) => MentionRules
  watcherOf: (inputKey: string) => TurnWatcher | undefined
  /** Messages that joined a turn, by id: the transcript has them, and no turn has answered them yet. */
  joined: Set<number>
  /** The process is ending: turns that are interrupted now will be retried. */
  isAbandoned: () => boolean
  /** Events wait for a turn with fewer rights than the one that ended. */
  onHeldBack: (held: HeldBack & { lane: string; agentId: string }) => void
  /** The lane belongs to another process, or its inputs must be assigned to this one again. */
  onNotOurs: (lane: string) => void
}

export interface CommandParts extends FlowParts {
  queue: TurnQueue
  deliverer: Deliverer
  /** Interrupts the running turn of a session and removes the waiting messages. */
  stop: (lane: string) => Promise<Stopped>
}

export interface Stopped {
  wasRunning: boolean
  /** How many waiting messages were removed. */
  forgotten: number
}
