// A conversation with an agent program. Between turns no process runs: each turn starts one that continues the session by its id. What
// these programs cannot do: take a message while they work, ask a person, change the model or the mode of a running turn.
import type { Conversation, ConversationEnd, ConversationOptions, Prompt } from '../../domain/agent.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import type { AgentProcess } from '../process.ts'
import type { ProgramTurn } from './program.ts'
import { ProgramTurnRun, type TurnParts } from './program-turn.ts'

interface ConversationParts {
  options: ConversationOptions
  /** Starts the process of one turn. */
  start: (turn: Omit<ProgramTurn, 'folder'>) => AgentProcess
  turnParts: (sessionId: () => string | undefined) => Promise<Omit<TurnParts, 'process' | 'onSession'>>
  /** The session has this id from now on. */
  onSession: (sessionId: string) => void
  onEnd: () => void
}

export class ProgramConversation implements Conversation {
  readonly key: string
  readonly ended: Promise<ConversationEnd>
  /** All ids that the session had. */
  readonly ids = new Set<string>()
  #parts: ConversationParts
  #end: ConversationEnd | undefined
  #finish: (end: ConversationEnd) => void
  #sessionId: string | undefined
  #process: AgentProcess | undefined
  #turn: ProgramTurnRun | undefined
  #running: Promise<TurnResult> | undefined

  constructor(parts: ConversationParts) {
    this.key = parts.options.key
    this.#parts = parts
    const { promise, resolve } = Promise.withResolvers<ConversationEnd>()
    this.ended = promise
    this.#finish = resolve
    const { resume } = parts.options
    if (resume && !resume.fork) this.#know(resume.sdkSessionId)
  }

  get sdkSessionId(): string | undefined {
    return this.#sessionId
  }

  get pid(): number | undefined {
    return this.#process?.scope.root.pid
  }

  get busy(): boolean {
    return this.#running !== undefined
  }

  get closed(): boolean {
    return this.#end !== undefined
  }

  rebind(options: ConversationOptions): void {
    this.#parts.options = options
  }

  async turn(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult> {
    if (this.busy || this.closed)
      throw new RockpoolError('busy', `A turn is already running in ${this.key}, or it was closed.`, {
        hint: 'Wait for it.',
      })
    this.#running = this.#run(prompt, onEvent)
    try {
      return await this.#running
    } finally {
      this.#running = undefined
      this.#turn = undefined
      this.#process = undefined
    }
  }

  async #run(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult> {
    const parts = await this.#parts.turnParts(() => this.#sessionId)
    const process = this.#parts.start(this.#turnOptions())
    this.#process = process
    const onSession = (sessionId: string): void => {
      this.#know(sessionId)
      onEvent({ type: 'session-id', sdkSessionId: sessionId })
    }
    this.#turn = new ProgramTurnRun({ ...parts, process, onSession }, prompt, onEvent)
    // Closed while it started: the process ends before it does anything.
    if (this.closed) void this.#turn.interrupt()
    return this.#turn.run()
  }

  #turnOptions(): Omit<ProgramTurn, 'folder'> {
    const { options } = this.#parts
    const { cwd, model, permissionMode, allowedTools, systemPromptAppend, thinkingLevel } = options
    const known = this.#sessionId
    const copied = options.resume?.fork ? options.resume.sdkSessionId : undefined
    const from = known ?? copied
    return {
      cwd,
      model,
      permissionMode,
      allowedTools,
      systemPrompt: systemPromptAppend,
      thinking: thinkingLevel,
      resume: from === undefined ? undefined : { sessionId: from, fork: known === undefined },
      newId: options.newSdkSessionId,
    }
  }

  #know(sessionId: string): void {
    this.#sessionId = sessionId
    this.ids.add(sessionId)
    this.#parts.onSession(sessionId)
  }

  /** A message waits for the next turn: a running process reads no more input. */
  steer(): boolean {
    return false
  }

  async interrupt(): Promise<void> {
    await this.#turn?.interrupt()
  }

  /** Each turn starts from the files of the session, so nothing is lost if another process has continued it. */
  otherWriter(): undefined {
    return undefined
  }

  close(): Promise<void> {
    return this.#close('closed')
  }

  async kill(): Promise<void> {
    this.#turn?.silence()
    await this.#close('killed')
  }

  async #close(why: 'closed' | 'killed'): Promise<void> {
    const end = (this.#end ??= { why })
    if (why === 'killed') await this.#process?.end(0)
    else await this.interrupt()
    await this.#process?.end()
    this.#parts.onEnd()
    this.#finish(end)
  }
}
