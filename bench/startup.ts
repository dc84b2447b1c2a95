// How long small commands take, against a Node that does nothing. The program is the built one; both run on this
// Node directly, without extra certificates, which alone would cost more than the command.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fillStateDir } from './gateway/many-sessions.ts'
import { atMost, type BenchResult } from './result.ts'

const program = join(import.meta.dirname, '../bin/rockpool.js')
const rounds = 25
const how = `medians of ${rounds} runs, in turns`
/** What Claude Code writes to its status line; other commands do not read it. */
const claudeState = JSON.stringify({
  model: { id: 'claude-sonnet-5-5' },
  context_window: { current_usage: { input_tokens: 4, cache_read_input_tokens: 90_000, output_tokens: 900 } },
  rate_limits: { five_hour: { used_percentage: 61.7, resets_at: 2_000_000_000 } },
})

export async function bench(): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-startup-'))
  try {
    await fillStateDir(dir, 10_000)
    const commands = {
      nothing: ['-e', '0'],
      version: [program, '--version'],
      sessions: [program, 'sessions', '--json'],
      statusline: [program, 'statusline'],
    }
    timeOf([program, 'statusline', '--refresh'], dir)
    const best = measure(commands, dir)
    return [
      ratio('rockpool --version', best['version']!, best['nothing']!, 1.5),
      ratio('rockpool sessions --json, 10,000 sessions', best['sessions']!, best['nothing']!, 2),
      ratio('rockpool statusline, with what Claude Code reports', best['statusline']!, best['nothing']!, 1.5),
      atMost('rockpool statusline', best['statusline']!, 50, 'ms', how),
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The median of each, taken in turns so that a busy moment strikes all alike. */
function measure(commands: Record<string, string[]>, dir: string): Record<string, number> {
  const times: Record<string, number[]> = {}
  for (let round = 0; round <= rounds; round++) {
    for (const [name, args] of Object.entries(commands)) {
      const ms = timeOf(args, dir)
      // The first round fills caches.
      if (round > 0) (times[name] ??= []).push(ms)
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]))
}

function timeOf(args: string[], dir: string): number {
  const { NODE_EXTRA_CA_CERTS: _unused, ...rest } = process.env
  const started = performance.now()
  const { status } = spawnSync(process.execPath, args, {
    env: { ...rest, HOME: dir, ROCKPOOL_STATE_DIR: dir },
    input: claudeState,
    // A program reads what the commands print.
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`)
  return performance.now() - started
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function ratio(name: string, ms: number, floor: number, limit: number): BenchResult {
  const value = ms / floor
  return {
    name,
    measured: `${value.toFixed(2)}x (${ms.toFixed(0)} ms, node -e 0 ${floor.toFixed(0)} ms)`,
    wanted: `at most ${limit}x`,
    ok: value <= limit,
    how,
  }
}
