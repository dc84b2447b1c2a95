// The machines that share coding sessions. Each announces its repositories, and answers requests of the others: launch this
// session, take over that one.
import { repeat } from '../../domain/async.ts'
import { machinesCalled, repositoryAt } from '../../domain/machine.ts'
import type { Machine, Repository } from '../../domain/machine.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Variables } from '../../discovery/git.ts'
import type { MachineDirectory } from '../../store/storage.ts'
import type { CodingBase } from '../coding-parts.ts'
import { RequestListener, sendRequest } from './owner-requests.ts'
import type { RequestHandler } from './owner-requests.ts'
import { identifyRepository } from '../queue/repositories.ts'
import type { PossibleRepository } from '../queue/repositories.ts'

interface MachinesParts extends Pick<CodingBase, 'store' | 'clock' | 'log'> {
  directory: MachineDirectory
  /** Directories that may be repositories of this machine, the most important first. */
  possible(): Promise<PossibleRepository[]>
  variables: Variables
}

interface MachineRequest {
  machine: string
  action: string
  input: Record<string, unknown>
  withinMs: number
  /** The error when no answer came in time. A request that was not started by then is withdrawn. */
  noAnswer: (machine: string, wasStarted: boolean) => RockpoolError
}

const announceEveryMs = 60_000
/** Known repositories are read from git again with every tenth announcement. */
const readAgainEvery = 10
const mostRepositories = 500
const answerWithinMs = 60_000

export class Machines {
  #parts: MachinesParts
  #requests: RequestListener | undefined
  #stopAnnouncing = (): void => {}
  #known = new Map<string, Repository | undefined>()
  #announced = 0

  constructor(parts: MachinesParts) {
    this.#parts = parts
  }

  /** The name of this machine for the others. */
  get name(): string {
    return this.#parts.directory.name
  }

  /** In the gateway: answers requests from now on. */
  open(handlers: Record<string, RequestHandler>): void {
    const announce = (): Promise<void> =>
      this.announce().catch((error: unknown) =>
        this.#parts.log.error(
          { event: 'machine-announcement-failed', error: String(error) },
          'Could not announce the repositories of this machine; retrying at the next interval.',
        ),
      )
    this.#requests = new RequestListener(this.#parts, handlers)
    this.#requests.add(recipientOf(this.name))
    void announce()
    this.#stopAnnouncing = repeat(this.#parts.clock, announceEveryMs, announce)
  }

  close(): void {
    this.#requests?.close()
    this.#stopAnnouncing()
  }

  async list(): Promise<Machine[]> {
    const running = this.#parts.store.list({ running: true })
    const announced = await this.#parts.directory.list()
    const isKnown = announced.some(({ name }) => name === this.name)
    const self = { name: this.name, labels: [], repositories: [], lives: true, seenAt: 0 }
    return [...announced, ...(isKnown ? [] : [self])].map(
      ({ name, labels, repositories, lives, seenAt }) => ({
        name,
        labels,
        repositories,
        isHere: name === this.name,
        running: running.filter(({ machine }) => machine === name).length,
        // This machine is never away, even if no gateway runs here.
        awaySince: lives || name === this.name ? undefined : seenAt,
      }),
    )
  }

  /** Tells the other machines which repositories are here. */
  async announce(): Promise<void> {
    if (this.#announced++ % readAgainEvery === 0) this.#known.clear()
    const found = new Map<string, Repository>()
    for (const possible of await this.#parts.possible()) {
      if (found.size >= mostRepositories) break
      const repository = await this.#identify(possible)
      if (repository) found.set(repository.path, found.get(repository.path) ?? repository)
    }
    await this.#parts.directory.announce([...found.values()])
  }

  /** The repository that a directory of this machine is in. */
  async repositoryHere(path: string): Promise<{ repository: Repository; within: string } | undefined> {
    const repository = await identifyRepository({ path }, this.#parts.variables)
    return repository && repositoryAt([repository], path)
  }

  /** Sends a request to the machine with this name or label; resolves to its answer. */
  async ask(called: string, action: string, input: Record<string, unknown>): Promise<unknown> {
    const [machine] = machinesCalled(await this.list(), called)
    return this.request({ machine: machine!.name, action, input, withinMs: answerWithinMs, noAnswer })
  }

  /** Sends a request to the machine with this name, also before that machine has announced its repositories. */
  async request({ machine, noAnswer: late, ...request }: MachineRequest): Promise<unknown> {
    const answer = await sendRequest(this.#parts, {
      ...request,
      recipient: recipientOf(machine),
      isAlive: () => this.#parts.directory.lives(machine),
      late: (wasStarted) => late(machine, wasStarted),
    })
    if (!answer) throw late(machine, false)
    return answer.value
  }

  async #identify(possible: PossibleRepository): Promise<Repository | undefined> {
    const key = `${possible.name ?? ''}\0${possible.path}`
    if (!this.#known.has(key)) this.#known.set(key, await identifyRepository(possible, this.#parts.variables))
    return this.#known.get(key)
  }
}

function recipientOf(machine: string): string {
  return `machine:${machine}`
}

function noAnswer(machine: string, wasStarted: boolean): RockpoolError {
  const what = wasStarted
    ? `${machine} has started the request and does not answer.`
    : `${machine} does not answer; nothing was done there.`
  const hint = wasStarted
    ? '`rockpool cc sessions` shows the result.'
    : 'Try again when that machine answers, or name another one: `rockpool machines` lists them.'
  return new RockpoolError('unavailable', what, { hint })
}
