// Small copies of the sessions of other agents, for the search index: what people and agents said, without tools and their results, in
// the form of Claude's transcripts, which the search reads. They can be deleted at any time, and are made again.
import { hash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentRecord } from '../../domain/agent-records.ts'
import { TimeSlice } from '../../domain/async.ts'
import type { DiscoveredSession, Discovery, SessionTranscript } from '../../domain/discovered-session.ts'
import { jsonText } from '../../domain/json.ts'
import type { Log } from '../../domain/log.ts'
import { writeFileAtomically } from '../../store/disk/atomic-file.ts'

const sliceMs = 10

type Conversations = Pick<Discovery, 'conversation'>

/** Makes missing and outdated copies, removes those of deleted sessions, and resolves to all of them. */
export async function searchableCopies(
  discovery: Conversations & Pick<Discovery, 'list'>,
  folder: string,
  log: Log,
): Promise<SessionTranscript[]> {
  const { sessions } = await discovery.list({ agentKind: 'all' })
  const others = sessions.filter(isOfAnother)
  if (others.length === 0) return []
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const wanted = new Set(others.map(copyName))
  for (const name of readdirSync(folder)) if (!wanted.has(name)) rmSync(join(folder, name), { force: true })
  return copiesOf(others, discovery, folder, log)
}

/** Makes missing and outdated copies of these sessions, as far as they are of other agents. */
export async function copiesOf(
  sessions: DiscoveredSession[],
  discovery: Conversations,
  folder: string,
  log: Log,
): Promise<SessionTranscript[]> {
  const others = sessions.filter(isOfAnother)
  if (others.length > 0) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const share = new TimeSlice(sliceMs)
  const copies: SessionTranscript[] = []
  for (const session of others) {
    const path = join(folder, copyName(session))
    try {
      if (!isCurrent(path, session)) await writeCopy(path, session, discovery)
      copies.push(transcriptAt(path, session))
    } catch (error) {
      log.warn(
        { event: 'session-not-searchable', sessionId: session.sessionId, reason: String(error) },
        'Could not read a session of another agent; the search does not find it.',
      )
    }
    if (share.isUsedUp) await share.yield()
  }
  return copies
}

function isOfAnother({ agentKind }: DiscoveredSession): boolean {
  return agentKind !== 'claude'
}

function copyName({ sessionId }: DiscoveredSession): string {
  return `${hash('sha1', sessionId)}.jsonl`
}

/** A copy has the time of the last record that it was made from. */
function isCurrent(path: string, { lastModified }: DiscoveredSession): boolean {
  return statSync(path, { throwIfNoEntry: false })?.mtime.getTime() === lastModified.getTime()
}

async function writeCopy(
  path: string,
  { sessionId, lastModified }: DiscoveredSession,
  discovery: Conversations,
): Promise<void> {
  const { records } = await discovery.conversation(sessionId)
  const text = records.flatMap(spokenLine).join('')
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  // Most sessions only grow; the search then reads what is new.
  if (before !== '' && text.startsWith(before)) appendFileSync(path, text.slice(before.length))
  else await writeFileAtomically(path, text)
  utimesSync(path, lastModified, lastModified)
}

/** What was copied into a fork is found in the session that said it. */
function spokenLine(record: AgentRecord): string[] {
  if ((record.kind !== 'prompt' && record.kind !== 'answer') || record.inherited) return []
  const type = record.kind === 'prompt' ? 'user' : 'assistant'
  // As blocks: the search recognises an answer by its block of text.
  const message = { role: type, content: [{ type: 'text', text: record.text }] }
  return [`${jsonText({ type, uuid: record.id, timestamp: record.at, message })}\n`]
}

function transcriptAt(path: string, session: DiscoveredSession): SessionTranscript {
  const { sessionId, agentId, agentKind, repoPath, branch } = session
  const { ino: inode, size, mtimeMs } = statSync(path)
  return { sessionId, agentId, agentKind, repoPath, branch, path, inode, size, mtimeMs }
}
