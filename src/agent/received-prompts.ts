// Checks which prompts are in Claude's transcript. A prompt given just before Claude died is in no transcript, and a resume knows
// nothing of it.
import { realpathSync } from 'node:fs'
import type { Prompt } from '../domain/agent.ts'
import { TimeSlice } from '../domain/async.ts'
import { recordsOf } from '../store/transcripts/claude-chain.ts'
import type { SharedClaudeTranscripts } from '../store/storage.ts'
import { findTranscript } from './resume.ts'

type TranscriptRecord = Record<string, unknown>

const pauseAfterMs = 10

/** The records of a session of Claude's; none when there is no transcript. */
export async function recordsOfSession(
  configDir: string,
  sdkSessionId: string,
  shared: SharedClaudeTranscripts | undefined,
): Promise<Iterable<TranscriptRecord>> {
  const entries = await shared?.entries(sdkSessionId)
  if (entries) return entries
  const path = findTranscript(configDir, sdkSessionId)
  return path === undefined ? [] : recordsInFile(realpathSync(path))
}

function* recordsInFile(path: string): Generator<TranscriptRecord> {
  for (const { record } of recordsOf(path)) yield record
}

/** By uuid. A prompt that begins a turn is a record of its own, one that joined a turn an attachment. Several that waited
 *  together are one record, under the uuid of the last of them. */
export async function receivedPrompts(
  prompts: ReadonlyArray<Pick<Prompt, 'uuid' | 'text'>>,
  records: Iterable<TranscriptRecord>,
): Promise<Set<string>> {
  const wanted = new Set<unknown>(prompts.map(({ uuid }) => uuid))
  const written = new Map<unknown, string>()
  const share = new TimeSlice(pauseAfterMs)
  for (const record of records) {
    const found = promptIn(record)
    if (found && wanted.has(found.uuid)) written.set(found.uuid, found.text)
    if (share.isUsedUp) await share.yield()
  }
  const isWritten = ({ uuid, text }: Pick<Prompt, 'uuid' | 'text'>): boolean =>
    written.has(uuid) || [...written.values()].some((whole) => whole.includes(`${text}\n`))
  return new Set(prompts.filter(isWritten).map(({ uuid }) => uuid))
}

function promptIn(record: TranscriptRecord): { uuid: unknown; text: string } | undefined {
  if (record['type'] === 'user') {
    const { content } = (record['message'] ?? {}) as { content?: unknown }
    return { uuid: record['uuid'], text: typeof content === 'string' ? content : JSON.stringify(content) }
  }
  const attachment = (record['attachment'] ?? {}) as { type?: unknown; source_uuid?: unknown }
  return attachment.type === 'queued_command' ? { uuid: attachment.source_uuid, text: '' } : undefined
}
