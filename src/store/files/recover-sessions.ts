// Recovers an unreadable sessions.json from its last good copy and from the transcripts beside it. Recovery changes nothing on
// disk; setting the unreadable file aside is a separate step.
import { readSync, readdirSync, statSync, readFileSync, rmSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import { attempt } from '../../domain/errors.ts'
import { parseRecord } from '../../domain/json.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { readFileSafely, syncDirectory } from '../disk/atomic-file.ts'
import { FileLock } from '../disk/file-lock.ts'
import { agentOfFolder } from '../paths.ts'
import { parseSessions, readableEntries, type SessionsContent } from './sessions-text.ts'
import { parseTranscriptName } from '../transcripts/transcript-paths.ts'
import { closeAtEnd, openForeign } from '../disk/foreign-file.ts'

interface RecoveredSessions extends SessionsContent {
  /** For people: where the entries came from. */
  damage: string[]
}

export function recoverSessions(path: string): RecoveredSessions | undefined {
  // Fails if the copy is unreadable too; the transcripts remain.
  const copy = attempt(() => {
    const file = readFileSafely(`${path}.bak`)
    return file && parseSessions(file.text, `${path}.bak`)
  })
  const entries = new Map(copy?.entries)
  const fromFile = readableBeside(path, entries)
  for (const [key, entry] of fromFile) entries.set(key, entry)
  const known = new Set([...entries.values()].flatMap(transcriptIdsOf))
  let fromTranscripts = 0
  for (const { key, entry } of transcriptsBeside(path)) {
    if (transcriptIdsOf(entry).some((id) => known.has(id)) || entries.has(key)) continue
    entries.set(key, entry)
    fromTranscripts++
  }
  if (entries.size === 0) return undefined
  const damage = [
    ...(fromFile.length > 0 ? [`${fromFile.length} sessions come from its readable part`] : []),
    ...(copy ? [`${copy.entries.size} sessions come from ${basename(path)}.bak`] : []),
    ...(fromTranscripts > 0
      ? [`${fromTranscripts} sessions come from transcripts; their keys are lost`]
      : []),
  ]
  return { entries, unusable: new Map(copy?.unusable), plain: true, damage }
}

/** The entries that the damaged file itself still has and that are not older than those of its copy. A session that the copy has under
 *  another key is left out: the key may be damaged. */
function readableBeside(path: string, copied: Map<string, SessionEntry>): Array<[string, SessionEntry]> {
  const text = attempt(() => readFileSafely(path)?.text) ?? ''
  const known = new Set([...copied.values()].flatMap(transcriptIdsOf))
  return [...readableEntries(text)].filter(([key, entry]) => {
    const before = copied.get(key)
    if (before) return entry.updatedAt >= before.updatedAt
    return !transcriptIdsOf(entry).some((id) => known.has(id))
  })
}

/** The possible ids of a session's transcript. OpenClaw 2026.1.30 wrote different ids into header and file name. */
export function transcriptIdsOf({ sessionId, sessionFile }: SessionEntry): string[] {
  const named = typeof sessionFile === 'string' ? parseTranscriptName(basename(sessionFile)) : undefined
  return named ? [sessionId, named.sessionId] : [sessionId]
}

export function setSessionsAside(path: string, clock: Clock): Promise<string> {
  return new FileLock(path, { clock }).hold('set aside', async () => {
    const aside = `${path}.corrupt-${timestamp(clock.now())}`
    await rename(path, aside)
    await syncDirectory(dirname(path))
    return aside
  })
}

export function timestamp(now: number): string {
  return new Date(now).toISOString().replaceAll(':', '-')
}

function transcriptsBeside(path: string): Array<{ key: string; entry: SessionEntry }> {
  const folder = dirname(path)
  const agentId = agentOfFolder(folder)
  const names = readdirSync(folder).filter(
    (name) => name.endsWith('.jsonl') && !name.endsWith('.set-aside.jsonl'),
  )
  return names.flatMap((name) => {
    const file = join(folder, name)
    const { sessionId, topic } = namesOf(name, headerIdOf(file))
    if (!sessionId) return []
    const suffix = topic === undefined ? '' : `:topic:${topic}`
    const entry = { sessionId, updatedAt: Math.round(statSync(file).mtimeMs), sessionFile: file }
    return [{ key: `agent:${agentId}:recovered:${sessionId}${suffix}`.toLowerCase(), entry }]
  })
}

/** `<id>.jsonl`, `<id>-topic-<topic>.jsonl`, or `<time>_<id>.jsonl` for a fork. */
function namesOf(name: string, headerId: string | undefined): { sessionId?: string; topic?: string } {
  const stem = name.slice(0, -'.jsonl'.length)
  const [before, topic] = stem.split('-topic-', 2)
  const sessionId = headerId ?? (/^[A-Za-z0-9][\w.-]{7,127}$/.test(before!) ? before : undefined)
  return { sessionId, topic }
}

function headerIdOf(file: string): string | undefined {
  const fd = openForeign(file)
  using _ = closeAtEnd(fd)
  const buffer = Buffer.alloc(8_192)
  const text = buffer.toString('utf8', 0, readSync(fd, buffer))
  const { type, id } = parseRecord(text.split('\n', 1)[0]!) ?? {}
  return type === 'session' && typeof id === 'string' ? id : undefined
}

/** Removes the copies of sessions.json (last good, set aside) that contain the session; the next change writes a new copy. */
export function removeCopiesOf(sessionsJson: string, key: string): void {
  const folder = dirname(sessionsJson)
  const kinds = ['bak', 'corrupt-', 'set-aside'].map((kind) => `${basename(sessionsJson)}.${kind}`)
  const copies = readdirSync(folder).filter((name) => kinds.some((kind) => name.startsWith(kind)))
  const named = JSON.stringify(key).slice(1, -1)
  for (const path of copies.map((name) => join(folder, name))) {
    if (readFileSync(path).includes(named)) rmSync(path, { force: true })
  }
}
