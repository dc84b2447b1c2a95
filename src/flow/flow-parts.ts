// What the way of a message works with. src/app.ts puts it together; what lies higher (coding sessions in a chat, the
// approvals) is passed in here.
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
import type { Deliverer } from '../replies/deliver.ts'
import type { Rights } from '../rights/rights.ts'
import type { Chores } from '../store/chores.ts'
import type { SendableFiles } from '../store/media/workspace-attachment.ts'
import type { SessionStore, TranscriptStore } from '../store/session-store.ts'
import type { Input, Owner, WorkStore } from '../store/work-store.ts'
import type { HeldBack } from './prompt.ts'
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
  /** Makes the channel of an account, as the configuration and the credentials are now. */
  makeChannel?: (name: string, accountId: string) => Promise<Channel | undefined>
  /** One line for each channel, for an agent that begins a main session. */
  channelSummary?: () => readonly string[]
  defaultAgentId: () => string
  agentOf: (agentId: string) => Agent
  /** Where copies of notes are kept while an agent writes them. */
  noteCopies: string
  /** This process, and whether another one still lives. */
  self: Owner
  /** Leaves the others, where several processes share the work. */
  leave?: () => Promise<void>
  isAlive: (owner: Owner) => boolean
  /** Is this private chat the owner's? Decides the author of every turn; see rights/. */
  isOwners: (address: Address) => boolean
  /** Tools of ours that a turn may call. */
  toolsFor?: (session: Session, address: Address, rights: Rights) => ToolServer[]
  /** Who answers when Claude asks for permission; without it every request is refused with a clear text. */
  askPermission?: (session: Session, address: Address) => AskPermission
  /** Further commands for chats, such as those of coding sessions. */
  commands?: readonly ChatCommand[]
  /** A command was run; for whoever waits for its answer. */
  onCommand?: (input: Input, reply: Reply | undefined) => void
  /** Somebody pressed a button of ours. Gives what to show him, or undefined when it is not ours. */
  onButton?: (message: Message, owner: boolean) => Promise<Reply | undefined>
  /** The session that a reply to one of our messages reaches, if it is not the chat's own. */
  routeReply?: (message: Message) => Promise<{ agentId: string; sessionKey: string } | undefined>
  /** The command that an answer to one of our notices means: words for a coding session. */
  replyCommand?: (message: Message) => Promise<string | undefined>
  /** Called for every delivery that arrived, before it counts as sent. */
  onSent?: (delivery: Delivery, messageIds: string[]) => Promise<void>
  /** Where the owners can be reached, in private. */
  ownerChats?: () => Address[]
  /** Writes a message that was sent into its session's transcript. */
  mirror?: (delivery: Delivery) => Promise<void>
  /** Files that came with a message go to its session, or away when nobody takes it. */
  files?: {
    give: (session: { agentId: string; key: string }, media: readonly Media[]) => Promise<Media[]>
    /** Another machine may have taken them in: where they are on this one, when this resolves. */
    bring: (paths: readonly string[]) => Promise<string[]>
    drop: (media: readonly Media[]) => Promise<void>
  }
  /** Where machines share the notes of agents: theirs come here before a turn, and ours go there after it. */
  notes?: {
    bring: (agentId: string) => Promise<void>
    give: (agentId: string) => Promise<void>
  }
  /** Where several processes share the work: what one of them does for all. */
  chores?: Chores
  /** What else is forgotten from time to time: of what all share by one of them, of what is this machine's own by each. */
  tidy?: { shared: () => Promise<void>; own: () => Promise<void> }
  /** Makes a file of the workspace one that may leave, or says why not. */
  attach?: (
    session: Session,
    path: string,
    from: SendableFiles,
  ) => Promise<{ path: string } | { refused: string }>
}

export interface ChatCommand {
  /** Without the slash. */
  name: string
  /** What stands behind it. */
  usage?: string
  says: string
  ownerOnly: boolean
  run(rest: string, input: Input): Promise<Reply | undefined>
}

/** Somebody who waits for a turn: a command line, an operation. */
export interface TurnWatcher {
  onEvent?(event: TurnEvent): void
  onEnd(end: WatchedEnd): void
}

export interface WatchedEnd {
  sessionKey: string
  sessionId?: string
  replies: Reply[]
  /** Absent when no turn was needed, or when it failed before the agent was asked. */
  result?: TurnResult
  error?: unknown
}

export interface TurnParts extends FlowParts {
  deliverer: Deliverer
  mentionsFor: (message: Message) => MentionRules
  watcherOf: (inputKey: string) => TurnWatcher | undefined
  /** The process must end: turns that are interrupted now are not over. */
  isAbandoned: () => boolean
  /** Words of others wait for a turn with fewer rights than the one that ended. */
  onHeldBack: (held: HeldBack & { lane: string; agentId: string }) => void
  /** Another process has taken the inputs of this lane, or they are to be given to us once more. */
  onNotOurs: (lane: string) => void
}

export interface CommandParts extends FlowParts {
  queue: TurnQueue
  deliverer: Deliverer
}
