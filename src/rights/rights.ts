// What the author of a turn may see and make happen, beyond Claude's own tools (tools.ts). One table, so that a new path into
// a turn has nothing to decide: it names its author and asks here.
import type { ToolRights } from '../domain/agent.ts'
import type { BridgeToolName } from '../domain/bridge.ts'
import { bridgeToolNames } from '../domain/bridge.ts'
import type { Author } from './author.ts'
import { toolsOf } from './tools.ts'

export interface Rights {
  author: Author
  /** Claude's own tools. */
  tools: ToolRights
  /** Rules for what Claude may use without asking, of the tools that are open. */
  allowedRules: readonly string[]
  /** Rockpool's tools: all that are offered to an agent, only what tells about this very session, or none. */
  ownTools: 'all' | 'this-session' | 'none'
  /** Which tools of the bridge. */
  bridgeTools: readonly BridgeToolName[]
  /** The scopes with which Rockpool's tools call operations. */
  scopes: ReadonlyArray<'read' | 'write'>
  /** `workspace`: the agent's whole folder. `own`: the files of this session, and those in `sharedFiles`. */
  files: 'workspace' | 'own'
  /** Absolute paths, a folder with a slash at its end: what the owner shares with this author. Notes are found there only. */
  sharedFiles: readonly string[]
  /** May the turn ask the owner for a permission? */
  mayAskOwner: boolean
  /** May the turn write the agent's notes, which the owner's search returns? */
  writesNotes: boolean
}

/** What the configuration of an agent grants, and where its files are. */
export interface Grants {
  /** What it may use without asking: for the owner, and for a program that is bound to it. */
  owner: readonly string[]
  program: readonly string[]
  /** What the owner shares with guests and groups, by name. */
  shared: { tools: readonly string[]; files: readonly string[] }
  workspace: string
}

export function rightsOf(author: Author, grants: Grants): Rights {
  const isOwners = author === 'owner' || author === 'program'
  const sharedFiles = filesSharedWith(author, grants)
  return {
    author,
    tools: toolsOf(author, grants.shared.tools),
    allowedRules: allowedRules(author, grants, sharedFiles),
    ownTools: isOwners ? 'all' : author === 'hook' ? 'none' : 'this-session',
    bridgeTools: bridgeToolsOf(author),
    scopes: isOwners ? ['read', 'write'] : ['read'],
    files: isOwners ? 'workspace' : 'own',
    sharedFiles,
    mayAskOwner: isOwners,
    writesNotes: author === 'owner',
  }
}

/** Is this file one of those, or in one of the folders? Both are absolute and real. */
export function isShared(path: string, sharedFiles: readonly string[]): boolean {
  return sharedFiles.some((shared) => (shared.endsWith('/') ? path.startsWith(shared) : path === shared))
}

/** Who calls an operation. An agent calls for the author of its turn; a token that is bound to an agent for its program. */
export function callerAuthor(caller: { via: string; agentId?: string; author?: Author }): Author {
  if (caller.author !== undefined) return caller.author
  if (caller.via === 'hook') return 'hook'
  return caller.agentId === undefined ? 'owner' : 'program'
}

function filesSharedWith(author: Author, { shared, workspace }: Grants): string[] {
  return author === 'guest' || author === 'group' ? shared.files.map((path) => `${workspace}/${path}`) : []
}

function allowedRules(
  author: Author,
  { owner, program, shared }: Grants,
  sharedFiles: readonly string[],
): readonly string[] {
  if (author === 'hook') return []
  if (author === 'owner') return owner
  if (author === 'program') return program
  // In Claude's rules two slashes begin an absolute path, and `**` is everything below a folder.
  return [
    ...shared.tools,
    ...sharedFiles.map((path) => (path.endsWith('/') ? `Read(/${path}**)` : `Read(/${path})`)),
  ]
}

/** Guests and groups are told about their own conversation and what is shared; a hook's turn is told nothing. */
function bridgeToolsOf(author: Author): readonly BridgeToolName[] {
  if (author === 'owner' || author === 'program') return bridgeToolNames
  if (author === 'hook') return []
  return ['openclaw_conversation_context', 'openclaw_memory_search']
}
