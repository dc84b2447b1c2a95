// Claude as an agent: one process for each live conversation, kept warm, so that a second message needs no start.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentRuntime, Conversation, ConversationOptions, Prompt, Resumable } from '../domain/agent.ts'
import { KeyedQueue } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Log } from '../domain/log.ts'
import type { UsageReport } from '../domain/usage-window.ts'
import type { Environment } from '../store/config-file.ts'
import type { SharedClaudeTranscripts } from '../store/storage.ts'
import type { StatePaths } from '../store/paths.ts'
import { processShape, type ProcessSettings } from './claude-options.ts'
import { makeStreamReader } from './claude-events.ts'
import { checkStartable, sessionInUse, cannotResume, ProcessStarter } from './claude-start.ts'
import { ClaudeConversation } from './conversation.ts'
import { claudeConfigDir, loginFilesOf, type Credential } from './credentials.ts'
import { childEnvironment } from './claude-program.ts'
import { otherWriter, TranscriptWatch } from './other-writers.ts'
import { Pool } from './pool.ts'
import { ProcessRegister } from './process-register.ts'
import { receivedPrompts, readRecords, tagTranscript, TranscriptStates } from './transcripts.ts'

export interface ClaudeAgentOptions {
  environment: Environment
  config: Pick<Config, 'claude' | 'timeZone'>
  paths: StatePaths
  credential: Credential | undefined
  clock: Clock
  log: Log
  version: string
  /** Called with what Claude reports about the windows of the subscription. */
  onUsage?: (report: UsageReport) => void
  /** Claude's transcripts, when several machines share them. */
  transcripts?: SharedClaudeTranscripts
  /** The cgroup in which each Claude process gets its own cgroup, where that is possible. */
  cgroups?: string
}

const spareDelayMs = 60_000

/** Ends the processes that a crashed Rockpool left behind, then opens the agent. */
export async function openClaudeAgent(options: ClaudeAgentOptions): Promise<AgentRuntime> {
  return new ClaudeAgent(options, await ProcessRegister.open(options))
}

class ClaudeAgent implements AgentRuntime {
  readonly kind = 'claude'
  readonly billing
  #options: ClaudeAgentOptions
  #configDir: string
  #register: ProcessRegister
  #pool: Pool<ClaudeConversation>
  #starter: ProcessStarter
  /** Opens of the same key wait for each other. */
  #opening = new KeyedQueue()
  #transcripts: TranscriptStates
  #cancelSpare: (() => void) | undefined
  #tagged = new Set<string>()

  constructor(options: ClaudeAgentOptions, register: ProcessRegister) {
    const { clock, log, config, transcripts } = options
    const { maxLive, maxStarts, idleMinutes } = config.claude
    const idleMs = idleMinutes * 60_000
    this.#options = options
    this.billing = options.credential?.billing ?? 'api'
    this.#configDir = claudeConfigDir(options.environment)
    this.#register = register
    this.#transcripts = new TranscriptStates(transcripts)
    this.#pool = new Pool(clock, { maxLive, maxStarts, idleMs })
    this.#starter = new ProcessStarter(settingsOf(options), register, { clock, log, idleMs })
  }

  open(options: ConversationOptions): Promise<Conversation> {
    return this.#opening.run(options.key, () => this.#open(options))
  }

  live(key: string): Conversation | undefined {
    const conversation = this.#pool.get(key)
    return conversation?.closed ? undefined : conversation
  }

  async resumable(sdkSessionId: string): Promise<Resumable> {
    if (this.#pool.all().some((conversation) => conversation.ids.has(sdkSessionId) && !conversation.closed))
      return { ok: true }
    const writer = this.#otherWriter(sdkSessionId)
    if (writer) {
      const reason = `Another Claude (process ${writer.pid} in ${writer.cwd}) has it open.`
      return { ok: false, why: 'in-use', reason }
    }
    return (await this.#transcripts.read(this.#configDir, sdkSessionId)).resumable
  }

  async received(
    sdkSessionId: string,
    prompts: ReadonlyArray<Pick<Prompt, 'uuid' | 'text'>>,
  ): Promise<Set<string>> {
    const { transcripts } = this.#options
    return receivedPrompts(prompts, await readRecords(this.#configDir, sdkSessionId, transcripts))
  }

  async prewarm(options: ConversationOptions): Promise<void> {
    await this.#starter.prewarm(options)
  }

  async close(): Promise<void> {
    this.#cancelSpare?.()
    this.#pool.close()
    await Promise.all(this.#pool.all().map((conversation) => conversation.close()))
    await this.#starter.close()
    await this.#register.close()
  }

  async #open(options: ConversationOptions): Promise<ClaudeConversation> {
    const live = this.#pool.get(options.key)
    const continues = live && !live.closed && isSameConversation(live, options)
    // A change that needs a new process waits until the running turn is over.
    if (continues && (live.busy || processShape(live.options) === processShape(options))) {
      this.#pool.reserve(options.key)
      await live.rebind(options)
      return live
    }
    if (live) await live.close()
    const resume = continues && live.sdkSessionId ? { sdkSessionId: live.sdkSessionId } : options.resume
    return this.#pool.start(options.key, options.pinned ?? false, () => this.#start({ ...options, resume }))
  }

  async #start(options: ConversationOptions): Promise<ClaudeConversation> {
    const { clock, log, config } = this.#options
    const { binary, silenceSeconds, toolSilenceSeconds, maxAnswerMinutes } = config.claude
    checkStartable(options, binary)
    const costBefore = options.resume ? await this.#takeOver(options.key, options.resume) : 0
    try {
      const started = await this.#starter.start(options)
      const conversation: ClaudeConversation = new ClaudeConversation({
        options,
        ...started,
        reader: makeStreamReader(costBefore),
        clock,
        log,
        timeZone: config.timeZone,
        silence: {
          seconds: silenceSeconds,
          toolSeconds: toolSilenceSeconds,
          answerMinutes: maxAnswerMinutes,
        },
        transcript: new TranscriptWatch(this.#configDir, (pid) => this.#isOurs(pid)),
        onSession: (sdkSessionId) => this.#register.leaseLater(sdkSessionId, options.key),
        onUsage: this.#options.onUsage,
        onTurn: () => {
          this.#pool.touch(options.key)
          this.#tag(conversation)
        },
      })
      started.binding.conversation = conversation
      void conversation.ended.then(() => this.#forget(conversation))
      if (!options.resume && !options.pinned && !options.ephemeral) this.#keepSpareLike(options)
      return conversation
    } catch (error) {
      if (options.resume) await this.#register.release(options.resume.sdkSessionId, options.key)
      throw error
    }
  }

  /** After a new conversation the next one is likely: starts a spare process for it. With a delay, so that a command that takes
   *  one turn and ends starts none. */
  #keepSpareLike(options: ConversationOptions): void {
    const { clock, log, config } = this.#options
    if (!config.claude.spare) return
    this.#cancelSpare?.()
    this.#cancelSpare = clock.after(spareDelayMs, () => {
      if (this.#pool.all().length >= config.claude.maxLive) return
      this.#starter.prewarm(options).catch((error: unknown) => {
        log.warn(
          { event: 'spare-start-failed', error: String(error) },
          'Could not start a spare Claude process; the next conversation starts without one.',
        )
      })
    })
  }

  /** Checks that it can be resumed and that no other process writes to it. Returns its cost so far. */
  async #takeOver(key: string, resume: NonNullable<ConversationOptions['resume']>): Promise<number> {
    const { sdkSessionId, fork } = resume
    const { resumable, costUsd } = await this.#transcripts.read(this.#configDir, sdkSessionId)
    if (!resumable.ok) throw cannotResume(resumable.reason)
    // A fork only reads.
    if (fork) return costUsd
    const lease = await this.#register.lease(sdkSessionId, key)
    if (!lease.taken)
      throw sessionInUse(sdkSessionId, `${lease.holder.key} of Rockpool's process ${lease.holder.pid}`)
    const writer = this.#otherWriter(sdkSessionId)
    if (!writer) return costUsd
    await this.#register.release(sdkSessionId, key)
    throw sessionInUse(sdkSessionId, `Claude Code's process ${writer.pid} in ${writer.cwd}`)
  }

  #otherWriter(sdkSessionId: string): { pid: number; cwd: string } | undefined {
    return otherWriter(this.#configDir, sdkSessionId, (pid) => this.#isOurs(pid))
  }

  #isOurs(pid: number): boolean {
    return this.#pool.all().some((conversation) => conversation.pid === pid)
  }

  /** Each id that Claude gave the conversation gets the tag once. */
  #tag({ options, sdkSessionId }: ClaudeConversation): void {
    const { tag } = options
    if (tag === undefined || sdkSessionId === undefined || this.#tagged.has(sdkSessionId)) return
    this.#tagged.add(sdkSessionId)
    this.#register.writeLater(async () => {
      if (!(await tagTranscript(this.#configDir, sdkSessionId, tag))) this.#tagged.delete(sdkSessionId)
    })
  }

  #forget(conversation: ClaudeConversation): void {
    this.#pool.remove(conversation)
    for (const id of conversation.ids) this.#register.releaseLater(id, conversation.key)
  }
}

/** Do the options mean the live conversation? Without an id they mean a new one, unless the live one has no id yet either. */
function isSameConversation(live: ClaudeConversation, { resume, newSdkSessionId }: ConversationOptions) {
  if (resume) return !resume.fork && live.ids.has(resume.sdkSessionId)
  return live.sdkSessionId === undefined || live.sdkSessionId === newSdkSessionId
}

function settingsOf(options: ClaudeAgentOptions): ProcessSettings {
  const { environment, config, paths, credential, version, transcripts, cgroups } = options
  const { maxRetries, passEnvironment, binary } = config.claude
  const temporaryDirectory = paths.claudeTemporary
  mkdirSync(temporaryDirectory, { recursive: true, mode: 0o700 })
  const child = { credential, temporaryDirectory, maxRetries, passEnvironment, version }
  return {
    env: childEnvironment(environment, child),
    credential,
    cgroups,
    sessionStore: transcripts?.sdkStore,
    binary,
    deniedPaths: [...deniedPathsOf(paths), ...loginFilesOf(environment)],
  }
}

/** Our own state, without the workspaces and received media in it, which agents may use. */
function deniedPathsOf(paths: StatePaths): string[] {
  return [
    join(paths.credentials, '**'),
    join(paths.logs, '**'),
    join(paths.root, '*.sqlite*'),
    join(paths.root, '*.json'),
    join(paths.root, 'index', '**'),
    join(paths.root, 'claude', 'processes*'),
    join(paths.root, 'agents', '*', 'sessions', '**'),
  ]
}
