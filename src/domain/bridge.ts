// The bridge: what a coding session can ask for. Its conversation, its agent's memory, its chat, its cost, its project and
// the sessions there. Made for one session; it never shows more than that session's agent may see.
import type { DiscoveredSession } from './discovered-session.ts'
import type { ProjectStatus } from './project-status.ts'

/** The names that Claude sees. Each tool can be switched off in `mcpBridge.tools`. */
export const bridgeToolNames = [
  'openclaw_conversation_context',
  'openclaw_memory_search',
  'openclaw_announce',
  'openclaw_session_info',
  'openclaw_project_status',
  'openclaw_session_list',
  'recall_lost',
  'mail_send',
  'mail_inbox',
  'why',
] as const

export type BridgeToolName = (typeof bridgeToolNames)[number]

export interface ConversationLine {
  role: 'user' | 'assistant'
  text: string
  /** ISO 8601. */
  at?: string
}

export interface MemoryHit {
  /** Where it was found: a file of the agent's memory. */
  source: string
  text: string
}

export interface RecalledText {
  text: string
  from: number
  /** Continue there; absent at the end. */
  next?: number
  /** Files with the images of the cut. */
  images: Array<{ mediaType: string; path: string }>
}

export interface BridgeWorld {
  agentId: string
  /** The directory that the session works in. */
  repoPath: string
  /** The task of the session, if known. */
  task(): Promise<string | undefined>
  /** The conversation that the session belongs to, oldest first. */
  conversation(limit: number): Promise<ConversationLine[]>
  searchMemory(query: string, limit?: number): Promise<MemoryHit[]>
  /** Resolves when the message is in the outbox, or to the reason why the chat may not get it; undefined if the session has no
   *  chat. */
  announce(message: string): Promise<{ deliveryId: string } | { withheld: string } | undefined>
  /** The cost so far, and the budget. */
  spending(): Promise<{ costUsd: number; budgetUsd?: number }>
  projectStatus(): Promise<ProjectStatus>
  /** The text that a trimmed copy of a session left out, from this character on. */
  recall(handle: string, from: number): Promise<RecalledText>
  /** Sends mail as this session; resolves to the receipt. */
  sendMail(mail: {
    to: string
    text: string
    replyTo?: string
    key?: string
  }): Promise<Record<string, unknown>>
  /** The mail that waits for this session, quoted. */
  receiveMail(): Promise<string>
  /** Which session wrote a line, a file or a commit of the project, and for which prompt. */
  why(target: string): Promise<Record<string, unknown>>
  /** All sessions of the project that this agent may see, those without an owner included. */
  sessions(): Promise<DiscoveredSession[]>
}
