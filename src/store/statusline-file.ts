// The facts for the status line of Claude Code, as a background process last found them. The status line itself only reads this
// file, because Claude Code runs it several times a minute and waits for it.
import {
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { attempt } from '../domain/errors.ts'
import type { UsageReport } from '../domain/usage-window.ts'

export interface StatuslineFacts {
  at: number
  costTodayUsd: number
  /** Names of sessions. */
  needsYou: string[]
  /** The usage windows, for a Claude Code that does not report them itself. */
  usage?: Array<{ window: string; usedPercent: number; endsAt?: number }>
}

interface LeftReport {
  at: number
  windows: Record<string, { used_percentage?: unknown; resets_at?: unknown } | undefined>
}

/** Keeps what Claude Code reported to the status line about the usage windows; `reportedToStatusline` reads it. */
export function leaveUsage(stateDir: string, windows: LeftReport['windows'], at: number): void {
  // If it fails, the line is shown all the same; the windows are only older.
  attempt(() => writeWhole(usageFileIn(stateDir), { at, windows } satisfies LeftReport))
}

export function reportedToStatusline(stateDir: string): UsageReport[] {
  // Fails if no Claude Code has reported anything to the status line.
  const left = attempt(() => JSON.parse(readFileSync(usageFileIn(stateDir), 'utf8')) as LeftReport)
  return Object.entries(left?.windows ?? {}).flatMap(([id, window]) => {
    const { used_percentage: percent, resets_at: resets } = window ?? {}
    if (typeof percent !== 'number' || typeof resets !== 'number') return []
    return [{ id, used: percent / 100, resetsAt: resets * 1_000, isRejected: percent >= 100, at: left!.at }]
  })
}

export function readStatusline(stateDir: string): StatuslineFacts | undefined {
  // Fails if it is not written yet, or of another version: the next refresh writes it.
  return attempt(() => JSON.parse(readFileSync(fileIn(stateDir), 'utf8')) as StatuslineFacts)
}

export function writeStatusline(stateDir: string, facts: StatuslineFacts): void {
  writeWhole(fileIn(stateDir), facts)
  rmSync(markIn(stateDir), { force: true })
}

function writeWhole(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(content), { mode: 0o600 })
  renameSync(`${file}.${process.pid}`, file)
}

/** True for one caller at a time. A refresh that died is forgotten after this time. */
const forgottenMs = 15_000

export function claimRefresh(stateDir: string, now: number): boolean {
  const mark = markIn(stateDir)
  try {
    mkdirSync(dirname(mark), { recursive: true, mode: 0o700 })
    closeSync(openSync(mark, 'wx', 0o600))
    return true
  } catch {
    // Another one refreshes, or nothing can be written: then the status line is only older.
    const since = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - since > forgottenMs) rmSync(mark, { force: true })
    return false
  }
}

function fileIn(stateDir: string): string {
  return join(stateDir, 'index', 'statusline.json')
}

function usageFileIn(stateDir: string): string {
  return join(stateDir, 'index', 'usage-windows.json')
}

function markIn(stateDir: string): string {
  return `${fileIn(stateDir)}.refreshing`
}
