// Everything between a platform and the agent, put together for a test: real stores in a temporary folder, an in-memory
// channel, and whichever agent the test brings.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeOfflineAgent } from '../../src/agent/offline.ts'
import type { Access } from '../../src/domain/access.ts'
import type { AgentRuntime } from '../../src/domain/agent.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { Config } from '../../src/domain/config.ts'
import { configSchema } from '../../src/domain/config.ts'
import type { Events } from '../../src/domain/events.ts'
import { makeEvents } from '../../src/domain/events.ts'
import type { Message } from '../../src/domain/message.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { TranscriptEntry } from '../../src/domain/transcript.ts'
import { Converse } from '../../src/flow/converse.ts'
import type { FlowParts } from '../../src/flow/flow-parts.ts'
import { recoverWork } from '../../src/flow/turn-recovery.ts'
import type { StatePaths } from '../../src/store/paths.ts'
import { statePaths } from '../../src/store/paths.ts'
import type { SessionStore, TranscriptStore } from '../../src/store/session-store.ts'
import { openStateDatabase } from '../../src/store/sqlite/state-database.ts'
import { openSessionStore, openTranscriptStore } from '../../src/store/open.ts'
import { transcriptOf } from '../../src/store/transcripts/transcript-paths.ts'
import { sqliteWork } from '../../src/store/sqlite/work.ts'
import type { WorkStore } from '../../src/store/work-store.ts'
import { MemoryChannel } from './memory-channel.ts'
import type { MemoryChannelOptions } from './memory-channel.ts'

export interface FlowBenchOptions {
  /** An existing state folder: a restart. */
  folder?: string
  config?: Record<string, unknown>
  channel?: MemoryChannelOptions
  runtime?: AgentRuntime
  clock?: Clock
  access?: (message: Message) => Access
  parts?: Partial<FlowParts>
}

export interface FlowBench {
  folder: string
  paths: StatePaths
  config: Config
  events: Events
  channel: MemoryChannel
  converse: Converse
  work: WorkStore
  sessions: SessionStore
  transcripts: TranscriptStore
  runtime: AgentRuntime
  /** Everything that was accepted is answered and sent. */
  settled(): Promise<void>
  /** A turn of this lane runs, for a message that comes now and on record for a restart. */
  untilTurnRuns(lane: string): Promise<void>
  /** The agent works on a message of this lane, and that is on record for a restart. */
  untilAsked(lane: string): Promise<void>
  /** The transcript of a session, in order. */
  transcript(key: string): Promise<TranscriptEntry[]>
  /** Stops as a daemon would; the folder stays. */
  stop(): Promise<void>
  remove(): void
}

export async function openFlow(options: FlowBenchOptions = {}): Promise<FlowBench> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'rockpool-flow-'))
  const paths = statePaths(folder)
  const config = configSchema.parse(options.config ?? {})
  const clock = options.clock ?? systemClock
  const errors: unknown[] = []
  const events = makeEvents((error) => errors.push(error))
  const database = openStateDatabase(paths.database)
  const work = sqliteWork(database, clock)
  const sessions = openSessionStore('main', { config, paths, clock, log: silentLog })
  const transcripts = openTranscriptStore('main', { config, paths, clock, events })
  const runtime = options.runtime ?? makeOfflineAgent({ clock, directions: true })
  const channel = new MemoryChannel(options.channel)
  const workspace = paths.workspace('main')
  mkdirSync(workspace, { recursive: true })
  const allow: Access = { kind: 'allowed', owner: true, byOwner: true, requireMention: true }
  const converse = new Converse({
    config,
    clock,
    log: silentLog,
    events,
    work,
    sessions: () => sessions,
    transcripts: () => transcripts,
    runtime,
    access: {
      check: async (message) => options.access?.(message) ?? allow,
      decide: (message) => options.access?.(message) ?? allow,
    },
    channelFor: ({ channel: name, accountId }) =>
      name === channel.name && accountId === channel.accountId ? channel : undefined,
    defaultAgentId: () => 'main',
    agentOf: (id) => ({
      id,
      name: 'Rocky',
      workspace,
      settingSources: [],
      model: config.agents.defaults.model,
    }),
    isOwners: () => true,
    hasAccess: () => true,
    noteCopies: paths.noteCopies,
    self: `test-${process.pid}`,
    isAlive: () => false,
    ...options.parts,
  })
  await recoverWork(converse, work, converse.parts)
  await channel.start((message) => converse.accept(message))
  return {
    folder,
    paths,
    config,
    events,
    channel,
    converse,
    work,
    sessions,
    transcripts,
    runtime,
    settled: () => converse.idle(),
    async untilTurnRuns(lane) {
      const runs = async (): Promise<boolean> =>
        converse.queue.busyLanes().includes(lane) &&
        (await work.lanes.running()).some((turn) => turn.lane === lane)
      while (!(await runs())) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    async untilAsked(lane) {
      const isAsked = async (): Promise<boolean> =>
        (await work.lanes.running()).some(
          (turn) => turn.lane === lane && turn.inputs.every(({ asked }) => asked > 0),
        )
      while (!(await isAsked())) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    async transcript(key) {
      const { parts } = converse
      const entry = await parts.sessions('main').get(key)
      const store = parts.transcripts('main')
      const entries: TranscriptEntry[] = []
      if (!entry || !(await store.exists(transcriptOf({ key, entry })))) return entries
      for await (const line of store.read(transcriptOf({ key, entry }))) entries.push(line)
      return entries
    },
    async stop() {
      await channel.stop()
      await converse.close()
      await converse.deliverer.stop()
      await runtime.close()
      await transcripts.close()
      await sessions.close()
      await database.close()
      if (errors.length > 0) throw errors[0]
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  }
}

/** The words of a transcript: `user: hello`, `assistant: hi`. */
export function wordsOf(entries: readonly TranscriptEntry[]): string[] {
  return entries.flatMap((entry) => {
    if (entry.type !== 'message') return []
    const { role, content } = entry.message as {
      role: string
      content: string | Array<{ type: string; text?: string; name?: string }>
    }
    if (typeof content === 'string') return [`${role}: ${content}`]
    return content.map((block) => `${role}: ${block.text ?? `<${block.type} ${block.name ?? ''}>`}`)
  })
}
