// Search: sources of text, questions and answers.

export type SearchKind = 'rockpool' | 'native' | 'memory'
export type SearchRole = 'user' | 'assistant' | 'tool' | 'memory'

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
  repoPath?: string
  branch?: string
  channel?: string
  /** The file's current state: if it was indexed in this state, it need not be opened. */
  seen?: { inode: number; size: number; mtimeMs: number }
}

export interface SearchFilter {
  /** Leave tool input and output out. */
  withoutTools?: boolean
  /** An agent finds only its own; operators leave it out. */
  agentId?: string
  /** In one of these folders or below. */
  repoPaths?: string[]
  /** The directory of the asker: hits in that repository rank a little higher. */
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
  /** The kinds of search that found it. */
  by: Array<'words' | 'pieces' | 'meaning' | 'regex'>
}

export interface SearchQuestion extends SearchFilter {
  text: string
  /** The text is a regular expression; passages are searched from the newest on, for a limited time. */
  regex?: boolean
}

export interface SearchAnswer {
  total: number
  hits: SearchHit[]
  /** Messages about kinds of search that could not be used. */
  notes: string[]
}

/** Progress of reading the sources. */
export interface IndexProgress {
  filesDone: number
  files: number
  bytesRead: number
  passages: number
}

export interface SearchStatus {
  sources: number
  passages: number
  /** Passages by people, agents and notes. Tool output is not searched by meaning. */
  spoken: number
  withPieces: number
  withVector: number
  /** Files whose tool input and output is not indexed yet. */
  withoutTools: number
  /** While a gateway reads its sources after the start. */
  reading?: IndexProgress
  /** The model for meaning; absent without one. */
  meaning?: { name: string; languages: string }
  /** Why there is no model for meaning. */
  lack?: string
}

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
  readonly dimensions: number
  /** Which languages it knows, for people: `English`. */
  readonly languages: string
  /** A question must not wait long for a provider. */
  embed(texts: string[], withinMs?: number): Promise<Float32Array[]>
}
