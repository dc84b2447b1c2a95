// Choosing a session without a model: how long it takes among 2,000, and how often it is the one that was resumed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { evaluateSelection } from '../src/discovery/evaluate.ts'
import { discoveredSession } from '../test/support/discovered-session.ts'
import { searchOfHistory, writeWorkHistory } from '../test/support/selection-history.ts'
import { systemClock } from '../src/domain/clock.ts'
import { sessionSelectionConfig } from '../src/domain/config/coding-settings.ts'
import { silentLog } from '../src/domain/log.ts'
import type { ProjectStatus } from '../src/domain/project-status.ts'
import { pricesOf } from '../src/discovery/model-prices.ts'
import { priceSession } from '../src/discovery/price-table.ts'
import { selectSession } from '../src/discovery/select.ts'
import type { BenchResult } from './result.ts'

const count = 2_000
const rounds = 21

export async function bench(): Promise<BenchResult[]> {
  return [await benchSpeed(), await benchChoice()]
}

/** Against a history in which it is known what was resumed. */
async function benchChoice(): Promise<BenchResult> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-select-'))
  try {
    const { sessions } = writeWorkHistory(folder)
    const discovery = { list: async () => ({ total: sessions.length, sessions }) }
    const { find, close } = await searchOfHistory(folder, sessions)
    const { results, resumed } = await evaluateSelection(discovery, { threshold: 0.6, find })
    await close()
    const [selection, recent, words] = results
    const shown = results.map(
      ({ method, hitRate, mrr }) => `${method} ${hitRate.toFixed(2)} / ${mrr.toFixed(2)}`,
    )
    return {
      name: 'what was resumed came first: hit rate / mean reciprocal rank',
      measured: shown.join(', '),
      wanted: 'above most recent and keywords',
      ok: selection!.mrr > Math.max(recent!.mrr, words!.mrr) && selection!.hitRate >= words!.hitRate,
      how: `${resumed} resumes over ${sessions.length} sessions of a made history, without a model`,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function benchSpeed(): Promise<BenchResult> {
  const now = Date.now()
  const words =
    'login form parser cache index gateway session transcript channel reply queue budget price'.split(' ')
  const sessions = Array.from({ length: count }, (_, at) =>
    discoveredSession({
      sessionId: `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`,
      branch: at % 3 === 0 ? 'main' : `feature-${at % 40}`,
      firstMessage: `Repair the ${words[at % words.length]} and the ${words[(at * 7) % words.length]} of part ${at}, then test everything again`,
      lastModified: new Date(now - at * 60_000),
      messageCount: at % 700,
      compactionCount: at % 4,
      model: 'claude-sonnet-4-5-20250929',
      contextTokens: (at * 97) % 190_000,
    }),
  )
  const sources = {
    discovery: { list: async () => ({ total: count, sessions }) },
    clock: systemClock,
    log: silentLog,
    atWork: () => [],
    awaitingInput: () => [],
    atOnce: 1,
    priceOf: (session: (typeof sessions)[number]) => priceSession(session, pricesOf, now),
  }
  const request = {
    task: 'Repair the login form and the parser',
    projectStatus: emptyStatus(),
    config: sessionSelectionConfig.parse({}),
  }
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const started = performance.now()
    await selectSession(sources, request)
    times.push(performance.now() - started)
  }
  const median = times.sort((a, b) => a - b)[rounds >> 1]!
  return {
    name: 'selection without a model, 2,000 sessions',
    measured: `${median.toFixed(1)} ms`,
    wanted: 'at most 50 ms',
    ok: median <= 50,
    how: `median of ${rounds} selections, scoring and pricing all ${count} candidates`,
  }
}

function emptyStatus(): ProjectStatus {
  return {
    repo: { path: '/repo', name: 'repo', isGitRepo: true },
    git: {
      currentBranch: 'main',
      headCommitSha: '',
      headCommitMessage: '',
      uncommittedChanges: [],
      stagedChanges: [],
      conflicts: [],
      stashCount: 0,
      recentCommits: [],
      worktrees: [{ path: '/repo' }],
    },
    sessions: { active: [], recent: [], ownRecent: [] },
    docs: { hasClaudeMd: false, hasSpecs: false, specFiles: [], hasTodo: false, hasReadme: false },
    timestamp: new Date(0).toISOString(),
    problems: [],
  }
}
