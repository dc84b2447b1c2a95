// Has somebody else continued a conversation that we hold open? Claude Code does not look: two processes append to one
// transcript, and each loses what the other one said.
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import type { OtherWriter } from '../domain/agent.ts'
import { findTranscript, otherWriter } from './resume.ts'

/** More than that is not read at once: then somebody has written more than one turn of ours does. */
const maxReadBytes = 64 * 1024 * 1024

export class TranscriptWatch {
  #configDir: string
  #isOurs: (pid: number) => boolean
  /** How long each transcript was after our last turn. */
  #seen = new Map<string, number>()
  #prompts = new Set<string>()

  constructor(configDir: string, isOurs: (pid: number) => boolean) {
    this.#configDir = configDir
    this.#isOurs = isOurs
  }

  /** A turn of ours is over: what the transcript holds by now is known. */
  turnEnded(sdkSessionId: string): void {
    const path = findTranscript(this.#configDir, sdkSessionId)
    if (path) this.#seen.set(path, statSync(path).size)
  }

  /** We are about to give Claude this prompt. */
  gave(uuid: string): void {
    this.#prompts.add(uuid)
  }

  /** Who has the conversation open beside us, or has written to it since our last turn. */
  look(sdkSessionId: string): OtherWriter | undefined {
    const open = otherWriter(this.#configDir, sdkSessionId, this.#isOurs)
    if (open) return { isOpen: true, where: `process ${open.pid} in ${open.cwd}` }
    const path = findTranscript(this.#configDir, sdkSessionId)
    return path !== undefined && this.#hasForeignPrompt(path) ? { isOpen: false } : undefined
  }

  /** Claude writes down each prompt under the uuid that it came with, and `typed` or `sdk` where it came from outside. */
  #hasForeignPrompt(path: string): boolean {
    const from = this.#seen.get(path)
    if (from === undefined) return false
    return readLines(path, from).some((line) => {
      if (!line.includes('"promptSource"')) return false
      const { type, uuid, promptSource } = parseRecord(line)
      const isFromOutside = promptSource === 'typed' || promptSource === 'sdk'
      return type === 'user' && isFromOutside && !this.#prompts.has(String(uuid))
    })
  }
}

/** The whole lines from a place in a file on. */
function readLines(path: string, from: number): string[] {
  const size = Math.min(statSync(path).size - from, maxReadBytes)
  if (size <= 0) return []
  const bytes = Buffer.alloc(size)
  const file = openSync(path, 'r')
  try {
    readSync(file, bytes, 0, size, from)
  } finally {
    closeSync(file)
  }
  return bytes.toString('utf8', 0, bytes.lastIndexOf(0x0a) + 1).split('\n')
}

function parseRecord(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // A damaged line is no prompt; `doctor` reports it.
    return {}
  }
}
