// Runs a program for its output: no shell, a limit on time and on bytes, and nothing of it left behind.
import { spawn } from 'node:child_process'

export type Ran =
  | { kind: 'done'; code: number; stdout: string; stderr: string }
  /** The program is not installed. */
  | { kind: 'absent' }
  | { kind: 'failed'; reason: string }
  | { kind: 'timed-out'; afterMs: number }

export interface RunLimits {
  cwd: string
  env: Record<string, string>
  timeoutMs: number
  maxBytes: number
}

/** Output beyond `maxBytes` ends the program; what came before is returned as if it had ended there. */
export function runBounded(command: string, args: string[], limits: RunLimits): Promise<Ran> {
  return new Promise((resolve) => {
    // A group of its own, so that the whole of it can be ended: git and gh start further programs.
    const child = spawn(command, args, {
      cwd: limits.cwd,
      env: limits.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const stdout = new BoundedText(limits.maxBytes, () => endGroup(child.pid))
    const stderr = new BoundedText(16_384)
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk))
    const timer = setTimeout(() => {
      endGroup(child.pid)
      // A program that cannot be ended (a disk that does not answer) must not keep us waiting either.
      child.stdout.destroy()
      child.stderr.destroy()
      child.unref()
      resolve({ kind: 'timed-out', afterMs: limits.timeoutMs })
    }, limits.timeoutMs)
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      resolve(error.code === 'ENOENT' ? { kind: 'absent' } : { kind: 'failed', reason: error.message })
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ kind: 'done', code: stdout.full ? 0 : (code ?? 1), stdout: stdout.text, stderr: stderr.text })
    })
  })
}

/** Keeps the first `maxBytes`; calls `onFull` once when there is more. */
class BoundedText {
  full = false
  #chunks: Buffer[] = []
  #room: number
  #onFull: () => void

  constructor(maxBytes: number, onFull: () => void = () => {}) {
    this.#room = maxBytes
    this.#onFull = onFull
  }

  add(chunk: Buffer): void {
    if (this.full) return
    this.#chunks.push(chunk.subarray(0, this.#room))
    this.#room -= chunk.length
    if (this.#room >= 0) return
    this.full = true
    this.#onFull()
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended by itself a moment ago.
  }
}
