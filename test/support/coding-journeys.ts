// The built program with the real Claude binary, for journeys of coding sessions over several processes.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import type { Approval, CodingSession } from '../../src/domain/coding-session.ts'
import { isRunningClaude } from './claude-processes.ts'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { inline, startMessagesApi } from './messages-api.ts'
import type { MessagesApi, Step } from './messages-api.ts'
import { makeHome } from './program.ts'
import type { Home, Ran, Running } from './program.ts'

export interface Journeys {
  api: MessagesApi
  claude: ClaudeHome
  run(...args: string[]): Promise<Ran>
  /** `cc launch` in a repository of its own, with these steps. */
  launch(steps: Step[], ...more: string[]): Promise<Ran>
  /** The same, while it runs. */
  begin(steps: Step[], ...more: string[]): Running
  newRepo(): string
  startGateway(): Promise<Running>
  /** Rows as they are on disk: asking the program again and again would cost more than the sessions. */
  stored(ref: string): CodingSession
  untilStored(ref: string, wanted: Partial<CodingSession>): Promise<CodingSession>
  asked(): Approval[]
  noticesOf(id: string): string[]
  isClaudeRunning(): boolean
}

const waiting = { timeout: 60_000, interval: 50 }

export function codingJourneys(): Journeys {
  const journeys = {} as Journeys
  const started: Running[] = []
  let home: Home
  beforeAll(async () => {
    const api = await startMessagesApi()
    const claude = makeClaudeHome({ apiUrl: api.url, name: 'coding' })
    home = makeHome()
    Object.assign(journeys, makeJourneys(api, claude, home, started))
  })
  afterAll(async () => {
    // A test that failed has left its gateway.
    for (const { child } of started) child.kill('SIGKILL')
    await journeys.api.close()
    journeys.claude.remove()
    home.remove()
  })
  return journeys
}

function makeJourneys(api: MessagesApi, claude: ClaudeHome, home: Home, started: Running[]): Journeys {
  const run = (...args: string[]): Promise<Ran> => home.run(args, claude.variables)
  const newRepo = (): string => mkdtempSync(join(claude.root, 'repo-'))
  const begin = (steps: Step[], ...more: string[]): Running => {
    const about = ['--repo', newRepo(), '--model', testModel, '--fresh', ...more]
    return home.start(['cc', 'launch', inline(...steps), ...about], claude.variables)
  }
  const rows = <T>(sql: string): T[] => {
    const db = new DatabaseSync(join(claude.stateDir, 'rockpool.sqlite'), { readOnly: true })
    const found = db.prepare(sql).all()
    db.close()
    return found as T[]
  }
  const sessions = (): CodingSession[] =>
    rows<{ record: string }>('SELECT record FROM coding_session ORDER BY created_at DESC').map(
      ({ record }) => JSON.parse(record) as CodingSession,
    )
  const stored = (ref: string): CodingSession => {
    const found = sessions().find(({ id, name }) => id === ref || name === ref)
    if (!found) throw new Error(`no session ${ref} on disk`)
    return found
  }
  return {
    api,
    claude,
    run,
    newRepo,
    stored,
    launch: (steps, ...more) => begin(steps, ...more).ended,
    begin,
    async startGateway() {
      const up = home.start(['up', '--port', '0', '--json'], claude.variables)
      started.push(up)
      await up.line
      return up
    },
    async untilStored(ref, wanted) {
      await vi.waitFor(() => expect(stored(ref)).toMatchObject(wanted), waiting)
      return stored(ref)
    },
    asked: () =>
      rows<{ record: string }>("SELECT record FROM approval WHERE state = 'pending'").map(
        ({ record }) => JSON.parse(record) as Approval,
      ),
    noticesOf: (id) =>
      rows<object>('SELECT * FROM outbox')
        .map((row) => JSON.stringify(row))
        .filter((row) => row.includes(id)),
    isClaudeRunning: () => isRunningClaude(claude.root),
  }
}

/** A command that would run for two minutes. */
export const sleeping: Step = {
  tools: [{ name: 'Bash', input: { command: 'python3 -c "import time; time.sleep(120)"' } }],
}
