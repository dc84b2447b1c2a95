// Paths in the state directory. Every path with a name from outside is built and checked here.
import { join, resolve } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'

const agentIdRule = /^[a-z0-9][a-z0-9_-]{0,63}$/
const sessionIdRule = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
/** Device names on some systems. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
const reserved = new Set(['__proto__', 'constructor', 'prototype', 'node_modules'])

/** Folders in the vault with copies that exist while they are read. */
export const readingPrefix = 'reading-'

export type StatePaths = ReturnType<typeof statePaths>

export function statePaths(root: string) {
  const agent = (agentId: string): string => join(root, 'agents', checkAgentId(agentId))
  return {
    root,
    config: join(root, 'rockpool.json'),
    /** Inbox, outbox, queued turns, coding sessions, approvals. */
    database: join(root, 'rockpool.sqlite'),
    /** The local copy of tables that machines share in PostgreSQL; used instead of `database` then. */
    sharedCopy: join(root, 'index', 'shared.sqlite'),
    /** Tables that can be deleted and rebuilt. */
    discoveryIndex: join(root, 'index', 'discovery.sqlite'),
    searchIndex: join(root, 'index', 'search.sqlite'),
    /** Transcripts of the shared database as files, for the search index; they can be deleted. */
    transcriptCopies: join(root, 'index', 'transcripts'),
    /** Notes when this machine and the shared database last agreed; it can be deleted. */
    memoryBase: join(root, 'index', 'memory.sqlite'),
    /** Where the records of the vault are; it can be deleted. */
    vaultIndex: join(root, 'index', 'vault.sqlite'),
    /** Messages of sessions that only the vault has, for the search index; it can be deleted. */
    spokenCopies: join(root, 'index', 'kept'),
    /** The edits of sessions that only the vault has, for `why`; they can be deleted. */
    keptEdits: join(root, 'index', 'kept-edits'),
    /** Git's data about the commits of repositories that `why` has read; it can be deleted. */
    commitGraphs: join(root, 'index', 'commit-graphs'),
    /** Messages of sessions of other agents, for the search index; it can be deleted. */
    agentCopies: join(root, 'index', 'agents'),
    /** Copies of every session's files. */
    vault: join(root, 'vault'),
    credentials: join(root, 'credentials'),
    logs: join(root, 'logs'),
    media: join(root, 'media'),
    /** Claude's processes that Rockpool started, and the writer of each session. */
    claudeProcesses: join(root, 'claude', 'processes.sqlite'),
    /** Claude's own temporary files. */
    claudeTemporary: join(root, 'claude', 'tmp'),
    /** Copies of notes while Claude writes them. */
    noteCopies: join(root, 'claude', 'notes'),
    agent,
    sessions: (agentId: string): string => join(agent(agentId), 'sessions'),
    sessionDatabase: (agentId: string): string => join(agent(agentId), 'sessions', 'sessions.sqlite'),
    sessionsJson: (agentId: string): string => join(agent(agentId), 'sessions', 'sessions.json'),
    workspace: (agentId: string): string => join(agent(agentId), 'workspace'),
  }
}

/** The sessions.json of an agent in file mode: beside its transcripts, or at `session.store`. */
export function sessionsJsonPath(agentId: string, paths: StatePaths, template: string | undefined): string {
  if (!template) return paths.sessionsJson(agentId)
  return resolve(paths.root, template.replaceAll('{agentId}', checkAgentId(agentId)))
}

/** The agent of `<state>/agents/<agentId>/sessions`; `main` for any other folder. */
export function agentOfFolder(folder: string): string {
  const [agents, agentId, sessions] = folder.split('/').slice(-3)
  return agents === 'agents' && sessions === 'sessions' && agentId ? agentId : 'main'
}

export function checkAgentId(agentId: string): string {
  if (reserved.has(agentId))
    throw new RockpoolError('input-invalid', `${agentId} is a reserved name and cannot be an agent id.`, {
      hint: 'Choose another name.',
    })
  if (agentIdRule.test(agentId)) return agentId
  throw new RockpoolError('input-invalid', `${JSON.stringify(agentId)} is not an agent id.`, {
    hint: 'Use a-z, 0-9, - and _, at most 64 characters, beginning with a letter or digit.',
  })
}

export function checkSessionId(sessionId: string): string {
  const looksLikeAFile = /\.jsonl$/i.test(sessionId) || sessionId.includes('..') || deviceName.test(sessionId)
  if (sessionIdRule.test(sessionId) && !looksLikeAFile) return sessionId
  throw new RockpoolError('input-invalid', `${JSON.stringify(sessionId.slice(0, 80))} is not a session id.`, {
    hint: 'A session id has letters, digits, `.`, `-` and `_`, at most 128, and is not a file name.',
  })
}

export function gatewayFile(stateDir: string): string {
  return join(stateDir, 'gateway.json')
}
