// Searching what was said: where text comes from, what one asks, and what one gets.

export type SearchKind = 'rockpool' | 'native' | 'memory'
export type SearchRole = 'user' | 'assistant' | 'tool' | 'memory'

/** A file whose text can be found. Whoever knows the files (our stores, discovery, the workspaces) names them. */
export interface SearchSource {
  kind: SearchKind
  path: string
  /** Empty for files that belong to no agent of ours: only operators find those. */
  agentId?: string
  /** The session's id (Claude's own for native ones); a memory file's name for memory. */
  sessionId: string
  sessionKey?: string
  repoPath?: string
  branch?: string
  channel?: string
}

export interface SearchFilter {
  /** An agent finds only its own; operators leave it out. */
  agentId?: string
  repoPath?: string
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

/** Turns text into vectors, on the machine or at a provider's. */
export interface Embedder {
  readonly name: string
  readonly dimensions: number
  /** Which languages it knows, for people: `English`. */
  readonly languages: string
  embed(texts: string[]): Promise<Float32Array[]>
}
