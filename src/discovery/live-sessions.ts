// The sessions that a process has open now, and which of them have changed since the last look.
import type { AgentKind } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { AgentHomes } from './agents/agent-homes.ts'
import type { OpenableSession } from './agents/contract.ts'
import type { SessionFiles } from './assemble.ts'
import type { LiveReports } from './live-reports.ts'
import type { LiveSession } from './registries.ts'

type Groups = ReadonlyMap<string, SessionFiles>

export class LiveSessions {
  readonly #agents: AgentHomes
  readonly #clock: Clock
  readonly #reports: LiveReports | undefined
  /** At the last look for changes. */
  #last = new Map<string, LiveSession>()
  /** Every list asks for the sessions of each agent: they are looked through once for the same groups. */
  #openable: { groups: Groups | undefined; ofKind: Map<AgentKind, OpenableSession[]> } | undefined

  constructor(agents: AgentHomes, clock: Clock, reports: LiveReports | undefined) {
    this.#agents = agents
    this.#clock = clock
    this.#reports = reports
  }

  /** `groups`: all sessions as of the last refresh. */
  read(groups: Groups | undefined): Map<string, LiveSession> {
    if (!this.#openable || this.#openable.groups !== groups) this.#openable = { groups, ofKind: new Map() }
    const { ofKind } = this.#openable
    const live = this.#agents.live(this.#clock.now(), (kind) => {
      const openable = ofKind.get(kind) ?? openableOf(kind, groups)
      ofKind.set(kind, openable)
      return openable
    })
    return this.#reports?.applyTo(live) ?? live
  }

  /** Sessions that started, ended, or changed what they do or wait for since the last call. */
  changed(groups: Groups | undefined): string[] {
    const before = this.#last
    this.#last = this.read(groups)
    const ids = new Set([...before.keys(), ...this.#last.keys()])
    const stateOf = (live: LiveSession | undefined): string => `${live?.status} ${live?.waitingFor}`
    return [...ids].filter((id) => stateOf(before.get(id)) !== stateOf(this.#last.get(id)))
  }
}

function openableOf(kind: AgentKind, groups: Groups | undefined): OpenableSession[] {
  const openable: OpenableSession[] = []
  for (const { sessionId, main } of groups?.values() ?? []) {
    const { file, listFacts } = main
    if ((file.agentKind ?? 'claude') === kind)
      openable.push({ sessionId, cwd: listFacts.cwd, mtimeMs: file.mtimeMs })
  }
  return openable
}
