// What the author of a turn may see and do, beyond Claude's own tools (tools.ts). One table for all paths into a turn: a new
// path names its author and looks up the rights here.
import { sep } from 'node:path'
import type { ToolRights } from '../domain/agent.ts'
import type { BridgeToolName } from '../domain/bridge.ts'
import { bridgeToolNames } from '../domain/bridge.ts'
import type { Author } from './author.ts'
import { toolsOf } from './tools.ts'

export interface Rights {
  author: Author
  /** Claude's own tools. */
  tools: ToolRights
  /** Rules for what Claude may do without asking, with the tools in `tools`. */
  allowedRules: readonly string[]
  /** Rockpool's tools: all that an agent can have, only those about this session, or none. */
  ownTools: 'all' | 'this-session' | 'none'
  /** Which tools of the bridge. */
  bridgeTools: readonly BridgeToolName[]
  /** The scopes with which Rockpool's tools call operations. */
  scopes: ReadonlyArray<'read' | 'write'>
  /** `workspace`: the agent's whole folder. `own`: the files of this session, and those in `sharedFiles`. */
  files: 'workspace' | 'own'
  /** What the owner shares with this author: absolute paths, folders with a slash at the end. A search for notes finds only
   *  these. */
  sharedFiles: readonly string[]
  /** May the turn ask the owner for a permission? */
  mayAskOwner: boolean
  /** May the turn write the agent's notes, which the owner's search returns? */
  writesNotes: boolean
}

/** The grants in the configuration of an agent, and the places of its files. */
interface Grants {
  /** The tools that the agent may use without asking: for the owner, and for a program that is bound to the agent. */
  owner: readonly string[]
  program: readonly string[]
  /** The names of the tools and files that the owner shares with guests and groups. */
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

/** Is this file shared, by itself or with its folder? Both are absolute real paths. */
export function isShared(path: string, sharedFiles: readonly string[]): boolean {
  return sharedFiles.some((shared) => (shared.endsWith('/') ? path.startsWith(shared) : path === shared))
}

/** The author of a call to an operation. An agent that calls has the author of its turn; a token that is bound to an
 *  agent has the author `program`. */
export function callerAuthor(caller: { via: string; agentId?: string; author?: Author }): Author {
  if (caller.author !== undefined) return caller.author
  if (caller.via === 'hook') return 'hook'
  return caller.agentId === undefined ? 'owner' : 'program'
}

/** Whether a caller may read a session, and so also name, continue or fork it: the operator (no `agentId`) every session, an
 *  agent only those that it owns. A session without an owner is the operator's. */
export function mayReadSession(session: { agentId?: string }, agentId: string | undefined): boolean {
  return agentId === undefined || session.agentId === agentId
}

/** Whether a caller may see a coding session and give it messages: an agent its own, and those that it launched for others. */
export function maySeeCoding(
  request: { agentId: string; launchedBy?: string },
  agentId: string | undefined,
): boolean {
  return agentId === undefined || request.agentId === agentId || request.launchedBy === agentId
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

/** Guests and groups see their own conversation and what is shared; a hook sees nothing. */
function bridgeToolsOf(author: Author): readonly BridgeToolName[] {
  if (author === 'owner' || author === 'program') return bridgeToolNames
  if (author === 'hook') return []
  return ['openclaw_conversation_context', 'openclaw_memory_search']
}

/** Where an agent may start coding sessions and read projects, and how much such a session may cost. These limits hold for
 *  agents and for tokens that are bound to one, not for people. All paths are real paths. */
export interface LaunchLimits {
  /** The agent's own folder. */
  workspace: string
  /** The repositories that the configuration names. */
  repositories: readonly string[]
  /** The state directory and the workspaces of other agents. */
  closed: readonly string[]
  maxBudgetUsd: number
}

/** The innermost folder around the directory decides: `coding.repos` may name a folder that contains a closed one. A
 *  directory that contains a closed folder is refused, because a session there can read everything below it. */
export function mayUseDirectory(directory: string, limits: LaunchLimits): boolean {
  const { workspace, repositories, closed } = limits
  if (directory === workspace) return true
  if (closed.some((folder) => isWithin(folder, directory))) return false
  return innermost(directory, [workspace, ...repositories]) > innermost(directory, closed)
}

export function mayCost(budgetUsd: number | undefined, { maxBudgetUsd }: LaunchLimits): boolean {
  return budgetUsd === undefined || budgetUsd <= maxBudgetUsd
}

/** The length of the longest of these folders that contain the directory; 0 when none does. */
function innermost(directory: string, folders: readonly string[]): number {
  return Math.max(0, ...folders.filter((folder) => isWithin(directory, folder)).map(({ length }) => length))
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
