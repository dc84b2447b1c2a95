// Searching what was said: where text comes from, what one asks, and what one gets.

export type SearchKind = 'rockpool' | 'native' | 'memory'
export type SearchRole = 'user' | 'assistant' | 'tool' | 'memory'

/** A file whose text is indexed. Listed by the owners of the files: our stores, discovery, the workspaces. */
export interface SearchSource {
  kind: SearchKind
  path: string
  /** Whose it is; several for a workspace that agents share, `*` for every agent. Without one only operators find it. */
  agentIds?: string[]
  /** The session's id (Claude's own for native ones); a memory file's name for memory. */
  sessionId: string
  sessionKey?: string
  /** Of a transcript that Claude keeps of a chat of ours: the id of our session, in which the same was said. */
  chat?: string
  repoPath?: string
  branch?: string
  channel?: string
  /** As it was just seen: a file that was indexed like this need not be opened. */
  seen?: { inode: number; size: number; mtimeMs: number }
}

export interface SearchFilter {
  /** Leave tool input and output out. */
  withoutTools?: boolean
  /** An agent finds only its own; operators leave it out. */
  agentId?: string
  /** In one of these folders or below. */
  repoPaths?: string[]
  /** Where the one who asks is: what was said in that repository counts a little more. */
  near?: string
  channel?: string
  /** Milliseconds since 1970. */
  since?: number
  role?: SearchRole
  source?: SearchKind
  /** Only these sources' session ids. */
  sessionIds?: string[]
  limit?: number
}

export interface SearchHit {
  sessionId: string
  sessionKey?: string
  source: SearchKind
  agentId?: string
  repoPath?: string
  branch?: string
  channel?: string
  path: string
  role: SearchRole
  /** 1-based line in the source file. */
  line: number
  /** The name of the message in its transcript, to fork after it. */
  messageId?: string
  /** Milliseconds since 1970; of the file for memory. */
  at: number
  /** About three lines around what matched, secrets redacted. */
  snippet: string
  /** Where in the snippet the matches are: [start, end) in UTF-16 units. */
  matches: Array<[number, number]>
  score: number
  /** How it was found. */
  by: Array<'words' | 'pieces' | 'meaning' | 'regex'>
}

export interface SearchQuestion extends SearchFilter {
  text: string
  /** The text is a regular expression; looked for from the newest passage on, for a bounded time. */
  regex?: boolean
}

export interface SearchAnswer {
  total: number
  hits: SearchHit[]
  /** Ways of searching that could not be used, in words. */
  notes: string[]
}

/** How far a look at the sources is. */
export interface IndexProgress {
  filesDone: number
  files: number
  bytesRead: number
  passages: number
}

export interface SearchStatus {
  sources: number
  passages: number
  /** Those of people, agents and notes: what tools said is not compared by meaning. */
  spoken: number
  withPieces: number
  withVector: number
  /** Files of which it is not yet indexed what tools were asked and answered. */
  withoutTools: number
  /** What a gateway that has just started still reads; absent when all is read. */
  reading?: IndexProgress
  /** The model for meaning; absent without one. */
  meaning?: { name: string; languages: string }
  /** Why there is none. */
  lack?: string
}

/** Everything that was said and noted, findable. */
export interface SearchPart {
  search(question: SearchQuestion): Promise<SearchAnswer>
  /** Reads what is new in all sources. */
  refresh(): Promise<IndexProgress>
  /** Throws the index away and reads everything again. */
  rebuild(): Promise<IndexProgress>
  /** Keeps up with what is said, until the returned function is called. For the gateway. */
  follow(): Promise<() => Promise<void>>
  /** Forgets sessions, and every word of theirs that is still in the index's files. */
  purge(sessionIds: string[]): Promise<void>
  status(): Promise<SearchStatus>
  close(): Promise<void>
}

/** Turns text into vectors, on the machine or at a provider's. */
export interface Embedder {
  readonly name: string
  readonly dimensions: number
  /** Which languages it knows, for people: `English`. */
  readonly languages: string
  /** A question must not wait long for a provider. */
  embed(texts: string[], withinMs?: number): Promise<Float32Array[]>
}
