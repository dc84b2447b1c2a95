// The log: JSON lines on stderr or in a file of our own, without secrets. pino writes them; it is loaded with the first line,
// because most commands write none. Also reads the end of the log file.
import { createRequire } from 'node:module'
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
  readSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Logger, pino as Pino } from 'pino'
import { attempt } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import type { Redactor } from '../domain/redact.ts'
import { ifThere } from './disk/atomic-file.ts'
import { closeAtEnd } from './disk/foreign-file.ts'

interface LogOptions {
  level: 'debug' | 'info' | 'warn' | 'error'
  file?: string
  redactor: Redactor
  /** A file of this size is rotated; the last five are kept. */
  rotateAtBytes?: number
}

const severity = { debug: 20, info: 30, warn: 40, error: 50 }
const keptFiles = 5

export function openLog(options: LogOptions): Log {
  let root: Logger | undefined
  return makeLog(options, () => (root ??= startPino(options)))
}

/** `logger` is called only for a line that will be written. */
function makeLog(options: LogOptions, logger: () => Logger): Log {
  const clean = (value: unknown): unknown => redactDeep(value, options.redactor, 8)
  const write = (level: keyof typeof severity) => (fields: Record<string, unknown>, message: string) => {
    if (severity[level] < severity[options.level]) return
    logger()[level](clean(fields), options.redactor.everything(message))
  }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child(fields) {
      let own: Logger | undefined
      return makeLog(options, () => (own ??= logger().child(clean(fields) as Record<string, unknown>)))
    },
  }
}

function startPino({ level, file, rotateAtBytes = 10 * 1024 * 1024 }: LogOptions): Logger {
  const { pino } = createRequire(import.meta.url)('pino') as { pino: typeof Pino }
  const settings = { level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }
  return pino(settings, file ? rotatingFile(file, rotateAtBytes) : stderrLines)
}

const stderrLines = { write: (line: string) => void process.stderr.write(line) }

/** A line that cannot be written to the file goes to stderr; a failing log must not end the program. */
function rotatingFile(path: string, rotateAtBytes: number): { write(line: string): void } {
  let open: { fd: number; bytes: number } | undefined
  let isTorn = false
  const append = (line: string): void => {
    if (open === undefined || open.bytes > rotateAtBytes) open = openNext(path, open?.fd)
    const text = Buffer.from(isTorn ? `\n${line}` : line)
    const written = writeSync(open.fd, text)
    open.bytes += written
    isTorn = written < text.length
    if (isTorn) throw new Error('no room for the whole line')
  }
  return {
    write(line) {
      try {
        append(line)
      } catch {
        // The disk is full, or the file cannot be opened.
        stderrLines.write(line)
      }
    },
  }
}

/** Opens the next file before the last one is closed, so that its descriptor cannot be reused in between. */
function openNext(path: string, last: number | undefined): { fd: number; bytes: number } {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (last !== undefined) rotate(path)
  const next = openForAppend(path)
  if (last !== undefined) closeSync(last)
  return next
}

function openForAppend(path: string): { fd: number; bytes: number } {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  fchmodSync(fd, 0o600)
  return { fd, bytes: fstatSync(fd).size }
}

function rotate(path: string): void {
  const name = (number: number): string => (number === 0 ? path : `${path}.${number}`)
  rmSync(name(keptFiles), { force: true })
  for (let number = keptFiles - 1; number >= 0; number--) {
    // Fails if there are fewer files, or another process has just rotated them.
    attempt(() => renameSync(name(number), name(number + 1)))
  }
}

function redactDeep(value: unknown, redactor: Redactor, depth: number): unknown {
  if (typeof value === 'string') return redactor.everything(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return '…'
  if (value instanceof Error) return redactError(value, redactor, depth)
  if (Array.isArray(value)) return value.map((inner) => redactDeep(inner, redactor, depth - 1))
  const members = Object.entries(value).map(([key, inner]) => [key, redactDeep(inner, redactor, depth - 1)])
  return Object.fromEntries(members)
}

function redactError(error: Error, redactor: Redactor, depth: number): unknown {
  const { name, message, stack, cause } = error
  const code = 'code' in error ? error.code : undefined
  return redactDeep({ name, code, message, stack, cause }, redactor, depth - 1)
}

interface LogPage {
  lines: string[]
  /** Where to continue reading: file and offset. */
  cursor: string
}

const maxBytes = 512 * 1024

/** The last lines, or those after a cursor. A log that was rotated since then is read from its beginning. */
export function readLog(path: string, limit: number, cursor?: string): LogPage {
  const file = ifThere(() => openSync(path, 'r'))
  if (file === undefined) return { lines: [], cursor: '0:0' }
  using _ = closeAtEnd(file)
  const { ino, size } = fstatSync(file)
  const start = startOf(cursor, ino, size)
  const bytes = Buffer.alloc(Math.min(maxBytes, size - start))
  readSync(file, bytes, 0, bytes.length, size - bytes.length)
  const text = bytes.toString('utf8')
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  const lines = complete.split('\n').slice(0, -1)
  const end = size - (bytes.length - Buffer.byteLength(complete))
  return { lines: lines.slice(-limit), cursor: `${ino}:${end}` }
}

function startOf(cursor: string | undefined, ino: number, size: number): number {
  const [sameIno, offset] = (cursor ?? '').split(':').map(Number)
  if (cursor === undefined) return Math.max(0, size - maxBytes)
  return sameIno === ino && offset !== undefined && offset <= size ? offset : 0
}
