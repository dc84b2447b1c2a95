// What the status line of Claude Code shows, as a background process last found it. The status line itself only reads this file,
// because Claude Code runs it several times a minute and waits for it.
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

export interface StatuslineFacts {
  at: number
  costTodayUsd: number
  /** Names of sessions. */
  needsYou: string[]
}

export function readStatusline(stateDir: string): StatuslineFacts | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(stateDir), 'utf8')) as StatuslineFacts
  } catch {
    // Not written yet, or of another version: the next refresh writes it.
    return undefined
  }
}

export function writeStatusline(stateDir: string, facts: StatuslineFacts): void {
  const file = fileIn(stateDir)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(facts), { mode: 0o600 })
  renameSync(`${file}.${process.pid}`, file)
  rmSync(markIn(stateDir), { force: true })
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

function markIn(stateDir: string): string {
  return `${fileIn(stateDir)}.refreshing`
}
