// The status line of Claude Code: what today cost, how much of the usage window is used, who needs you. It must be fast, so this file
// loads nothing large: the facts come from a small file, which a process in the background refreshes.
import { spawn } from 'node:child_process'
import { fstatSync, readFileSync } from 'node:fs'
import { styleText } from 'node:util'
import { claimRefresh, leaveUsage, readStatusline } from '../store/statusline-file.ts'
import type { StatuslineFacts } from '../store/statusline-file.ts'
import type { Host } from './host.ts'

const staleMs = 5_000
const namesShown = 2

/** The parts of the host that the line needs. */
interface LineHost extends Pick<Host, 'environment' | 'program' | 'now'> {
  terminal: { out(text: string): void }
}

/** Prints the line at once. Old facts are refreshed for the next time. */
export function printStatusline(host: LineHost): void {
  const { environment, terminal } = host
  const facts = readStatusline(environment.stateDir)
  const now = host.now()
  if ((facts === undefined || now - facts.at > staleMs) && claimRefresh(environment.stateDir, now)) {
    const args = [host.program, 'statusline', '--refresh']
    spawn(process.execPath, args, { detached: true, stdio: 'ignore' }).unref()
  }
  const claude = readClaude()
  if (claude.rate_limits) leaveUsage(environment.stateDir, { ...claude.rate_limits }, now)
  terminal.out(`${statusline(facts, claude, !environment.variables['NO_COLOR'])}\n`)
}

/** The parts of Claude's JSON that the line uses. Older versions of Claude Code do not report the windows. */
interface ClaudeState {
  rate_limits?: { five_hour?: UsageWindow; seven_day?: UsageWindow }
}

interface UsageWindow {
  used_percentage?: number
  resets_at?: number
}

/** What Claude Code writes to stdin; nothing in a terminal. */
function readClaude(): ClaudeState {
  if (fstatSync(0).isCharacterDevice()) return {}
  try {
    const state: unknown = JSON.parse(readFileSync(0, 'utf8'))
    return typeof state === 'object' && state !== null ? state : {}
  } catch {
    // Not what Claude Code writes: the line is shown without its part.
    return {}
  }
}

/** `$6.63 today · 5h 62%, ends 16:40 · 2 need you: migrate-orders, hook`. */
export function statusline(facts: StatuslineFacts | undefined, claude: ClaudeState, color: boolean): string {
  const { five_hour: hours, seven_day: week } = claude.rate_limits ?? {}
  return [
    facts ? `$${facts.costTodayUsd.toFixed(2)} today` : 'rockpool',
    windowText(
      '5h',
      hours,
      facts?.usage?.find(({ window }) => window === 'five_hour'),
    ),
    windowText(
      'week',
      week,
      facts?.usage?.find(({ window }) => window === 'seven_day'),
    ),
    facts && needsYouText(facts.needsYou, color),
  ]
    .filter(Boolean)
    .join(' · ')
}

/** What Claude reports now; if it does not, what was known at the last refresh. The forecast is ours. */
function windowText(
  name: string,
  window: UsageWindow | undefined,
  known: NonNullable<StatuslineFacts['usage']>[number] | undefined,
): string | undefined {
  const used = window?.used_percentage ?? known?.usedPercent
  if (typeof used !== 'number') return undefined
  const ends = known?.endsAt === undefined ? '' : `, ends ${timeOf(known.endsAt)}`
  return `${name} ${Math.round(used)}%${ends}`
}

function timeOf(moment: number): string {
  const at = new Date(moment)
  return [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
}

function needsYouText(names: string[], color: boolean): string | undefined {
  if (names.length === 0) return undefined
  const more = names.length > namesShown ? ', …' : ''
  const verb = names.length === 1 ? 'needs' : 'need'
  const text = `${names.length} ${verb} you: ${names.slice(0, namesShown).join(', ')}${more}`
  return color ? styleText('yellow', text, { validateStream: false }) : text
}
