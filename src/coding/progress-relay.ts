// What a session that another one began does, told to that one from time to time while it works: a note that waits for
// the parent's next turn, and only the latest. It costs no turn, and is over when the session is.
import type { Clock } from '../domain/clock.ts'
import type { CodingSession, OutputBlock } from '../domain/coding-session.ts'
import { markEvent } from '../rights/author.ts'
import { formatDuration, oneLine } from './session/names.ts'

export interface Progress {
  sessionKey: string
  text: string
  /** How earlier ones of this session begin: they are no longer true. */
  instead: string
}

export class ProgressRelay {
  #clock: Clock
  #tell: (progress: Progress) => void
  #gathered = new Map<string, { latest: string; cancel: () => void }>()

  constructor(clock: Clock, tell: (progress: Progress) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  onOutput(session: CodingSession, { kind, text }: Pick<OutputBlock, 'kind' | 'text'>): void {
    const { relay, originSessionKey: sessionKey } = session.request
    if (!relay || sessionKey === undefined || (kind === 'tool' && !relay.tools)) return
    const latest = oneLine(text, 200)
    const gathered = this.#gathered.get(session.id)
    if (gathered) return void (gathered.latest = latest)
    const cancel = this.#clock.after(relay.everySeconds * 1_000, () => this.#pass(session, sessionKey))
    this.#gathered.set(session.id, { latest, cancel })
  }

  end(codingId: string): void {
    this.#gathered.get(codingId)?.cancel()
    this.#gathered.delete(codingId)
  }

  close(): void {
    for (const id of this.#gathered.keys()) this.end(id)
  }

  #pass(session: CodingSession, sessionKey: string): void {
    const gathered = this.#gathered.get(session.id)
    this.#gathered.delete(session.id)
    if (!gathered) return
    const took = formatDuration(this.#clock.now() - (session.startedAt ?? session.createdAt))
    const instead = markEvent(session.request.byProgram ? 'program' : 'owner', `⏳ [${session.name}] `)
    this.#tell({ sessionKey, instead, text: `${instead}works since ${took}: ${gathered.latest}` })
  }
}
