// Starts a process of Claude's for a conversation: from a spare that waits already, or afresh.
import type { Query, SpareProcess, SpawnOptions, SpawnedProcess } from '@anthropic-ai/claude-agent-sdk'
import type { ConversationOptions } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import type { Binding, Surroundings } from './claude-options.ts'
import { shapeOf, systemPromptOf, toSdkOptions } from './claude-options.ts'
import { InputStream } from './input-stream.ts'
import type { ClaudeProcess } from './process.ts'
import { spawnClaude } from './process.ts'
import { withinMs } from './within.ts'

export interface Started {
  query: Query
  input: InputStream
  process: ClaudeProcess
  binding: Binding
}

interface Spare {
  parked: SpareProcess
  process: ClaudeProcess
  binding: Binding
}

export class Starter {
  #around: Surroundings
  #onSpawn: (process: ClaudeProcess, key: string) => void
  #log: Log
  #clock: Clock
  #idleMs: number
  #spares = new Map<string, Promise<Spare>>()

  /** `onSpawn` is called for every process, so that each is tracked. */
  constructor(
    around: Surroundings,
    onSpawn: (process: ClaudeProcess, key: string) => void,
    parts: { clock: Clock; log: Log; idleMs: number },
  ) {
    this.#around = around
    this.#onSpawn = onSpawn
    this.#log = parts.log
    this.#clock = parts.clock
    this.#idleMs = parts.idleMs
  }

  async start(options: ConversationOptions): Promise<Started> {
    return (await this.#claim(options)) ?? this.#startAfresh(options)
  }

  /** Has a process ready for conversations of this shape, whatever their directory; not for longer than `idleMs`. */
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

  async #startAfresh(options: ConversationOptions): Promise<Started> {
    // The SDK takes a moment to load: only when it is used.
    const { startup } = await import('@anthropic-ai/claude-agent-sdk')
    const binding: Binding = {}
    const { spawn, spawned } = this.#spawning(options.key)
    const sdkOptions = { ...toSdkOptions(options, this.#around, binding), spawnClaudeCodeProcess: spawn }
    try {
      const warm = await startup({ options: sdkOptions, initializeTimeoutMs: 60_000 })
      const input = new InputStream()
      return { query: warm.query(input), input, process: spawned[0]!, binding }
    } catch (error) {
      for (const process of spawned) await process.end(0)
      throw startFailure(error, spawned[0]?.lastWords() ?? '')
    }
  }

  async #park(options: ConversationOptions): Promise<Spare> {
    const { prewarm } = await import('@anthropic-ai/claude-agent-sdk')
    const binding: Binding = {}
    const { spawn, spawned } = this.#spawning('spare')
    const { cwd: _cwd, model: _model, ...rest } = toSdkOptions(options, this.#around, binding)
    const parked = await prewarm({ options: { ...rest, spawnClaudeCodeProcess: spawn } })
    return { parked, process: spawned[0]!, binding }
  }

  async #claim(options: ConversationOptions): Promise<Started | undefined> {
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

  #spawning(key: string): { spawn: (options: SpawnOptions) => SpawnedProcess; spawned: ClaudeProcess[] } {
    const spawned: ClaudeProcess[] = []
    const spawn = (options: SpawnOptions): SpawnedProcess => {
      const process = spawnClaude(options, this.#around.cgroups)
      spawned.push(process)
      this.#onSpawn(process, key)
      return process.spawned
    }
    return { spawn, spawned }
  }
}

async function claimSpare(
  { parked, process, binding }: Spare,
  options: ConversationOptions,
): Promise<Started> {
  const input = new InputStream()
  const query = parked.claim({
    prompt: input,
    options: {
      cwd: options.cwd,
      model: options.model,
      permissionMode: options.permissionMode,
      appendSystemPrompt: systemPromptOf(options),
      ...(options.title ? { title: options.title } : {}),
    },
  })
  await withinMs(20_000, parked.claimed)
  return { query, input, process, binding }
}

/** A spare learns its directory and its prompt when it is claimed; all else must be the same. */
function spareShape(options: ConversationOptions): string {
  const { systemPrompt: _systemPrompt, ...agent } = options.agent
  return shapeOf({ ...options, cwd: '', agent, systemPromptAppend: '' })
}

function startFailure(error: unknown, lastWords: string): RockpoolError {
  const message = error instanceof Error ? error.message : String(error)
  if (/No conversation found/.test(message)) {
    return new RockpoolError('not-found', 'Claude no longer has this conversation.', {
      hint: 'Start a new one.',
      cause: error,
    })
  }
  if (/No message found/.test(message)) {
    return new RockpoolError(
      'not-found',
      'This message is not in the part of the conversation that Claude still reads.',
      {
        hint: 'Choose one after the last compaction.',
        cause: error,
      },
    )
  }
  return new RockpoolError('agent-failed', `Claude could not be started: ${lastWords || message}`, {
    hint: 'Look at `rockpool doctor`: it checks the program, its version and the login.',
    cause: error,
  })
}
