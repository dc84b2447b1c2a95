// Paths and file names of an agent's transcripts. A name may come from outside, such as an edited row or the topic id of a
// platform. Paths outside of the agent's own folder are refused.
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { classifySessionKey } from '../../domain/session-key-forms.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { errorCode, ifThere } from '../disk/atomic-file.ts'
import { checkSessionId } from '../paths.ts'
import type { TranscriptRef } from '../session-store.ts'

export type ArchiveReason = 'reset' | 'deleted' | 'bak'

const longestName = 255

/** The current transcript of a session. A thread has a file of its own, unless the row names one. */
export function transcriptOf(session: { key: string; entry: SessionEntry }): TranscriptRef {
  const { sessionId, sessionFile } = session.entry
  const { threadId } = classifySessionKey(session.key)
  return {
    sessionId,
    ...(threadId === undefined ? {} : { topicId: threadId }),
    ...(typeof sessionFile === 'string' && sessionFile !== '' ? { file: sessionFile } : {}),
  }
}

/** The file of a transcript: the one that its row names, or the one that follows from its id. */
export function transcriptFile(dir: string, agentId: string, ref: TranscriptRef): string {
  checkSessionId(ref.sessionId)
  if (ref.file !== undefined && ref.file !== '') return containedFile(dir, agentId, ref.file)
  const named = join(dir, transcriptName(ref.sessionId, ref.topicId))
  return ref.topicId === undefined ? (forkedFile(dir, ref.sessionId, named) ?? named) : named
}

export function transcriptName(sessionId: string, topicId?: string | number): string {
  if (sessionId.includes('-topic-')) throw notAName(sessionId, 'a session id may not contain `-topic-`')
  if (topicId === undefined) return `${checkSessionId(sessionId)}.jsonl`
  const topic = String(topicId)
  if (topic === '' || !topic.isWellFormed()) throw notAName(topic, 'it is not a topic id')
  const name = `${checkSessionId(sessionId)}-topic-${encodeURIComponent(topic)}.jsonl`
  if (name.length + '.deleted.2026-01-01T00-00-00.000Z'.length > longestName)
    throw notAName(name, 'it is too long')
  return name
}

/** pi names a fork by its time and its id. */
export function forkName(sessionId: string, at: string): string {
  return `${at.replace(/[:.]/g, '-')}_${checkSessionId(sessionId)}.jsonl`
}

export function archiveName(file: string, reason: ArchiveReason, at: number): string {
  return `${basename(file)}.${reason}.${new Date(at).toISOString().replaceAll(':', '-')}`
}

interface ArchiveParts {
  /** The name of the transcript before it was archived. */
  original: string
  sessionId: string
  topicId?: string
  reason: ArchiveReason
  at: number
}

const archivePattern =
  /^(?<original>.+\.jsonl)\.(?<reason>reset|deleted|bak)\.(?<date>\d{4}-\d\d-\d\dT)(?<time>[\d-]+(?:\.\d+)?Z)(?:-\d+)?$/

export function parseArchiveName(name: string): ArchiveParts | undefined {
  const groups = archivePattern.exec(name)?.groups
  if (!groups) return undefined
  const { original = '', reason, date = '', time = '' } = groups
  const at = Date.parse(date + time.replace('-', ':').replace('-', ':'))
  const named = parseTranscriptName(original)
  if (!named || Number.isNaN(at)) return undefined
  return { original, ...named, reason: reason as ArchiveReason, at }
}

export function parseTranscriptName(name: string): { sessionId: string; topicId?: string } | undefined {
  const stem = /^(?:\d{4}-\d\d-\d\dT[\d-]+Z_)?(?<stem>[^/]+)\.jsonl$/.exec(name)?.groups?.['stem']
  if (stem === undefined) return undefined
  const [sessionId = '', ...topic] = stem.split('-topic-')
  try {
    checkSessionId(sessionId)
    return topic.length === 0
      ? { sessionId }
      : { sessionId, topicId: decodeURIComponent(topic.join('-topic-')) }
  } catch {
    // Another kind of file.
    return undefined
  }
}

/** The file that a row names, if it is inside the agent's own folder after all links are resolved. */
function containedFile(dir: string, agentId: string, named: string): string {
  const name = basename(named)
  const isTranscript = name.endsWith('.jsonl') || parseArchiveName(name) !== undefined
  if (named.includes('\0') || !isTranscript) throw outside(named, dir)
  const file = resolve(dir, named)
  if (isInside(realFolder(dirname(file)), realFolder(dir))) return file
  // The state directory was moved: the row has the old path of the same agent's folder.
  const tail = join('agents', agentId, 'sessions', name)
  if (!named.split(/[\\/]/).includes('..') && file.endsWith(sep + tail)) return join(dir, name)
  throw outside(named, dir)
}

/** By path segments, not by prefix: `/x/.rockpool-evil` is not inside `/x/.rockpool`. */
function isInside(folder: string, parent: string): boolean {
  return folder === parent || folder.startsWith(parent + sep)
}

/** The folder with all links resolved; for a missing folder, the existing part of its path is resolved. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch (error) {
    const parent = dirname(folder)
    const isMissing = errorCode(error) === 'ENOENT'
    if (!isMissing || parent === folder) throw error
    return join(realFolder(parent), basename(folder))
  }
}

function forkedFile(dir: string, sessionId: string, named: string): string | undefined {
  if (existsSync(named)) return undefined
  const forked = listNames(dir).find(
    (name) => name.endsWith(`_${sessionId}.jsonl`) && parseTranscriptName(name),
  )
  return forked === undefined ? undefined : join(dir, forked)
}

export function listNames(dir: string): string[] {
  return ifThere(() => readdirSync(dir)) ?? []
}

function notAName(text: string, why: string): RockpoolError {
  return new RockpoolError(
    'input-invalid',
    `${JSON.stringify(text.slice(0, 80))} names no transcript: ${why}.`,
  )
}

export function noEntry(id: string, { sessionId }: TranscriptRef): RockpoolError {
  return new RockpoolError('not-found', `The transcript of ${sessionId} has no entry ${JSON.stringify(id)}.`)
}

export function noArchive(name: string, agentId: string): RockpoolError {
  return new RockpoolError('not-found', `There is no archive ${JSON.stringify(name)} of agent ${agentId}.`)
}

function outside(file: string, dir: string): RockpoolError {
  return new RockpoolError('refused', `The transcript ${JSON.stringify(file)} is not in ${dir}.`, {
    hint: 'A session may only have a transcript of its own agent. `rockpool doctor` lists such sessions.',
  })
}
