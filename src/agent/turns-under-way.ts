// Whose turn it is in a conversation: the one that was asked for, or what Claude does by itself. A turn is over when Claude
// has said how it ended, every prompt of it was dealt with, and nothing more follows by itself.
import type { Clock } from '../domain/clock.ts'
import type { TurnEvent } from '../domain/turn.ts'
import type { StreamItem } from './claude-events.ts'
import { RunningTurn } from './running-turn.ts'

interface Told {
  /** What Claude does by itself. */
  unprompted: (event: TurnEvent) => void
  /** Claude started another prompt of a turn that is being stopped. */
  stopAgain: () => void
}

export class TurnsUnderWay {
  asked: RunningTurn | undefined
  #unprompted: RunningTurn | undefined
  #state: 'running' | 'waiting' | 'idle' = 'idle'
  /** Older programs do not say where they stand; then a result is the end of a turn. */
  #saysState = false
  #saysPrompts = false
  #subagents = 0
  #clock: Clock
  #told: Told

  constructor(clock: Clock, told: Told) {
    this.#clock = clock
    this.#told = told
  }

  get busy(): boolean {
    return this.asked !== undefined || this.#unprompted !== undefined || this.#state !== 'idle'
  }

  /** While true, silence does not mean that Claude is stuck. */
  get usesTools(): boolean {
    return (this.asked?.openTools ?? 0) > 0 || this.#subagents > 0
  }

  /** Gives an item of the stream to the turn that it belongs to. */
  take(item: StreamItem): void {
    if (item.is === 'state') {
      this.#state = item.state
      this.#saysState = true
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
  askedThatIsOver({ mayGoOnAlone }: { mayGoOnAlone: boolean }): RunningTurn | undefined {
    const goesOnAlone = mayGoOnAlone && this.#subagents > 0
    if (!this.asked?.isOver(this.#saysPrompts) || !(this.#isIdle || goesOnAlone)) return undefined
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
    return !this.#saysState || this.#state === 'idle'
  }

  #takePrompt({ uuid, state }: Extract<StreamItem, { is: 'prompt' }>): void {
    this.#saysPrompts = true
    if (!this.asked?.has(uuid)) return
    if (state === 'over') this.asked.settle(uuid)
    if (state === 'started' && this.asked.stopped) this.#told.stopAgain()
    if (state !== 'started' || this.asked.started) return
    // Claude was working unprompted and picked up the prompt: its output so far becomes part of this turn.
    this.asked.begin(this.#unprompted)
    this.#unprompted = undefined
  }

  #turnOf(item: StreamItem): RunningTurn | undefined {
    if (this.asked && (this.asked.started || !this.#saysPrompts)) return this.asked
    if (this.#unprompted) return this.#unprompted
    const isNews = item.is === 'event' && item.event.type === 'session-id'
    if (isNews) return this.asked
    return (this.#unprompted = new RunningTurn(undefined, this.#told.unprompted, this.#clock))
  }
}
