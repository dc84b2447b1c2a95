// Sessions and transcripts copied from SQLite to PostgreSQL and back into another SQLite.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { SessionEntry } from '../../src/domain/session.ts'
import type { TranscriptEntry } from '../../src/domain/transcript.ts'
import { copyAgent } from '../../src/sessions/copy-store.ts'
import type { CopyReport, StorePair } from '../../src/sessions/copy-store.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { PostgresSessions } from '../../src/store/postgres/sessions.ts'
import { PostgresTranscripts } from '../../src/store/postgres/transcript-store.ts'
import { SqliteSessions } from '../../src/store/sqlite/sessions.ts'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'
import { makeClaudeHome } from './claude-home.ts'
import { startProgram } from './program.ts'
import { answered, said } from './talk.ts'

export interface Contents {
  sessions: Map<string, SessionEntry>
  transcripts: Map<string, TranscriptEntry[]>
  archives: string[]
}

/** What was there, what came back, and what the second of two equal copies did. */
export async function copyBackAndForth(
  url: string,
  count: number,
): Promise<{ before: Contents; after: Contents; there: CopyReport; again: CopyReport; back: CopyReport }> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-copy-'))
  const postgres = new Postgres({ url, schema: 'copied', clock: systemClock, log: silentLog })
  const shared: StorePair = {
    sessions: new PostgresSessions('main', postgres),
    transcripts: new PostgresTranscripts(postgres, { agentId: 'main', dir: folder, clock: systemClock }),
  }
  const first = onDisk(join(folder, 'first'))
  const second = onDisk(join(folder, 'second'))
  try {
    await fill(first, count)
    const there = await copied(first, shared)
    const again = await copied(first, shared)
    // Meanwhile the conversation continued here; the next copy has that too.
    await first.transcripts.append({ sessionId: 'id-3' }, [said('later')], { cwd: '/home/dev/workspace' })
    await copied(first, shared)
    const back = await copied(shared, second)
    return { before: await contentsOf(first), after: await contentsOf(second), there, again, back }
  } finally {
    for (const pair of [first, second]) await pair.sessions.close()
    await postgres.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The real command, killed again and again in the middle of it, until it comes to its end; and back to another machine. */
export async function importBetweenKills(
  url: string,
  count: number,
): Promise<{ before: Contents; after: Contents; kills: number }> {
  const homes = ['from', 'to'].map((name) => makeClaudeHome({ apiUrl: 'http://127.0.0.1:9', name }))
  const pairs = homes.map(({ stateDir, variables }) => {
    variables['ROCKPOOL_DATABASE_URL'] = url
    return onDisk(join(stateDir, 'agents', 'main', 'sessions'))
  })
  try {
    await fill(pairs[0]!, count)
    let kills = 0
    for (;;) {
      const { child, ended } = startProgram(['db', 'import', '--json'], homes[0]!.variables)
      // Longer each time: a fast machine is hit often enough, and a slow one comes to its end.
      const timer = setTimeout(() => child.kill('SIGKILL'), 200 * 1.5 ** kills)
      const { code, stdout } = await ended
      clearTimeout(timer)
      if (code === 0) break
      if (child.signalCode !== 'SIGKILL') throw new Error(`The import ended with ${code}: ${stdout}`)
      kills += 1
    }
    const { code, stdout } = await startProgram(['db', 'export', '--json'], homes[1]!.variables).ended
    if (code !== 0) throw new Error(`The export ended with ${code}: ${stdout}`)
    return { before: await contentsOf(pairs[0]!), after: await contentsOf(pairs[1]!), kills }
  } finally {
    for (const { sessions } of pairs) await sessions.close()
    for (const home of homes) home.remove()
  }
}

function onDisk(dir: string): StorePair {
  const parts = { clock: systemClock, log: silentLog, durability: 'relaxed' as const }
  const places = { database: join(dir, 'sessions.sqlite'), mirror: join(dir, 'sessions.json') }
  return {
    sessions: new SqliteSessions({ agentId: 'main', ...places, ...parts }),
    transcripts: new FileTranscripts({ agentId: 'main', dir, durability: 'relaxed' }),
  }
}

async function fill({ sessions, transcripts }: StorePair, count: number): Promise<void> {
  const cwd = '/home/dev/workspace'
  const makeOne = async (n: number): Promise<void> => {
    const sessionId = `id-${n}`
    const ref = { sessionId, ...(n % 50 === 0 ? { topicId: `t/${n}` } : {}) }
    await transcripts.append(ref, [said(`question ${n} 🦞\u0000`), answered(`answer ${n}`)], { cwd })
    if (n % 100 === 1) await transcripts.archive(ref, 'reset')
    if (n % 100 === 2) await transcripts.fork(ref, { sessionId: `fork-${n}` })
    const entry = {
      sessionId,
      updatedAt: n,
      label: `label ${n}`,
      unknown: { n },
      skillsSnapshot: { prompt: 'p', skills: [] },
    }
    await sessions.update(`agent:main:telegram:direct:${n}`, () => entry)
  }
  for (let n = 0; n < count; n += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - n) }, (_, i) => makeOne(n + i)))
}

async function copied(from: StorePair, to: StorePair): Promise<CopyReport> {
  const report = { sessions: 0, unchanged: 0, transcripts: 0, archives: 0, entries: 0, problems: [] }
  await copyAgent(from, to, report, () => {})
  return report
}

async function contentsOf({ sessions, transcripts }: StorePair): Promise<Contents> {
  const contents: Contents = { sessions: new Map(), transcripts: new Map(), archives: [] }
  for await (const { key, entry } of sessions.entries()) contents.sessions.set(key, entry)
  for (const ref of await transcripts.list()) {
    const entries: TranscriptEntry[] = []
    for await (const entry of transcripts.read(ref)) entries.push(entry)
    contents.transcripts.set(`${ref.sessionId} ${ref.topicId ?? ''}`, entries)
  }
  contents.archives = (await transcripts.archives()).map(({ name }) => name).sort()
  return contents
}
