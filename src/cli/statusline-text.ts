// The status line of Claude Code: what today cost, how much of the usage window is used, what the next call of this session costs, who
// needs you. It must be fast, so this file loads nothing large: the facts come from a small file, which a process in the background
// refreshes.
import { fstatSync, readFileSync } from 'node:fs'
import { pricesOf } from '../discovery/model-prices.ts'
import { attempt } from '../domain/errors.ts'
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
    // Loading it takes longer than printing the line, and most lines need no refresh.
    const { spawn } = process.getBuiltinModule('node:child_process')
    spawn(process.execPath, args, { detached: true, stdio: 'ignore' }).unref()
  }
  const claude = readClaude()
  if (claude.rate_limits) leaveUsage(environment.stateDir, { ...claude.rate_limits }, now)
  const hasColor = !environment.variables['NO_COLOR']
  // Fails if Claude Code, or the file with the facts, has values of other types: then there is nothing to say.
  const line = attempt(() => statusline(facts, claude, hasColor)) ?? statusline(undefined, {}, hasColor)
  terminal.out(`${line}\n`)
}

/** The parts of Claude's JSON that the line uses. Older versions of Claude Code report neither the windows nor the tokens. */
interface ClaudeState {
  rate_limits?: { five_hour?: UsageWindow; seven_day?: UsageWindow }
  model?: { id?: string }
  /** Of the last call; null before the first one and after a compaction. */
  context_window?: { current_usage?: Record<string, number | undefined> | null }
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

/** `$6.63 today · 5h 62%, ends 16:40 · next call $0.05, cold $0.62 · 2 need you: migrate-orders, hook`. */
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
    nextCallText(claude),
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

/** The price of sending the conversation once more: while Claude's cache has it, and when it has to be written again. */
function nextCallText({
  model,
  context_window: context,
  rate_limits: login,
}: ClaudeState): string | undefined {
  const usage = context?.current_usage ?? {}
  const tokens = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens']
    .map((name) => usage[name] ?? 0)
    .reduce((sum, count) => sum + count, 0)
  const prices = pricesOf(model?.id)
  if (!(tokens > 0) || prices.isUnknown) return undefined
  const { cacheRead, cacheWrite5m, cacheWrite1h } = prices.ofCall({ promptTokens: tokens, fast: false })
  const usd = (perMillion: number): string => `$${((tokens * perMillion) / 1_000_000).toFixed(2)}`
  // With a Claude login, which has usage windows, the cache lives an hour.
  return `next call ${usd(cacheRead)}, cold ${usd(login ? cacheWrite1h : cacheWrite5m)}`
}

function timeOf(moment: number): string {
  const at = new Date(moment)
  return [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
}

const yellow = '\u001b[33m'
const plain = '\u001b[39m'

function needsYouText(names: string[], color: boolean): string | undefined {
  if (names.length === 0) return undefined
  const more = names.length > namesShown ? ', …' : ''
  const verb = names.length === 1 ? 'needs' : 'need'
  const text = `${names.length} ${verb} you: ${names.slice(0, namesShown).join(', ')}${more}`
  return color ? `${yellow}${text}${plain}` : text
}
