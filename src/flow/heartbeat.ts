// Turns that the program starts: heartbeats at an interval, and wake-ups when something has happened. Replies go only to the
// configured target, or to the one chat that a session belongs to.
import { randomUUID } from 'node:crypto'
import type { Config } from '../domain/config.ts'
import { buildAgentMainSessionKey } from '../domain/session-key.ts'
import type { Author } from '../rights/author.ts'
import { markEvent } from '../rights/author.ts'
import { readWorkspaceFile } from '../store/disk/foreign-file.ts'
import { heartbeatOf, untrustedWakePrompt, wakeInput, wakePrompt } from './asked-input.ts'
import type { Converse } from './converse.ts'
import type { FlowParts } from './flow-parts.ts'
import { parseDuration } from './queue-settings.ts'

export const HEARTBEAT_PROMPT =
  'Heartbeat: look whether something needs your attention. Follow HEARTBEAT.md strictly; do not repeat old tasks from earlier chats. If nothing needs attention, reply HEARTBEAT_OK.'

/** If the session is busy, the heartbeat tries again after this time. */
const busyPauseMs = 60_000

export interface WakeRequest {
  text: string
  agentId: string
  /** The agent's main session when absent. */
  sessionKey?: string
  /** The author of the text; the program itself when absent. */
  askedBy?: Author
  /** The turn is stopped when its calls to the model have cost this much. */
  maxBudgetUsd?: number
  /** The same key wakes once. */
  key: string
  /** Leave it to the next gateway: this process takes no turns for others. */
  later?: boolean
}

export class Heartbeats {
  #converse: Converse
  #parts: FlowParts
  #timers = new Map<string, () => void>()

  constructor(converse: Converse, parts: FlowParts) {
    this.#converse = converse
    this.#parts = parts
  }

  /** Off unless an agent's configuration has `heartbeat.every`. Where processes share the work, one of them starts the heartbeat
   *  turns. */
  start(): void {
    for (const { id, every } of heartbeatsOf(this.#parts.config, this.#parts.defaultAgentId())) {
      const { chores } = this.#parts
      if (chores) chores.every(`heartbeat:${id}`, every, async () => void (await this.beat(id)))
      else this.#schedule(id, every, every)
    }
  }

  stop(): void {
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
  }

  /** Adds an event to a session and starts a turn at once. */
  async wake(request: WakeRequest): Promise<boolean> {
    const { text, agentId, sessionKey, key, later, maxBudgetUsd, askedBy = 'owner' } = request
    const lane = sessionKey ?? this.#mainKey(agentId)
    if (await this.#parts.work.inbox.knows(`wake:${key}`)) return false
    await this.#converse.systemEvent(lane, markEvent(askedBy, text))
    const prompt = askedBy === 'owner' ? wakePrompt : untrustedWakePrompt
    const wake = { key: `wake:${key}`, lane, agentId, text: prompt, askedBy, maxBudgetUsd }
    const input = await wakeInput(wake, this.#parts)
    if (later) return (await this.#parts.work.inbox.accept(input)) !== undefined
    return this.#converse.ask(input)
  }

  /** One heartbeat now. False: there was nothing to do, or the session was busy. */
  async beat(agentId: string): Promise<boolean> {
    const lane = this.#mainKey(agentId)
    if (this.#converse.queue.isBusy(lane)) return false
    const file = await readWorkspaceFile(this.#parts.agentOf(agentId).workspace, 'HEARTBEAT.md')
    const events = await this.#parts.work.systemEvents.waiting(lane)
    if (isEmptyList(file) && events.length === 0) return false
    const prompt =
      file === undefined ? HEARTBEAT_PROMPT : `${HEARTBEAT_PROMPT}\n\nHEARTBEAT.md:\n${file.trim()}`
    const key = `heartbeat:${randomUUID()}`
    return this.#converse.ask(
      await wakeInput({ key, lane, agentId, text: prompt, askedBy: 'owner' }, this.#parts),
    )
  }

  #schedule(agentId: string, every: number, after: number): void {
    const cancel = this.#parts.clock.after(after, () => {
      void this.beat(agentId).then(
        (done) => this.#schedule(agentId, every, done ? every : Math.min(every, busyPauseMs)),
        (error: unknown) => {
          this.#parts.log.error(
            { event: 'agent-heartbeat-failed', agentId, error: String(error) },
            'A heartbeat turn failed; the next one runs as scheduled.',
          )
          this.#schedule(agentId, every, every)
        },
      )
    })
    this.#timers.set(agentId, cancel)
  }

  #mainKey(agentId: string): string {
    return buildAgentMainSessionKey({ agentId, mainKey: this.#parts.config.session.mainKey })
  }
}

function heartbeatsOf(config: Config, defaultAgentId: string): Array<{ id: string; every: number }> {
  const ids = config.agents.list.length > 0 ? config.agents.list.map((agent) => agent.id) : [defaultAgentId]
  return ids.flatMap((id) => {
    const every = parseDuration(heartbeatOf(config, id)?.every ?? '') ?? 0
    return every > 0 ? [{ id, every: Math.max(every, 1_000) }] : []
  })
}

/** A list with only headings, comments and empty boxes has no tasks. */
function isEmptyList(text: string | undefined): boolean {
  if (text === undefined) return true
  const lines = text.replace(/<!--[\s\S]*?-->/g, '').split('\n')
  return lines.every((line) => /^\s*(#.*|[-*]\s*(\[[ x]?\])?)?\s*$/i.test(line))
}
