// An agent program as a runtime: conversations whose turns are processes of the program. The program's own files say what a session
// has received and spent; discovery reads them and is passed in.
import { mkdirSync } from 'node:fs'
import type {
  AgentRuntime,
  Conversation,
  ConversationOptions,
  OtherAgent,
  PermissionMode,
  Prompt,
  Resumable,
} from '../../domain/agent.ts'
import { KeyedQueue } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Config } from '../../domain/config.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Environment } from '../../store/config-file.ts'
import { findOwnCgroup } from '../../store/disk/cgroup.ts'
import type { StatePaths } from '../../store/paths.ts'
import { passedVariables } from '../claude-program.ts'
import { ProcessRegister } from '../process-register.ts'
import { spawnProcess, type AgentProcess } from '../process.ts'
import type { AgentProgram, ProgramTurn } from './program.ts'
import { ProgramConversation } from './program-conversation.ts'
import type { Spent, TurnParts } from './program-turn.ts'
import { checkProgramOptions, findProgram, noticeOf, programOf } from './programs.ts'

interface ProgramRuntimeParts {
  environment: Environment
  /** The configuration in force. */
  readonly config: Pick<Config, 'claude' | 'coding'>
  paths: StatePaths
  clock: Clock
  log: Log
  files: SessionFiles
}

/** The facts in the session files of a program. */
export interface SessionFiles {
  /** Undefined if there is no such session. `pid`: the process that has it open. */
  find(sessionId: string): Promise<(Spent & { pid?: number }) | undefined>
  /** The prompts of the session, in their order. */
  prompts(sessionId: string): Promise<string[]>
}

export async function openProgram(kind: OtherAgent, parts: ProgramRuntimeParts): Promise<AgentRuntime> {
  const cgroups = findOwnCgroup()
  return new ProgramRuntime(
    programOf(kind),
    parts,
    await ProcessRegister.open({ ...parts, cgroups }),
    cgroups,
  )
}

class ProgramRuntime implements AgentRuntime {
  readonly kind
  readonly billing = 'api'
  #program: AgentProgram
  #parts: ProgramRuntimeParts
  #register: ProcessRegister
  #cgroups: string | undefined
  #live = new Map<string, ProgramConversation>()
  #opening = new KeyedQueue()

  constructor(
    program: AgentProgram,
    parts: ProgramRuntimeParts,
    register: ProcessRegister,
    cgroups: string | undefined,
  ) {
    this.kind = program.kind
    this.#program = program
    this.#parts = parts
    this.#register = register
    this.#cgroups = cgroups
  }

  open(options: ConversationOptions): Promise<Conversation> {
    return this.#opening.run(options.key, async () => {
      this.#check(options)
      const live = this.live(options.key)
      if (!live) return this.#start(options)
      live.rebind(options)
      return live
    })
  }

  live(key: string): ProgramConversation | undefined {
    const conversation = this.#live.get(key)
    return conversation?.closed ? undefined : conversation
  }

  async resumable(sessionId: string): Promise<Resumable> {
    const found = await this.#parts.files.find(sessionId)
    const { name } = this.#program
    if (!found) return { ok: false, why: 'gone', reason: `${name} has no session ${sessionId}.` }
    if (found.pid === undefined || this.#isOurs(found.pid)) return { ok: true }
    return { ok: false, why: 'in-use', reason: `${name} has it open in process ${found.pid}.` }
  }

  /** These programs record no id of ours, so the text decides. */
  async received(
    sessionId: string,
    prompts: ReadonlyArray<Pick<Prompt, 'uuid' | 'text'>>,
  ): Promise<Set<string>> {
    const recorded = new Set((await this.#parts.files.prompts(sessionId)).map((text) => text.trim()))
    return new Set(prompts.filter(({ text }) => recorded.has(text.trim())).map(({ uuid }) => uuid))
  }

  notice(mode: PermissionMode): string {
    return noticeOf(this.#program, mode)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#live.values()].map((conversation) => conversation.close()))
    await this.#register.close()
  }

  #check(options: ConversationOptions): void {
    findProgram(this.#program, this.#settings, this.#parts.environment)
    const { permissionMode, allowedTools, thinkingLevel: thinking, systemPromptAppend, resume } = options
    checkProgramOptions(this.#program, {
      permissionMode,
      allowedTools,
      thinking,
      systemPrompt: systemPromptAppend,
      fork: resume?.fork,
    })
  }

  get #settings() {
    return this.#parts.config.coding.programs[this.#program.kind] ?? { passEnvironment: [] }
  }

  async #start(options: ConversationOptions): Promise<ProgramConversation> {
    const { key, resume } = options
    if (resume && !resume.fork) await this.#takeLease(resume.sdkSessionId, key)
    const conversation: ProgramConversation = new ProgramConversation({
      options,
      start: (turn) => this.#spawn(key, turn),
      turnParts: (sessionId) => this.#turnParts(options, sessionId),
      onSession: (sessionId) => this.#register.leaseLater(sessionId, key),
      onEnd: () => {
        for (const id of conversation.ids) this.#register.releaseLater(id, key)
        if (this.#live.get(key) === conversation) this.#live.delete(key)
      },
    })
    this.#live.set(key, conversation)
    return conversation
  }

  /** Most of these programs let two processes write to one session, and lose turns. */
  async #takeLease(sessionId: string, key: string): Promise<void> {
    const lease = await this.#register.lease(sessionId, key)
    if (lease.taken) return
    const { pid, key: holder } = lease.holder
    throw new RockpoolError(
      'busy',
      `${holder} of Rockpool's process ${pid} has the session ${sessionId} open.`,
      {
        hint: 'Wait for it, or fork the session.',
      },
    )
  }

  async #turnParts(
    { model, beforeTool }: ConversationOptions,
    sessionId: () => string | undefined,
  ): Promise<Omit<TurnParts, 'process' | 'onSession'>> {
    const { clock, config, files } = this.#parts
    const { toolSilenceSeconds, maxAnswerMinutes } = config.claude
    const spent = async (): Promise<Spent | undefined> => {
      const id = sessionId()
      return id === undefined ? undefined : files.find(id)
    }
    return {
      program: this.#program,
      clock,
      model,
      beforeTool,
      // They report less than Claude does: nothing while the model writes.
      silence: {
        seconds: toolSilenceSeconds,
        toolSeconds: toolSilenceSeconds,
        answerMinutes: maxAnswerMinutes,
      },
      spent,
      spentBefore: this.#program.countsInFiles ? await spent() : undefined,
    }
  }

  #spawn(key: string, turn: Omit<ProgramTurn, 'folder'>): AgentProcess {
    const { environment, paths } = this.#parts
    const folder = paths.claudeTemporary
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const command = findProgram(this.#program, this.#settings, environment)
    const { args, variables } = this.#program.commandFor({ ...turn, folder })
    const passed = passedVariables(environment, [
      ...this.#program.variables,
      ...this.#settings.passEnvironment,
    ])
    const env = { ...passed, TMPDIR: folder, ...variables }
    const { signal } = new AbortController()
    const process = spawnProcess({ command, args, cwd: turn.cwd, env, signal }, this.#cgroups)
    this.#register.add(process, key)
    return process
  }

  #isOurs(pid: number): boolean {
    return [...this.#live.values()].some((conversation) => conversation.pid === pid)
  }
}
