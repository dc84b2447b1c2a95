// Finds problems of the stored sessions and offers fixes. Nothing changes until a person asks for a fix, and no fix destroys
// readable data.
import { existsSync } from 'node:fs'
import type { UnreadablePath } from '../domain/discovered-session.ts'
import { systemClock, type Clock } from '../domain/clock.ts'
import type { Session } from '../domain/session.ts'
import { RockpoolError, asRockpoolError, errorText } from '../domain/errors.ts'
import {
  findDatabaseFault,
  findDeadLocks,
  findIndexFault,
  findLeftovers,
  findOpenModes,
  findSetAside,
  findStateFault,
  findTranscriptFolders,
  isFolder,
} from '../store/inspect-files.ts'
import type { FileFault } from '../store/inspect-files.ts'
import { findDamagedCredentials } from '../store/inspect-credentials.ts'
import type { StatePaths } from '../store/paths.ts'
import type { TranscriptArchive, TranscriptRef } from '../store/session-store.ts'
import { damagedRows, rebuildSessionDatabase } from '../store/sqlite/rebuild-sessions.ts'
import { setSessionsAside } from '../store/files/recover-sessions.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { inspectTranscript, repairTranscript } from '../store/transcripts/transcript-repair.ts'
import { orphansAmong } from './cleanup.ts'
import type { SessionParts } from './session-parts.ts'

export type FindingKind =
  | 'lock'
  | 'leftover'
  | 'mode'
  | 'store-unreadable'
  | 'index-damaged'
  | 'set-aside'
  | 'credentials-damaged'
  | 'entry-damaged'
  | 'transcript-damaged'
  | 'transcript-missing'
  | 'transcript-foreign'
  | 'orphan'
  | 'dangling-id'
  | 'not-examined'
  | 'claude-unreadable'
  | 'config-invalid'
  | 'vault-damaged'

export interface Finding {
  kind: FindingKind
  agentId?: string
  /** A path, or the key of a session. */
  where: string
  problem: string
  /** The report of the database itself; people read `problem`. */
  details?: string
  /** The effect of the fix, or a remedy for a person if there is no fix. */
  remedy: string
  /** May resolve to a report of the result, for people. */
  fix?: () => Promise<string | void>
}

interface DoctorParts {
  paths: StatePaths
  agents: SessionParts[]
  /** Does Claude still have this conversation? */
  isResumable?: (sdkSessionId: string) => Promise<boolean>
  /** Transcripts and folders of Claude Code that cannot be read. */
  unreadable?: () => Promise<UnreadablePath[]>
}

export async function* examine(parts: DoctorParts): AsyncGenerator<Finding> {
  const { root, credentials } = parts.paths
  yield* orFinding({ where: root }, () => findOpenModes(root).map(asFinding('mode')))
  yield* examineDatabases(parts.paths)
  yield* orFinding({ where: credentials }, () =>
    findDamagedCredentials(root, systemClock).map(asFinding('credentials-damaged')),
  )
  for (const where of [root, credentials])
    yield* orFinding({ where }, () => findSetAside(where).map(asFinding('set-aside')))
  for (const agent of parts.agents) {
    const { agentId } = agent.sessions
    yield* orFinding({ where: parts.paths.sessions(agentId), agentId }, () => examineAgent(parts, agent))
  }
  yield* orFinding({ where: 'the transcripts of Claude Code' }, () => examineClaude(parts))
}

async function* examineClaude({ unreadable }: DoctorParts): AsyncGenerator<Finding> {
  const remedy =
    'no automatic fix: allow the account that runs Rockpool to read it; then its sessions are listed'
  for (const { path, reason } of (await unreadable?.()) ?? [])
    yield { kind: 'claude-unreadable', where: path, problem: `cannot be read: ${reason}`, remedy }
}

/** A part that cannot be examined is a finding; the other parts are still examined. */
async function* orFinding(
  place: Pick<Finding, 'where' | 'agentId'>,
  part: () => Iterable<Finding> | AsyncIterable<Finding>,
): AsyncGenerator<Finding> {
  try {
    yield* part()
  } catch (error) {
    const { message, hint } = asRockpoolError(error)
    const remedy = `no automatic fix: ${hint ?? 'correct the cause and run `rockpool doctor` again'}`
    yield { kind: 'not-examined', ...place, problem: `could not be examined: ${message}`, remedy }
  }
}

async function* examineDatabases({ database, ...paths }: StatePaths): AsyncGenerator<Finding> {
  const look = (where: string, kind: FindingKind, find: (path: string) => Promise<FileFault | undefined>) =>
    orFinding({ where }, async function* () {
      const fault = await find(where)
      if (fault) yield asFinding(kind)(fault)
    })
  yield* look(database, 'store-unreadable', findStateFault)
  for (const path of [paths.discoveryIndex, paths.searchIndex, paths.vaultIndex])
    yield* look(path, 'index-damaged', findIndexFault)
}

/** Runs the fixes of all findings that have one. `reports`: the results, for people. */
export async function fix(
  findings: readonly Finding[],
): Promise<{ fixed: Finding[]; failed: string[]; reports: string[] }> {
  const fixed: Finding[] = []
  const failed: string[] = []
  const reports: string[] = []
  for (const finding of findings) {
    if (!finding.fix) continue
    try {
      const report = await finding.fix()
      if (typeof report === 'string') reports.push(report)
      fixed.push(finding)
    } catch (error) {
      failed.push(`${finding.where}: ${errorText(error)}`)
    }
  }
  return { fixed, failed, reports }
}

async function* examineAgent(parts: DoctorParts, agent: SessionParts): AsyncGenerator<Finding> {
  const { agentId } = agent.sessions
  const folder = parts.paths.sessions(agentId)
  const database = parts.paths.sessionDatabase(agentId)
  const own = (kind: FindingKind) => asFinding(kind, agentId)
  yield* findDeadLocks(folder, agent.clock).map(own('lock'))
  yield* findLeftovers(folder, agent.clock).map(own('leftover'))
  yield* findSetAside(folder).map(own('set-aside'))
  yield* findTranscriptFolders(folder).map(own('transcript-damaged'))
  const fault = await findDatabaseFault(database, damagedRows)
  if (fault) yield own('store-unreadable')(fault.isDamaged ? withRebuild(fault, parts.paths, agent) : fault)
  const transcripts = await agent.transcripts.list()
  for (const transcript of transcripts) {
    const where = transcript.file ?? transcript.sessionId
    yield* orFinding({ where, agentId }, () => examineTranscript(agent, transcript))
  }
  if (!fault) yield* orFinding({ where: database, agentId }, () => examineSessions(parts, agent, transcripts))
}

async function* examineSessions(
  parts: DoctorParts,
  agent: SessionParts,
  transcripts: Array<TranscriptRef & { changedAt: number }>,
): AsyncGenerator<Finding> {
  const { agentId } = agent.sessions
  const own = (kind: FindingKind) => asFinding(kind, agentId)
  const sessions = await readSessions(agent)
  if (sessions instanceof RockpoolError) {
    yield own('store-unreadable')(unreadableFile(sessions, parts.paths.sessionsJson(agentId), agent.clock))
  } else {
    yield* damagedEntries(agent, parts.paths.sessionsJson(agentId))
    yield* examineOrphans(agent, sessions, transcripts)
    yield* examineRows(parts, agent, sessions)
  }
}

/** Values in sessions.json that are not entries are kept as they are; only a person can correct them. */
async function* damagedEntries({ sessions }: SessionParts, path: string): AsyncGenerator<Finding> {
  const { agentId } = sessions
  const remedy = 'no automatic fix: correct the entry in sessions.json, or leave it; it is kept unchanged'
  for (const problem of await sessions.damage())
    yield { kind: 'entry-damaged', agentId, where: path, problem, remedy }
}

/** A file that could not be rebuilt: there is no copy of it and no transcript. */
function unreadableFile(error: RockpoolError, path: string, clock: Clock): FileFault {
  const problem = error.message
  if (!existsSync(path) || (error.code !== 'damaged' && !isFolder(path)))
    return { path, problem, remedy: 'no automatic fix: restore a backup (`rockpool restore-backup`)' }
  const remedy = 'set it aside and start with an empty file; there is nothing to rebuild it from'
  return { path, problem, remedy, fix: async () => void (await setSessionsAside(path, clock)) }
}

function withRebuild(fault: FileFault, paths: StatePaths, { sessions }: SessionParts): FileFault {
  const { agentId } = sessions
  const mirror = paths.sessionsJson(agentId)
  return {
    ...fault,
    remedy: 'set it aside and rebuild it from its readable rows, sessions.json and the transcripts',
    fix: async () => {
      // Close the store: it would keep writing into the file that is set aside. The next use opens the new file.
      await sessions.close()
      await rebuildSessionDatabase({ agentId, database: fault.path, mirror })
    },
  }
}

async function* examineTranscript(agent: SessionParts, { file }: TranscriptRef): AsyncGenerator<Finding> {
  if (file === undefined) return
  const damage = await inspectTranscript(file)
  if (damage.length === 0) return
  yield {
    kind: 'transcript-damaged',
    agentId: agent.sessions.agentId,
    where: file,
    problem: damage.slice(0, 5).join('; '),
    remedy: 'write a new file with all readable entries; the damaged file becomes an archive (.bak)',
    fix: async () => void (await repairTranscript(file, agent.clock)),
  }
}

async function* examineOrphans(
  agent: SessionParts,
  sessions: Session[],
  transcripts: Array<TranscriptRef & { changedAt: number }>,
): AsyncGenerator<Finding> {
  for (const orphan of orphansAmong(transcripts, sessions, agent.clock.now())) {
    yield {
      kind: 'orphan',
      agentId: agent.sessions.agentId,
      where: orphan.file ?? orphan.sessionId,
      problem: 'is a transcript without a session',
      remedy: 'archive it; `rockpool sessions restore` brings it back',
      fix: async () => void (await agent.transcripts.archive(orphan, 'deleted')),
    }
  }
}

async function* examineRows(
  parts: DoctorParts,
  agent: SessionParts,
  sessions: Session[],
): AsyncGenerator<Finding> {
  const keys = new Set(sessions.map(({ key }) => key))
  const archives = await agent.transcripts.archives()
  for (const session of sessions) {
    const found = [await missingTranscript(agent, session, archives), await lostClaude(parts, agent, session)]
    for (const finding of [...found, lostParent(agent, session, keys)]) if (finding) yield finding
  }
}

async function missingTranscript(
  agent: SessionParts,
  session: Session,
  archives: TranscriptArchive[],
): Promise<Finding | undefined> {
  const { key, entry } = session
  const base = { agentId: agent.sessions.agentId, where: key }
  try {
    if (await agent.transcripts.exists(transcriptOf(session))) return undefined
  } catch (error) {
    if (!(error instanceof RockpoolError)) throw error
    const remedy = 'remove the file name from the session; the file itself is not touched'
    const forget = (): Promise<void> => removeFields(agent, session, ['sessionFile'])
    return { kind: 'transcript-foreign', ...base, problem: error.message, remedy, fix: forget }
  }
  const hasSpoken =
    entry.sessionFile !== undefined || entry.systemSent === true || (entry.totalTokens ?? 0) > 0
  if (!hasSpoken) return undefined
  const archive = archives.find(({ sessionId, reason }) => sessionId === entry.sessionId && reason !== 'bak')
  const problem = `has no transcript (${entry.sessionId})`
  if (!archive)
    return {
      kind: 'transcript-missing',
      ...base,
      problem,
      remedy: 'none needed: the next message starts a new transcript',
    }
  const remedy = `restore ${archive.name}`
  const restore = async (): Promise<void> => void (await agent.transcripts.unarchive(archive.name))
  return { kind: 'transcript-missing', ...base, problem, remedy, fix: restore }
}

async function lostClaude(
  { isResumable }: DoctorParts,
  agent: SessionParts,
  session: Session,
): Promise<Finding | undefined> {
  const { sdkSessionId } = session.entry
  if (!isResumable || typeof sdkSessionId !== 'string' || (await isResumable(sdkSessionId))) return undefined
  const links = ['sdkSessionId', 'cliSessionIds', 'claudeCliSessionId', 'cliSessionBindings']
  return {
    kind: 'dangling-id',
    agentId: agent.sessions.agentId,
    where: session.key,
    problem: `is linked to Claude's session ${sdkSessionId}, which does not exist any more`,
    remedy: 'remove the link; the next turn starts a new Claude session with our transcript as its history',
    fix: () => removeFields(agent, session, links),
  }
}

function lostParent(agent: SessionParts, { key, entry }: Session, keys: Set<string>): Finding | undefined {
  const parent = entry.spawnedBy ?? entry.parentSessionKey
  const isElsewhere = parent !== undefined && !parent.startsWith(`agent:${agent.sessions.agentId}:`)
  if (parent === undefined || isElsewhere || keys.has(parent)) return undefined
  const problem = `comes from ${parent}, which does not exist any more`
  const remedy = 'nothing: it is harmless'
  return { kind: 'dangling-id', agentId: agent.sessions.agentId, where: key, problem, remedy }
}

async function removeFields(agent: SessionParts, session: Session, names: string[]): Promise<void> {
  await agent.sessions.update(session.key, (entry) => {
    if (entry?.sessionId !== session.entry.sessionId) return undefined
    const kept = Object.entries(entry).filter(([field]) => !names.includes(field))
    const { sessionId, updatedAt } = entry
    return { ...Object.fromEntries(kept), sessionId, updatedAt }
  })
}

async function readSessions(agent: SessionParts): Promise<Session[] | RockpoolError> {
  const sessions: Session[] = []
  try {
    for await (const session of agent.sessions.entries()) sessions.push(session)
    return sessions
  } catch (error) {
    if (error instanceof RockpoolError) return error
    throw error
  }
}

function asFinding(kind: FindingKind, agentId?: string): (fault: FileFault) => Finding {
  return ({ path, ...fault }) => ({ kind, where: path, ...fault, agentId })
}
