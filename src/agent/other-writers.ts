// Other processes that write to a conversation of ours. Claude Code does not check: two processes append to one transcript, and
// each loses the turns of the other.
import { openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { parseRecord } from '../domain/json.ts'
import type { OtherWriter } from '../domain/agent.ts'
import { closeAtEnd, namesIn, readForeign } from '../store/disk/foreign-file.ts'
import { isClaudesProcess } from '../store/disk/process-identity.ts'
import { findTranscript } from './transcripts.ts'

/** A live process other than `ours` that Claude's own registry names for this session. */
export function otherWriter(
  configDir: string,
  sdkSessionId: string,
  ours: (pid: number) => boolean,
): { pid: number; cwd: string } | undefined {
  const folder = join(configDir, 'sessions')
  for (const name of namesIn(folder).filter((name) => /^\d+\.json$/.test(name))) {
    // Fails if the file was removed or is half written: its process has just ended, or just starts a session with another id.
    const entry = attempt(
      () => JSON.parse(readForeign(join(folder, name), 65_536).toString('utf8')) as RegistryEntry,
    )
    if (entry?.sessionId !== sdkSessionId || ours(entry.pid)) continue
    if (isClaudesProcess(entry)) return { pid: entry.pid, cwd: entry.cwd }
  }
  return undefined
}

interface RegistryEntry {
  pid: number
  sessionId: string
  cwd: string
  procStart: string | number
  pidDomain: string
}

/** The most that is read at once; one turn of ours writes less. */
const maxReadBytes = 64 * 1024 * 1024

export class TranscriptWatch {
  #configDir: string
  #isOurs: (pid: number) => boolean
  /** The size of each transcript after our last turn. */
  #sizes = new Map<string, number>()
  #prompts = new Set<string>()

  constructor(configDir: string, isOurs: (pid: number) => boolean) {
    this.#configDir = configDir
    this.#isOurs = isOurs
  }

  /** A turn of ours is over: the transcript up to here is ours. */
  turnEnded(sdkSessionId: string): void {
    const path = findTranscript(this.#configDir, sdkSessionId)
    if (path) this.#sizes.set(path, statSync(path).size)
  }

  /** Called before Claude gets this prompt. */
  addPrompt(uuid: string): void {
    this.#prompts.add(uuid)
  }

  /** The process that has the conversation open besides us, or has written to it since our last turn. */
  find(sdkSessionId: string): OtherWriter | undefined {
    const open = otherWriter(this.#configDir, sdkSessionId, this.#isOurs)
    if (open) return { isOpen: true, where: `process ${open.pid} in ${open.cwd}` }
    const path = findTranscript(this.#configDir, sdkSessionId)
    return path !== undefined && this.#hasForeignPrompt(path) ? { isOpen: false } : undefined
  }

  /** Claude records each prompt under its uuid, with the source `typed` or `sdk` if it came from outside. */
  #hasForeignPrompt(path: string): boolean {
    const from = this.#sizes.get(path)
    if (from === undefined) return false
    return readLines(path, from).some((line) => {
      if (!line.includes('"promptSource"')) return false
      // A damaged line is not a prompt; `doctor` reports it.
      const { type, uuid, promptSource } = parseRecord(line) ?? {}
      const isFromOutside = promptSource === 'typed' || promptSource === 'sdk'
      return type === 'user' && isFromOutside && !this.#prompts.has(String(uuid))
    })
  }
}

/** The complete lines after a position in a file. */
function readLines(path: string, from: number): string[] {
  const size = Math.min(statSync(path).size - from, maxReadBytes)
  if (size <= 0) return []
  const bytes = Buffer.alloc(size)
  const file = openSync(path, 'r')
  using _ = closeAtEnd(file)
  readSync(file, bytes, 0, size, from)
  return bytes.toString('utf8', 0, bytes.lastIndexOf(0x0a) + 1).split('\n')
}
