// Claude's transcripts: where they are, whether a conversation can be resumed from one, which prompts it has, and its tag. To be
// resumed, a transcript must exist and its records must form a chain from the last to the first.
import { realpathSync, statSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Prompt, Resumable } from '../domain/agent.ts'
import { TimeSlice } from '../domain/async.ts'
import { namesIn } from '../store/disk/foreign-file.ts'
import { chainOf, readChain, recordsOf, type Chain } from '../store/transcripts/claude-chain.ts'
import type { SharedClaudeTranscripts } from '../store/storage.ts'

interface TranscriptState {
  resumable: Resumable
  /** The cost of the conversation when it was last closed in order. */
  costUsd: number
}

/** `configDir` is Claude's own directory. */
export async function readTranscriptState(configDir: string, sdkSessionId: string): Promise<TranscriptState> {
  const path = findTranscript(configDir, sdkSessionId)
  const reason = `Claude has no transcript of session ${sdkSessionId}.`
  if (!path) return { resumable: { ok: false, why: 'gone', reason }, costUsd: 0 }
  // The file may be a link to another disk; `readChain` accepts plain files only.
  const chain = await readChain(realpathSync(path))
  return { resumable: judge(chain, path), costUsd: chain.costUsd }
}

/** The state of a transcript that several machines share. */
function stateOfEntries(entries: Iterable<Record<string, unknown>>, sdkSessionId: string): TranscriptState {
  const chain = chainOf(entries)
  return { resumable: judge(chain, `The shared transcript of ${sdkSessionId}`), costUsd: chain.costUsd }
}

/** The newest file of this name: a project that was moved leaves a copy behind. */
export function findTranscript(configDir: string, sdkSessionId: string): string | undefined {
  // The id becomes part of a path; Claude's ids are UUIDs.
  if (!/^[0-9a-f-]{36}$/i.test(sdkSessionId)) return undefined
  const projects = join(configDir, 'projects')
  const found = namesIn(projects).flatMap((project) => {
    const path = join(projects, project, `${sdkSessionId}.jsonl`)
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat?.isFile() ? [{ path, at: stat.mtimeMs }] : []
  })
  return found.sort((a, b) => b.at - a.at)[0]?.path
}

/** Records before a summary may be missing: a resume does not need them. */
function judge({ leaf, breaks }: Chain, path: string): Resumable {
  if (!leaf) return { ok: false, why: 'empty', reason: `${path} holds no conversation yet.` }
  const broken = breaks.find((each) => !each.isSummarized)
  if (!broken) return { ok: true }
  const how = broken.why === 'circle' ? 'in a circle' : 'missing'
  return {
    ok: false,
    why: 'damaged',
    reason: `${path} does not lead from its last message to its first: ${broken.uuid} is ${how}.`,
  }
}

/** Remembers the state of a transcript until it changes: a long one takes a second to read. */
export class TranscriptStates {
  #states = new Map<string, { stamp: string; state: TranscriptState }>()
  #shared: SharedClaudeTranscripts | undefined

  /** `shared`: transcripts of several machines; they take precedence over the local file. */
  constructor(shared?: SharedClaudeTranscripts) {
    this.#shared = shared
  }

  async read(configDir: string, sdkSessionId: string): Promise<TranscriptState> {
    const entries = await this.#shared?.entries(sdkSessionId)
    if (entries) return stateOfEntries(entries, sdkSessionId)
    const stamp = stampOf(findTranscript(configDir, sdkSessionId))
    const known = this.#states.get(sdkSessionId)
    if (known && known.stamp === stamp) return known.state
    const state = await readTranscriptState(configDir, sdkSessionId)
    this.#states.delete(sdkSessionId)
    this.#states.set(sdkSessionId, { stamp, state })
    const [oldest] = this.#states.keys()
    if (this.#states.size > 200 && oldest) this.#states.delete(oldest)
    return state
  }
}

function stampOf(path: string | undefined): string {
  const stat = path ? statSync(path, { throwIfNoEntry: false }) : undefined
  return stat ? `${path} ${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
}

type TranscriptRecord = Record<string, unknown>

const pauseAfterMs = 10

/** The records of a conversation; none when there is no transcript. */
export async function readRecords(
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

/** The uuids of the prompts that the transcript has; a prompt given just before Claude died is missing. A prompt that started a
 *  turn is a record of its own, one that joined a turn is an attachment. Several that waited together are one record, under the
 *  uuid of the last. */
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

/** Writes a tag with the agent of the conversation. The SDK's `tagSession` does the same, but accepts no directory of Claude.
 *  False while there is no transcript: Claude writes the first lines when the first turn runs. */
export async function tagTranscript(configDir: string, sdkSessionId: string, tag: string): Promise<boolean> {
  const path = findTranscript(configDir, sdkSessionId)
  if (!path) return false
  // One whole line in one write at the end of the file, so that Claude's own lines stay whole.
  await appendFile(path, `${JSON.stringify({ type: 'tag', tag, sessionId: sdkSessionId })}\n`)
  return true
}
