// What we write, given to the importer of a real OpenClaw, and what it made of it, read back by ours.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/domain/clock.ts'
import { configSchema } from '../../src/domain/config.ts'
import { makeEvents } from '../../src/domain/events.ts'
import { silentLog } from '../../src/domain/log.ts'
import { importOpenClaw } from '../../src/store/openclaw/openclaw-import.ts'
import { statePaths } from '../../src/store/paths.ts'
import type { SessionStore, TranscriptStore } from '../../src/store/session-store.ts'
import { openSessionStore, openTranscriptStore } from '../../src/store/open.ts'
import { peerProgram } from '../support/peer-program.ts'
import { answered, said } from '../support/talk.ts'

const keys = [
  'agent:main:main',
  'agent:main:telegram:direct:1001',
  'agent:main:whatsapp:group:120363000000000000@g.us',
  'agent:main:slack:channel:c1:thread:t123',
  'agent:main:subagent:0f5a1c1e-0000-4000-8000-000000000001',
]

test('OpenClaw imports our sessions without an issue, and they come back as they were', async (ctx) => {
  const peer = peerProgram('openclaw@2026.9.6', 'openclaw')
  const program = 'path' in peer ? peer.path : ctx.skip(peer.missing)
  const root = mkdtempSync(join(tmpdir(), 'rockpool-peer-'))
  try {
    const theirs = join(root, 'theirs')
    const written = openIn(theirs)
    for (const [i, key] of keys.entries()) {
      const sessionId = `bbbbbbbb-0000-4000-8000-00000000000${i}`
      await written.transcripts.append({ sessionId }, [said(`hello ${i}`), answered('hi')], {
        cwd: '/home/dev',
      })
      await written.sessions.update(key, () => ({
        sessionId,
        updatedAt: 1_790_000_000_000 + i,
        ...(i === 1 ? { label: 'work' } : {}),
        sdkSessionId: 'sdk',
        unknownToThem: { a: [1, 2] },
        skillsSnapshot: { prompt: 'p', skills: [] },
      }))
    }
    await written.sessions.close()
    const imported = runOpenClaw(program, theirs, ['doctor', '--session-sqlite', 'import'])
    expect(imported).toContain(`${keys.length} legacy entries, ${keys.length} sqlite entries, 0 issue(s)`)

    const back = openIn(join(root, 'back'))
    const folder = (agentId: string): string => statePaths(join(root, 'back')).sessions(agentId)
    const report = await importOpenClaw(theirs, {
      dryRun: false,
      clock: systemClock,
      sessions: () => back.sessions,
      folder,
    })
    expect(report.agents[0]).toMatchObject({ kind: 'sqlite', sessions: { added: keys.length }, problems: [] })
    for (const key of keys) {
      const entry = (await back.sessions.get(key))!
      expect(entry).toMatchObject({ sdkSessionId: 'sdk', unknownToThem: { a: [1, 2] } })
      const { entries } = await back.transcripts.tail({ sessionId: entry.sessionId }, 10)
      expect(entries.map((one) => one.type)).toEqual(['message', 'message'])
    }
    await back.sessions.close()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

function openIn(root: string): { sessions: SessionStore; transcripts: TranscriptStore } {
  const parts = {
    config: configSchema.parse({}),
    paths: statePaths(root),
    clock: systemClock,
    log: silentLog,
    events: makeEvents(() => {}),
  }
  return { sessions: openSessionStore('main', parts), transcripts: openTranscriptStore('main', parts) }
}

function runOpenClaw(program: string, stateDir: string, args: string[]): string {
  // Not the test runner's variables: with them it says nothing.
  const env = { PATH: process.env['PATH'], HOME: stateDir, OPENCLAW_STATE_DIR: stateDir }
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env, timeout: 300_000 })
  return stdout + stderr
}
