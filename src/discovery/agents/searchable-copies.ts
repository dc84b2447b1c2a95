// Small copies of the sessions of other agents, for the search index: what people and agents said, without tools and their results, in
// the form of Claude's transcripts, which the search reads. They can be deleted at any time, and are made again.
import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentRecord } from '../../domain/agent-records.ts'
import { TimeSlice } from '../../domain/async.ts'
import type { DiscoveredSession, Discovery, SessionTranscript } from '../../domain/discovered-session.ts'
import { jsonText } from '../../domain/json.ts'
import type { Log } from '../../domain/log.ts'
import { writeFileAtomically } from '../../store/disk/atomic-file.ts'

const sliceMs = 10

/** Makes missing and outdated copies, removes those of deleted sessions, and resolves to all of them. */
export async function searchableCopies(
  discovery: Pick<Discovery, 'list' | 'conversation'>,
  folder: string,
  log: Log,
): Promise<SessionTranscript[]> {
  const { sessions } = await discovery.list({ agentKind: 'all' })
  const others = sessions.filter(({ agentKind }) => agentKind !== 'claude')
  if (others.length === 0) return []
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const wanted = new Map(others.map((session) => [`${hash('sha1', session.sessionId)}.jsonl`, session]))
  for (const name of readdirSync(folder)) if (!wanted.has(name)) rmSync(join(folder, name), { force: true })
  const share = new TimeSlice(sliceMs)
  const copies: SessionTranscript[] = []
  for (const [name, session] of wanted) {
    const path = join(folder, name)
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

/** A copy has the time of the last record that it was made from. */
function isCurrent(path: string, { lastModified }: DiscoveredSession): boolean {
  return statSync(path, { throwIfNoEntry: false })?.mtime.getTime() === lastModified.getTime()
}

async function writeCopy(
  path: string,
  { sessionId, lastModified }: DiscoveredSession,
  discovery: Pick<Discovery, 'conversation'>,
): Promise<void> {
  const { records } = await discovery.conversation(sessionId)
  await writeFileAtomically(path, records.flatMap(spokenLine).join(''))
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
