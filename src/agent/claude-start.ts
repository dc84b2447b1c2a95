// Starts a Claude process for a conversation: takes the spare process if one fits, otherwise starts a new one. Also the errors
// for a conversation that cannot be started or resumed, each with a remedy.
import { statSync } from 'node:fs'
import type { Query, SpareProcess, SpawnOptions, SpawnedProcess } from '@anthropic-ai/claude-agent-sdk'
import type { ConversationOptions } from '../domain/agent.ts'
import { within } from '../domain/async.ts'
import { systemClock, type Clock } from '../domain/clock.ts'
import { errorText, RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import type { Binding, ProcessSettings } from './claude-options.ts'
import { processShape, systemPromptOf, toSdkOptions } from './claude-options.ts'
import { InputStream } from './input-stream.ts'
import { spawnProcess, type AgentProcess } from './process.ts'
import type { ProcessRegister } from './process-register.ts'

interface StartedProcess {
  query: Query
  input: InputStream
  process: AgentProcess
  binding: Binding
}

interface Spare {
  parked: SpareProcess
  process: AgentProcess
  binding: Binding
}

export class ProcessStarter {
  #settings: ProcessSettings
  #register: Pick<ProcessRegister, 'add'>
  #log: Log
  #clock: Clock
  #idleMs: number
  #spares = new Map<string, Promise<Spare>>()

  constructor(
    settings: ProcessSettings,
    register: Pick<ProcessRegister, 'add'>,
    parts: { clock: Clock; log: Log; idleMs: number },
  ) {
    this.#settings = settings
    this.#register = register
    this.#log = parts.log
    this.#clock = parts.clock
    this.#idleMs = parts.idleMs
  }

  async start(options: ConversationOptions): Promise<StartedProcess> {
    return (await this.#claim(options)) ?? this.#startNew(options)
  }

  /** Keeps a process ready for conversations of this shape, in any directory, for at most `idleMs`. */
  prewarm(options: ConversationOptions): Promise<Spare> {
    const shape = spareShape(options)
    const found = this.#spares.get(shape)
    if (found) return found
    // One is enough: a spare is as large as a live process.
    for (const other of this.#spares.keys()) void this.#discard(other)
    const spare = this.#park(options)
    this.#spares.set(shape, spare)
    const forget = (): void => {
      if (this.#spares.get(shape) === spare) this.#spares.delete(shape)
    }
    // A spare that exits by itself is removed from the spares.
    void spare.then(({ process }) => process.exited.then(forget), forget)
    this.#clock.after(this.#idleMs, () => {
      if (this.#spares.get(shape) === spare) void this.#discard(shape)
    })
    return spare
  }

  async #discard(shape: string): Promise<void> {
    const spare = await this.#spares.get(shape)?.catch(() => undefined)
    this.#spares.delete(shape)
    if (!spare) return
    spare.parked.close()
    await spare.process.end()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#spares.keys()].map((shape) => this.#discard(shape)))
  }

  async #startNew(options: ConversationOptions): Promise<StartedProcess> {
    // The SDK is slow to load, so it is loaded when it is first used.
    const { startup } = await import('@anthropic-ai/claude-agent-sdk')
    const binding: Binding = {}
    const { spawn, spawned } = this.#spawning(options.key)
    const sdkOptions = { ...toSdkOptions(options, this.#settings, binding), spawnClaudeCodeProcess: spawn }
    try {
      const warm = await startup({ options: sdkOptions, initializeTimeoutMs: 60_000 })
      const input = new InputStream()
      return { query: warm.query(input), input, process: spawned[0]!, binding }
    } catch (error) {
      for (const process of spawned) await process.end(0)
      throw startFailure(error, spawned[0]?.stderrTail() ?? '')
    }
  }

  async #park(options: ConversationOptions): Promise<Spare> {
    const { prewarm } = await import('@anthropic-ai/claude-agent-sdk')
    const binding: Binding = {}
    const { spawn, spawned } = this.#spawning('spare')
    const { cwd: _cwd, model: _model, ...rest } = toSdkOptions(options, this.#settings, binding)
    const parked = await prewarm({ options: { ...rest, spawnClaudeCodeProcess: spawn } })
    return { parked, process: spawned[0]!, binding }
  }

  async #claim(options: ConversationOptions): Promise<StartedProcess | undefined> {
    const shape = spareShape(options)
    const waiting = this.#spares.get(shape)
    if (!waiting || options.resume || options.newSdkSessionId) return undefined
    this.#spares.delete(shape)
    const spare = await waiting
    try {
      return await claimSpare(spare, options)
    } catch (error) {
      this.#log.info(
        { event: 'spare-process-failed', error: String(error) },
        'Could not use the spare Claude process; starting another one.',
      )
      await spare.process.end()
      return undefined
    }
  }

  #spawning(key: string): { spawn: (options: SpawnOptions) => SpawnedProcess; spawned: AgentProcess[] } {
    const spawned: AgentProcess[] = []
    const spawn = (options: SpawnOptions): SpawnedProcess => {
      const process = spawnProcess(options, this.#settings.cgroups)
      spawned.push(process)
      this.#register.add(process, key)
      return process.spawned
    }
    return { spawn, spawned }
  }
}

async function claimSpare(
  { parked, process, binding }: Spare,
  options: ConversationOptions,
): Promise<StartedProcess> {
  const input = new InputStream()
  const query = parked.claim({
    prompt: input,
    options: {
      cwd: options.cwd,
      model: options.model,
      permissionMode: options.permissionMode,
      appendSystemPrompt: systemPromptOf(options),
      title: options.title || undefined,
    },
  })
  // In real time: Claude does not run by our clock.
  await within(systemClock, 20_000, parked.claimed, () => {
    throw new Error('no answer in time')
  })
  return { query, input, process, binding }
}

/** A spare gets its directory and its prompt when it is claimed; everything else must be the same. */
function spareShape(options: ConversationOptions): string {
  const { systemPrompt: _systemPrompt, ...agent } = options.agent
  return processShape({ ...options, cwd: '', agent, systemPromptAppend: '' })
}

function startFailure(error: unknown, stderr: string): RockpoolError {
  const message = errorText(error)
  if (/No conversation found/.test(message))
    return new RockpoolError('not-found', 'Claude no longer has this conversation.', {
      hint: 'Start a new one.',
      cause: error,
    })
  if (/No message found/.test(message)) {
    const reason = 'This message is not in the part of the conversation that Claude still reads.'
    return new RockpoolError('not-found', reason, {
      hint: 'Choose one after the last compaction.',
      cause: error,
    })
  }
  return new RockpoolError('agent-failed', `Claude could not be started: ${stderr || message}`, {
    hint: 'Look at `rockpool doctor`: it checks the program, its version and the login.',
    cause: error,
  })
}

/** Throws when a conversation with these options cannot be started. */
export function checkStartable(
  { cwd, permissionMode }: ConversationOptions,
  binary: string | undefined,
): void {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new RockpoolError('not-found', `${cwd} is not a directory.`, {
      hint: 'Make it, or choose another working directory.',
    })
  if (binary && !statSync(binary, { throwIfNoEntry: false })?.isFile())
    throw new RockpoolError('unavailable', `There is no program ${binary}.`, {
      hint: 'Correct claude.binary in the configuration, or remove it to use the one that comes with Rockpool.',
    })
  if (permissionMode === 'bypassPermissions' && process.getuid?.() === 0)
    throw new RockpoolError('refused', 'Claude Code does not run with bypassPermissions as root.', {
      hint: 'Use acceptEdits or default and allow the tools it needs, or run Rockpool as another user.',
    })
}

export function sessionInUse(sdkSessionId: string, holder: string): RockpoolError {
  return new RockpoolError('busy', `Claude's session ${sdkSessionId} is in use by ${holder}.`, {
    hint: 'End that one first, or fork the session.',
  })
}

export function cannotResume(reason: string): RockpoolError {
  return new RockpoolError('not-found', reason, { hint: 'Start a new conversation.' })
}
