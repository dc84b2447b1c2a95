// The processes of coding agents that this Rockpool started: recorded, so that a later Rockpool ends what a crashed one left behind,
// and watched, so that they end with this one. Also the leases by which one process writes to a session.
import type { Log } from '../domain/log.ts'
import { processesOf } from '../store/disk/process-scope.ts'
import type { StatePaths } from '../store/paths.ts'
import { ClaudeProcesses, type Lease } from '../store/sqlite/claude-processes.ts'
import { endProcesses, type AgentProcess } from './process.ts'
import { ProcessReaper } from './process-reaper.ts'

interface RegisterParts {
  paths: Pick<StatePaths, 'claudeProcesses'>
  log: Log
  /** The cgroup in which each process gets its own cgroup, where that is possible. */
  cgroups?: string
}

export class ProcessRegister {
  #processes: ClaudeProcesses
  #reaper: ProcessReaper
  #log: Log
  /** Writes that run in the background. */
  #writes = new Set<Promise<unknown>>()

  private constructor(processes: ClaudeProcesses, { log, cgroups }: RegisterParts) {
    this.#processes = processes
    this.#reaper = new ProcessReaper(cgroups)
    this.#log = log
  }

  /** Ends the processes that a crashed Rockpool left behind, then opens the register. */
  static async open(parts: RegisterParts): Promise<ProcessRegister> {
    const processes = new ClaudeProcesses(parts.paths.claudeProcesses)
    const orphans = processes
      .orphans()
      .map((scope) => ({ scope, pids: processesOf(scope).map(({ pid }) => pid) }))
    const pids = [...new Set(orphans.flatMap((orphan) => orphan.pids))]
    if (pids.length > 0) {
      parts.log.warn(
        { event: 'orphans-found', pids },
        'A Rockpool that no longer runs left processes of coding agents behind. Ending them.',
      )
    }
    await Promise.all(orphans.map(({ scope }) => endProcesses(scope)))
    await processes.removeDead()
    return new ProcessRegister(processes, parts)
  }

  add({ scope, exited, end }: AgentProcess, key: string): void {
    this.#reaper.add(scope.root)
    this.writeLater(() => this.#processes.add(scope, key))
    void exited.then(() => this.writeLater(() => end().then(() => this.#processes.remove(scope.root))))
  }

  /** One writer per session: taken if it is free, already ours, or its holder is dead. */
  lease(sessionId: string, key: string): Promise<Lease> {
    return this.#processes.lease(sessionId, key)
  }

  leaseLater(sessionId: string, key: string): void {
    this.writeLater(async () => {
      const lease = await this.#processes.lease(sessionId, key)
      if (lease.taken) return
      this.#log.warn(
        { event: 'session-lease-conflict', sdkSessionId: sessionId, key, holder: lease.holder },
        'Two conversations hold the same session; one of them may lose turns.',
      )
    })
  }

  async release(sessionId: string, key: string): Promise<void> {
    await this.#processes.release(sessionId, key)
  }

  releaseLater(sessionId: string, key: string): void {
    this.writeLater(() => this.#processes.release(sessionId, key))
  }

  /** Writes in the background; only `close` waits for it. */
  writeLater(write: () => Promise<unknown>): void {
    const writing = write()
      .catch((error: unknown) =>
        this.#log.error(
          { event: 'process-record-failed', error: String(error) },
          'Could not record the state of a process; it may be missed when orphans are ended.',
        ),
      )
      .finally(() => this.#writes.delete(writing))
    this.#writes.add(writing)
  }

  async close(): Promise<void> {
    while (this.#writes.size > 0) await Promise.all(this.#writes)
    await this.#processes.close()
    this.#reaper.close()
  }
}
