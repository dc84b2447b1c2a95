// Search: sources of text, questions and answers.
import { z } from 'zod'
import { agentKinds, type AgentKind } from './agent.ts'

export const searchKinds = ['rockpool', 'native', 'memory'] as const
export type SearchKind = (typeof searchKinds)[number]
export const searchRoles = ['user', 'assistant', 'tool', 'memory'] as const
export type SearchRole = (typeof searchRoles)[number]

/** A file whose text is indexed. Listed by the owners of the files: our stores, discovery, the workspaces. */
export interface SearchSource {
  kind: SearchKind
  path: string
  /** The agents that may find it; `*` for every agent. Without any, only operators find it. */
  agentIds?: string[]
  /** The session's id (Claude's own for native ones); a memory file's name for memory. */
  sessionId: string
  sessionKey?: string
  /** For Claude's transcript of one of our chats: the id of our session with the same conversation. */
  chat?: string
  /** The program whose session it is; absent for our own files. */
  agentKind?: AgentKind
  repoPath?: string
  branch?: string
  channel?: string
  /** The file's current state: if it was indexed in this state, it need not be opened. */
  seen?: { inode: number; size: number; mtimeMs: number }
}

export interface SearchFilter {
  /** Leave tool input and output out. */
  withoutTools?: boolean
  /** Show the same text of several sessions more than once. */
  withCopies?: boolean
  /** An agent finds only its own; operators leave it out. */
  agentId?: string
  /** In one of these folders or below. */
  repoPaths?: string[]
  /** The directory of the asker: hits in that repository rank a little higher. */
  near?: string
  channel?: string
  /** Milliseconds since 1970. */
  since?: number
  until?: number
  /** Only calls of this tool. */
  tool?: string
  /** Only sessions that name this file. */
  file?: string
  /** With `file`: sessions that name it, beside those of which the index knows. */
  fileSessions?: string[]
  role?: SearchRole
  source?: SearchKind
  /** Only sessions of this program. */
  agentKind?: AgentKind
  /** Only these sources' session ids. */
  sessionIds?: string[]
  /** Not this session. */
  exceptSessionId?: string
  limit?: number
  /** Explain the rank of each hit. */
  explain?: boolean
}

/** Built on first use, so that a search does not wait for it. */
export const searchHit = z.lazy(() =>
  z.object({
    sessionId: z.string(),
    sessionKey: z.string().optional(),
    source: z.enum(searchKinds),
    agentId: z.string().optional(),
    agentKind: z.enum(agentKinds).optional().describe('The program whose session it is.'),
    repoPath: z.string().optional(),
    branch: z.string().optional(),
    channel: z.string().optional(),
    path: z.string(),
    role: z.enum(searchRoles),
    /** 1-based line in the source file. */
    line: z.number(),
    messageId: z.string().optional().describe('The id of the message in its transcript, to fork after it.'),
    /** Milliseconds since 1970; of the file for memory. */
    at: z.number(),
    /** About three lines around what matched, secrets redacted. */
    snippet: z.string(),
    /** Where in the snippet the matches are: [start, end) in UTF-16 units. */
    matches: z.array(z.tuple([z.number(), z.number()])),
    score: z.number(),
    /** The kinds of search that found it. */
    by: z.array(z.enum(['words', 'pieces', 'meaning', 'regex'])),
    why: z.array(z.string()).optional().describe('What its rank is made of.'),
  }),
)
export type SearchHit = z.infer<typeof searchHit>

export interface SearchQuestion extends SearchFilter {
  text: string
  /** The text is a regular expression; passages are searched from the newest on, for a limited time. */
  regex?: boolean
  /** Search what is indexed now, without reading new text first. */
  asIndexed?: boolean
}

export interface SearchAnswer {
  total: number
  /** Too many to count: `total` is about right. */
  isEstimated?: boolean
  hits: SearchHit[]
  /** Why some kinds of search (by meaning, for example) could not be used. */
  notes: string[]
  /** The corrected question: a word that occurs in the texts replaces a word that does not. */
  suggestion?: string
}

/** The progress of reading the sources. */
const indexProgress = () =>
  z.object({ filesDone: z.number(), files: z.number(), bytesRead: z.number(), passages: z.number() })
export type IndexProgress = z.infer<ReturnType<typeof indexProgress>>

export const searchStatus = z.lazy(() =>
  z.object({
    sources: z.number(),
    passages: z.number(),
    spoken: z.number().describe('Passages of people, agents and notes; search by meaning finds only these.'),
    withPieces: z.number().describe('Passages that can be found by a part of a word.'),
    withVector: z.number().describe('Passages that can be found by meaning.'),
    withoutTools: z.number().describe('Files whose tool calls and results are not indexed.'),
    isFull: z
      .boolean()
      .describe('The index has reached its share of the transcripts: the oldest tool texts are left out.'),
    reading: indexProgress().optional().describe('What a new gateway still reads; absent when all is read.'),
    meaning: z
      .object({ name: z.string(), languages: z.string() })
      .optional()
      .describe('The model that search by meaning uses.'),
    lack: z.string().optional().describe('Why search by meaning is not available.'),
  }),
)
export type SearchStatus = z.infer<typeof searchStatus>

/** Search over all transcripts and notes. */
export interface SearchPart {
  search(question: SearchQuestion): Promise<SearchAnswer>
  /** Reads what is new in the sources. */
  refresh(): Promise<IndexProgress>
  /** Deletes the index and reads everything again. */
  rebuild(): Promise<IndexProgress>
  /** Indexes new text continuously, until the returned function is called. For the gateway. */
  follow(): Promise<() => Promise<void>>
  /** Removes sessions and all their text from the index and its files. */
  purge(sessionIds: string[]): Promise<void>
  status(): Promise<SearchStatus>
  close(): Promise<void>
}

/** Turns text into vectors, on the machine or at a provider's. */
export interface Embedder {
  readonly name: string
  /** Which languages it knows, for people: `English`. */
  readonly languages: string
  /** False if it knows none of the words: their vectors would mean nothing. Absent if that is unknown. */
  knows?(text: string): boolean
  /** A question must not wait long for a provider. */
  embed(texts: string[], withinMs?: number): Promise<Float32Array[]>
}
