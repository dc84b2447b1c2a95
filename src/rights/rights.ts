// What the author of a turn may see and make happen, beyond Claude's own tools (tools.ts). One table, so that a new path into
// a turn has nothing to decide: it names its author and asks here.
import type { ToolRights } from '../domain/agent.ts'
import type { Author } from './author.ts'
import { toolsOf } from './tools.ts'

export interface Rights {
  author: Author
  /** Claude's own tools. */
  tools: ToolRights
  /** Rules for what Claude may use without asking, of the tools that are open. */
  allowedRules: readonly string[]
  /** Rockpool's tools: all that are offered to an agent, or only what tells about this very session. */
  ownTools: 'all' | 'this-session'
  /** The scopes with which those tools call operations. */
  scopes: ReadonlyArray<'read' | 'write'>
  /** `workspace`: the agent's whole folder. `own`: the files of this session, and what the owner shares by name. */
  files: 'workspace' | 'own'
  /** May the bridge tell what other sessions are about? */
  seesOtherSessions: boolean
  /** May the turn ask the owner for a permission? */
  mayAskOwner: boolean
  /** May the turn write the agent's notes, which the owner's search returns? */
  writesNotes: boolean
}

/** What the owner shares with guests and groups, by name. */
export interface Shared {
  tools: readonly string[]
  files: readonly string[]
}

/** What the configuration of an agent grants, and where its files are. */
export interface Grants {
  /** What it may use without asking: for the owner, and for a program that is bound to it. */
  owner: readonly string[]
  program: readonly string[]
  shared: Shared
  workspace: string
}

export function rightsOf(author: Author, grants: Grants): Rights {
  const isOwners = author === 'owner' || author === 'program'
  return {
    author,
    tools: toolsOf(author, grants.shared.tools),
    allowedRules: allowedRules(author, grants),
    ownTools: isOwners ? 'all' : 'this-session',
    scopes: isOwners ? ['read', 'write'] : ['read'],
    files: isOwners ? 'workspace' : 'own',
    seesOtherSessions: isOwners,
    mayAskOwner: isOwners,
    writesNotes: isOwners,
  }
}

function allowedRules(author: Author, { owner, program, shared, workspace }: Grants): readonly string[] {
  if (author === 'hook') return []
  if (author === 'owner') return owner
  if (author === 'program') return program
  const files = shared.files.map((path) => `${workspace}/${path}`)
  // Two slashes begin an absolute path in Claude's rules; a folder's rule holds for everything below it.
  return [
    ...shared.tools,
    ...files.map((path) => (path.endsWith('/') ? `Read(/${path}**)` : `Read(/${path})`)),
  ]
}

/** Who calls an operation. An agent calls for the author of its turn; a token that is bound to an agent for its program. */
export function callerAuthor(caller: { via: string; agentId?: string; author?: Author }): Author {
  if (caller.author !== undefined) return caller.author
  if (caller.via === 'hook') return 'hook'
  return caller.agentId === undefined ? 'owner' : 'program'
}
