// Takes over the sessions of an OpenClaw: its rows and its transcripts, agent by agent. What we have and is newer
// stays; nothing of ours is overwritten, and nothing there is changed.
import { createReadStream, existsSync } from 'node:fs'
import type { ReadStream } from 'node:fs'
import { link, open, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import zlib from 'node:zlib'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { canonicalSessionKey } from '../../domain/session-key-forms.ts'
import {
  ensureDirectory,
  errorCode,
  syncDirectory,
  temporaryName,
  unlessMissing,
  writeFileAtomically,
} from '../disk/atomic-file.ts'
import { FileLock } from '../disk/file-lock.ts'
import { readOpenClaw } from './openclaw-source.ts'
import type { OpenClawAgent, SourceTranscript } from './openclaw-source.ts'
import { keyFault } from '../session-rules.ts'
import type { SessionStore } from '../session-store.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'

export interface OpenClawImportOptions {
  /** Says what would be done, and does nothing. */
  dryRun: boolean
  /** Only this agent. */
  agentId?: string
  sessions(agentId: string): SessionStore
  /** The folder of an agent's transcripts. */
  folder(agentId: string): string
}

interface Counts {
  found: number
  added: number
  changed: number
  /** Already here, the same or newer. */
  kept: number
}

export interface ImportedAgent {
  agentId: string
  kind: 'files' | 'sqlite'
  path: string
  sessions: Counts
  transcripts: Counts
  /** What was left out and why, in words. */
  problems: string[]
}

export interface OpenClawImportReport {
  stateDir: string
  dryRun: boolean
  agents: ImportedAgent[]
}

export async function importOpenClaw(
  stateDir: string,
  options: OpenClawImportOptions,
): Promise<OpenClawImportReport> {
  if (!existsSync(join(stateDir, 'agents'))) {
    throw new RockpoolError('not-found', `${stateDir} is not the state directory of an OpenClaw.`, {
      hint: 'Give the directory that has `agents/` in it, usually ~/.openclaw.',
    })
  }
  const agents: ImportedAgent[] = []
  for (const source of readOpenClaw(stateDir)) {
    try {
      if (options.agentId === undefined || options.agentId === source.agentId)
        agents.push(await importAgent(source, options))
    } finally {
      await source.close()
    }
  }
  return { stateDir, dryRun: options.dryRun, agents }
}

async function importAgent(source: OpenClawAgent, options: OpenClawImportOptions): Promise<ImportedAgent> {
  const { agentId, kind, path, problems } = source
  const imported: ImportedAgent = {
    agentId,
    kind,
    path,
    sessions: { found: source.entries.size, added: 0, changed: 0, kept: 0 },
    transcripts: { found: source.transcripts.length, added: 0, changed: 0, kept: 0 },
    problems,
  }
  // Transcripts first: a row must never name one that is not there yet.
  for (const transcript of source.transcripts) {
    try {
      const done = await importTranscript(transcript, options.folder(agentId), options.dryRun)
      if (done === 'differs')
        problems.push(`${transcript.name} is here already and is not the same; ours stays`)
      imported.transcripts[done === 'differs' ? 'kept' : done]++
    } catch (error) {
      // One transcript that cannot be read must not stop the others.
      problems.push(`${transcript.name}: ${asRockpoolError(error).message}`)
    }
  }
  const store = options.sessions(agentId)
  for (const [key, entry] of byOurKeys(source)) {
    const fault = keyFault(agentId, key)
    if (fault) problems.push(`${key} ${fault}`)
    else
      await importEntry({ key, entry: inOurFolder(entry, options.folder(agentId)), store, imported, options })
  }
  return imported
}

/** Older forms of a key become today's, unless there is a session under that key already: then both stay. */
function byOurKeys({ entries, agentId, problems }: OpenClawAgent): Map<string, SessionEntry> {
  const ours = new Map<string, SessionEntry>()
  for (const [written, entry] of entries) {
    const key = isOlderForm(written) ? canonicalSessionKey(written, { agentId }) : written
    const isTaken = key !== written && (entries.has(key) || ours.has(key))
    if (isTaken)
      problems.push(`${written} is an older form of ${key}, which is another session; both are kept`)
    ours.set(isTaken ? written : key, entry)
  }
  return ours
}

function isOlderForm(key: string): boolean {
  return key.includes(':dm:') || !key.startsWith('agent:')
}

async function importEntry(one: {
  key: string
  entry: SessionEntry
  store: SessionStore
  imported: ImportedAgent
  options: OpenClawImportOptions
}): Promise<void> {
  const { key, entry, store, imported, options } = one
  const decide = (ours: SessionEntry | undefined): 'added' | 'changed' | 'kept' => {
    if (!ours) return 'added'
    return ours.updatedAt >= entry.updatedAt || isDeepStrictEqual(ours, entry) ? 'kept' : 'changed'
  }
  try {
    const other = otherConversation(await store.get(key), entry, options.folder(imported.agentId))
    if (other) imported.problems.push(`${key} ${other}`)
    if (options.dryRun) {
      imported.sessions[decide(await store.get(key))]++
      return
    }
    let done: keyof Counts = 'kept'
    const take = (theirs: SessionEntry): Promise<unknown> =>
      store.update(key, (ours) => {
        done = decide(ours)
        return done === 'kept' ? undefined : { ...ours, ...theirs }
      })
    await take(entry).catch((error: unknown) => {
      if (asRockpoolError(error).code !== 'conflict' || entry.label === undefined) throw error
      const { label: _, ...unlabelled } = entry
      imported.problems.push(`${key} is imported without its label: ${asRockpoolError(error).message}`)
      return take(unlabelled)
    })
    imported.sessions[done]++
  } catch (error) {
    // One row that is refused must not stop the others.
    imported.problems.push(`${key}: ${asRockpoolError(error).message}`)
  }
}

/** Two conversations under one key: one of them has it, and nobody should have to guess where the other one is. */
function otherConversation(
  ours: SessionEntry | undefined,
  theirs: SessionEntry,
  folder: string,
): string | undefined {
  if (!ours || ours.sessionId === theirs.sessionId) return undefined
  const [whose, other] = ours.updatedAt >= theirs.updatedAt ? ['ours', theirs] : ['theirs', ours]
  const file = join(folder, `${other.sessionId}.jsonl`)
  return `is another conversation here; the newer one, ${whose}, has the key. Beside it: rockpool sessions import ${file}`
}

/** The transcript has the same name here; only a name that does not follow from the id has to be said. */
function inOurFolder(entry: SessionEntry, folder: string): SessionEntry {
  if (typeof entry.sessionFile !== 'string') return entry
  const { sessionFile, ...rest } = entry
  const name = basename(sessionFile)
  return name === `${entry.sessionId}.jsonl` ? rest : { ...rest, sessionFile: join(folder, name) }
}

type TranscriptOutcome = 'added' | 'changed' | 'kept' | 'differs'

async function importTranscript(
  { name, content }: SourceTranscript,
  folder: string,
  dryRun: boolean,
): Promise<TranscriptOutcome> {
  const target = join(folder, name)
  const source = (): AsyncIterable<Buffer> => bytesOf(content)
  if (existsSync(target)) {
    const isLonger = await isContinued(source(), target)
    if (isLonger === undefined) return 'differs'
    if (!isLonger) return 'kept'
    return dryRun || (await replaceByLonger(target, source)) ? 'changed' : 'differs'
  }
  if (dryRun) return 'added'
  await ensureDirectory(folder)
  return (await writeNewFile(target, source())) ? 'added' : 'kept'
}

/** Under the lock of the transcript: what was appended here meanwhile makes it a conversation of its own. */
function replaceByLonger(target: string, source: () => AsyncIterable<Buffer>): Promise<boolean> {
  return new FileLock(target).hold('import', async (held) => {
    if (!(await isContinued(source(), target))) return false
    await writeFileAtomically(target, source(), { beforeCommit: () => held.confirm() })
    return true
  })
}

async function* bytesOf(content: SourceTranscript['content']): AsyncIterable<Buffer> {
  if ('file' in content && content.isPacked) yield* unpackedBytes(content.file)
  else if ('file' in content) yield* (await streamOf(content.file)) as AsyncIterable<Buffer>
  else for (const line of content.lines()) yield Buffer.from(`${line}\n`)
}

async function streamOf(file: string): Promise<ReadStream> {
  return createReadStream('', { fd: await openForeignHandle(file, { noLink: true }) })
}

/** A small file can unpack to more than any disk holds. */
const maxUnpackedBytes = 512 * 1024 * 1024

async function* unpackedBytes(file: string): AsyncIterable<Buffer> {
  if (!('createZstdDecompress' in zlib))
    throw new RockpoolError('unavailable', `${file} is packed, and this Node cannot unpack it.`, {
      hint: 'Use Node 22.15 or newer.',
    })
  let bytes = 0
  // A failure of either stream reaches the loop below.
  const pieces = pipeline(await streamOf(file), zlib.createZstdDecompress(), () => {})
  for await (const piece of pieces as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxUnpackedBytes)
      throw new RockpoolError('refused', `${file} unpacks to more than ${maxUnpackedBytes >> 20} MiB.`)
    yield piece
  }
}

/** Does `source` go on where our file ends? False when they are the same, undefined when they differ. */
async function isContinued(source: AsyncIterable<Buffer>, target: string): Promise<boolean | undefined> {
  const file = await open(target, 'r')
  try {
    const { size } = await file.stat()
    let at = 0
    for await (const piece of source) {
      const here = Buffer.alloc(Math.min(piece.length, Math.max(0, size - at)))
      const { bytesRead } = await file.read(here, 0, here.length, at)
      if (bytesRead !== here.length || !here.equals(piece.subarray(0, here.length))) return undefined
      at += piece.length
    }
    return at < size ? undefined : at > size
  } finally {
    await file.close()
  }
}

/** Complete or not at all; false when somebody else has made it meanwhile. */
async function writeNewFile(target: string, content: AsyncIterable<Buffer>): Promise<boolean> {
  const temporary = temporaryName(target)
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(content)
    await file.sync()
    await link(temporary, target)
    await syncDirectory(dirname(target))
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  } finally {
    await file.close()
    await unlink(temporary).catch(unlessMissing)
  }
}
