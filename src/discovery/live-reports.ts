// Reports of live sessions about themselves, through the plugin, at the moment of a change. Claude's registry says the same a
// little later and in fewer words; the newer of the two is right. Without the plugin there are no reports, and the registry alone
// decides.
import type { LiveSession } from './registries.ts'

export interface LiveReport {
  status: LiveSession['status'] | 'ended'
  /** What exactly it waits for: the command of a permission dialog. */
  waitingFor?: string
  /** What the status does not say: it compacts its context, or an error has ended the turn. */
  stateText?: string
  at: number
}

/** Sessions that ended without a word leave their last report. */
const mostReports = 1_000

export class LiveReports {
  readonly #reports = new Map<string, LiveReport>()

  add(sessionId: string, report: LiveReport): void {
    this.#reports.delete(sessionId)
    this.#reports.set(sessionId, report)
    const [oldest] = this.#reports.keys()
    if (this.#reports.size > mostReports && oldest !== undefined) this.#reports.delete(oldest)
  }

  /** The sessions of the registry with what they reported since. Only the registry says that a process lives. */
  applyTo(live: ReadonlyMap<string, LiveSession>): Map<string, LiveSession> {
    return new Map([...live].flatMap(([id, session]) => this.#applied(id, session).map((each) => [id, each])))
  }

  #applied(sessionId: string, session: LiveSession): LiveSession[] {
    const report = this.#reports.get(sessionId)
    if (!report) return [session]
    const { status, waitingFor, stateText } = report
    if (report.at < session.statusAt) {
      // The registry says the same in fewer words.
      const isSame = status === session.status
      return [isSame ? { ...session, stateText, waitingFor: waitingFor ?? session.waitingFor } : session]
    }
    return status === 'ended' ? [] : [{ ...session, status, waitingFor, stateText }]
  }
}
