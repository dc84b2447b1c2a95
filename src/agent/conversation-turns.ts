// The turns of a conversation: the requested turn, and the turns that Claude takes unprompted. A turn is over when Claude has
// sent a result, every prompt of it was processed, and nothing more follows by itself.
import type { Clock } from '../domain/clock.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { StreamItem } from './claude-events.ts'
import { RunningTurn } from './running-turn.ts'

interface TurnHooks {
  onUnprompted: (event: TurnEvent) => void
  /** Claude started another prompt of a turn that is being interrupted. */
  interruptAgain: () => void
}

export class ConversationTurns {
  asked: RunningTurn | undefined
  #unprompted: RunningTurn | undefined
  #state: 'running' | 'waiting' | 'idle' = 'idle'
  /** Older versions of Claude do not report their state; then a result is the end of a turn. */
  #reportsState = false
  #reportsPrompts = false
  #subagents = 0
  #clock: Clock
  #hooks: TurnHooks

  constructor(clock: Clock, hooks: TurnHooks) {
    this.#clock = clock
    this.#hooks = hooks
  }

  get busy(): boolean {
    return this.asked !== undefined || this.#unprompted !== undefined || this.#state !== 'idle'
  }

  /** While true, silence does not mean that Claude is stuck. */
  get usesTools(): boolean {
    return (this.asked?.openTools ?? 0) > 0 || this.#subagents > 0
  }

  /** Passes an item of the stream to the turn that it belongs to. */
  take(item: StreamItem): void {
    if (item.is === 'state') {
      this.#state = item.state
      this.#reportsState = true
    } else if (item.is === 'background') this.#subagents = item.subagents
    else if (item.is === 'prompt') this.#takePrompt(item)
    else this.#turnOf(item)?.take(item, this.#clock.now())
  }

  /** Emits an event of ours to the followers of the running turn. */
  report(event: TurnEvent): void {
    const turn = this.asked ?? this.#unprompted
    turn?.take({ is: 'event', event }, this.#clock.now())
  }

  /** If Claude may continue unprompted, background sub-agents do not delay the end of a turn. */
  askedThatIsOver({ mayContinueUnprompted }: { mayContinueUnprompted: boolean }): RunningTurn | undefined {
    const continues = mayContinueUnprompted && this.#subagents > 0
    if (!this.asked?.isOver(this.#reportsPrompts) || !(this.#isIdle || continues)) return undefined
    this.asked.settleAll()
    return this.asked
  }

  takeUnpromptedThatIsOver(): RunningTurn | undefined {
    const unprompted = this.#unprompted
    if (!unprompted?.isOver(true) || !this.#isIdle) return undefined
    this.#unprompted = undefined
    return unprompted
  }

  forgetUnprompted(): void {
    this.#unprompted = undefined
  }

  get #isIdle(): boolean {
    return !this.#reportsState || this.#state === 'idle'
  }

  #takePrompt({ uuid, state }: Extract<StreamItem, { is: 'prompt' }>): void {
    this.#reportsPrompts = true
    if (!this.asked?.has(uuid)) return
    if (state === 'over') this.asked.settle(uuid)
    if (state === 'started' && this.asked.stopped) this.#hooks.interruptAgain()
    if (state !== 'started' || this.asked.started) return
    // Claude was working unprompted and picked up the prompt: its output so far becomes part of this turn.
    this.asked.start(this.#unprompted)
    this.#unprompted = undefined
  }

  #turnOf(item: StreamItem): RunningTurn | undefined {
    if (this.asked && (this.asked.started || !this.#reportsPrompts)) return this.asked
    if (this.#unprompted) return this.#unprompted
    if (item.is === 'event' && item.event.type === 'session-id') return this.asked
    return (this.#unprompted = new RunningTurn(undefined, this.#hooks.onUnprompted, this.#clock))
  }
}
