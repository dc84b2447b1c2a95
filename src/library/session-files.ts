// Library functions for transcripts as text for an index: one entry for each file, its conversation as `User: …` and
// `Assistant: …` with secrets removed, and a hash that changes with the content.
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { makeRedactor } from '../domain/redact.ts'
import { conversationOf } from '../search/passages.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import { parseTranscriptName } from '../store/transcripts/transcript-paths.ts'
import { resolveSessionTranscriptsDirForAgent } from './paths.ts'
import { openForeignHandle } from '../store/disk/foreign-file.ts'

export interface SessionFileEntry {
  /** `sessions/<filename>.jsonl`. */
  path: string
  absPath: string
  mtimeMs: number
  size: number
  /** Of the content and the line map. */
  hash: string
  /** `User: …` and `Assistant: …`, a line for each message. */
  content: string
  /** For each line of the content, the line of the file that it comes from (1-based). */
  lineMap: number[]
}

/** The transcripts of an agent, archives left out. */
export async function listSessionFilesForAgent(agentId = 'main'): Promise<string[]> {
  const dir = resolveSessionTranscriptsDirForAgent(agentId)
  // An agent without sessions has no folder.
  return attempt(
    () =>
      readdirSync(dir)
        .filter((name) => parseTranscriptName(name) !== undefined)
        .map((name) => join(dir, name)),
    [],
  )
}

/** The index entry of a transcript file; null if the file cannot be read. */
export async function sessionFileEntry(absPath: string): Promise<SessionFileEntry | null> {
  const path = resolve(absPath)
  await using file = await openForeignHandle(path).catch(() => null)
  if (!file) return null
  const { mtimeMs, size } = await file.stat()
  const { content, lineMap } = readConversation(file.fd)
  const hash = createHash('sha256').update(content).update(JSON.stringify(lineMap)).digest('hex')
  return { path: sessionPathForFile(path), absPath: path, mtimeMs, size, hash, content, lineMap }
}

export function sessionPathForFile(absPath: string): string {
  return `sessions/${basename(absPath)}`
}

/** Updates an index: `index` is called for files whose content has changed, `remove` for files that are gone. */
export async function syncSessionFiles(params: {
  agentId?: string
  /** Hashes by path, from the last sync. */
  known: ReadonlyMap<string, string>
  index: (entry: SessionFileEntry) => Promise<void> | void
  remove?: (path: string) => Promise<void> | void
}): Promise<{ indexed: number; unchanged: number; removed: number }> {
  const done = { indexed: 0, unchanged: 0, removed: 0 }
  const present = new Set<string>()
  for (const file of await listSessionFilesForAgent(params.agentId)) {
    const entry = await sessionFileEntry(file)
    if (!entry) continue
    present.add(entry.path)
    if (params.known.get(entry.path) === entry.hash) {
      done.unchanged++
      continue
    }
    await params.index(entry)
    done.indexed++
  }
  for (const path of params.known.keys()) {
    if (present.has(path)) continue
    await params.remove?.(path)
    done.removed++
  }
  return done
}

function readConversation(fd: number): { content: string; lineMap: number[] } {
  const redactor = makeRedactor()
  const lines: string[] = []
  const lineMap: number[] = []
  for (const { bytes, number } of linesOfFile(fd, 0)) {
    const found = conversationOf(bytes.toString('utf8'), 'rockpool')
    if (!found) continue
    const who = found.role === 'user' ? 'User' : 'Assistant'
    lines.push(`${who}: ${redactor.everything(found.text).replace(/\s+/g, ' ').trim()}`)
    lineMap.push(number)
  }
  return { content: lines.join('\n'), lineMap }
}
