// The machines among which coding sessions are divided. Each says which repositories it has, and sits at a desk where
// others leave errands: launch this, take that one over.
import { machinesCalled, repositoryAt } from '../../domain/machine.ts'
import type { Machine, Repository } from '../../domain/machine.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Variables } from '../../discovery/git.ts'
import type { MachineDirectory } from '../../store/storage.ts'
import { askAt, OwnerDesk } from './owner-requests.ts'
import type { DeskAction } from './owner-requests.ts'
import type { CodingParts } from '../coding-parts.ts'
import { Repeating } from '../repeating.ts'
import { identify } from '../queue/repositories.ts'
import type { PossibleRepository } from '../queue/repositories.ts'

export interface MachinesParts extends Pick<CodingParts, 'store' | 'clock' | 'log'> {
  directory: MachineDirectory
  /** Where repositories of this machine may be, those that matter most first. */
  possible(): Promise<PossibleRepository[]>
  variables: Variables
}

const announceEveryMs = 60_000
/** Git is asked again about what it has answered before every so many announcements. */
const askAgainEvery = 10
const mostRepositories = 500
const answerWithinMs = 60_000

export class Machines {
  #parts: MachinesParts
  #desk: OwnerDesk | undefined
  #announcing: Repeating
  #known = new Map<string, Repository | undefined>()
  #announced = 0

  constructor(parts: MachinesParts) {
    this.#parts = parts
    this.#announcing = new Repeating(parts, announceEveryMs, () => this.announce())
  }

  /** How the others call this one. */
  get name(): string {
    return this.#parts.directory.name
  }

  /** In the gateway: does what others ask of this machine, from now on. */
  open(errands: Record<string, DeskAction>): void {
    this.#desk = new OwnerDesk(this.#parts, errands)
    this.#desk.watch(deskOf(this.name))
    this.#announcing.start()
  }

  close(): void {
    this.#desk?.close()
    this.#announcing.stop()
  }

  async list(): Promise<Machine[]> {
    const running = this.#parts.store.list({ running: true })
    const said = await this.#parts.directory.list()
    const isKnown = said.some(({ name }) => name === this.name)
    const self = { name: this.name, labels: [], repositories: [], lives: true, seenAt: 0 }
    return [...said, ...(isKnown ? [] : [self])].map(({ name, labels, repositories, lives, seenAt }) => ({
      name,
      labels,
      repositories,
      isHere: name === this.name,
      running: running.filter(({ machine }) => machine === name).length,
      // Whoever asks lives, gateway or not.
      ...(lives || name === this.name ? {} : { awaySince: seenAt }),
    }))
  }

  /** Says which repositories are here. */
  async announce(): Promise<void> {
    if (this.#announced++ % askAgainEvery === 0) this.#known.clear()
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
    const repository = await identify({ path }, this.#parts.variables)
    return repository && repositoryAt([repository], path)
  }

  /** Lets another machine do something, and resolves to its answer. */
  async ask(called: string, errand: string, input: Record<string, unknown>): Promise<unknown> {
    const [machine] = machinesCalled(await this.list(), called)
    const { name } = machine!
    const answer = await askAt(this.#parts, {
      desk: deskOf(name),
      action: errand,
      input,
      withinMs: answerWithinMs,
      lives: () => this.#parts.directory.lives(name),
      late: (wasTaken) => noAnswer(name, wasTaken),
    })
    if (!answer) throw noAnswer(name, false)
    return answer.value
  }

  async #identify(possible: PossibleRepository): Promise<Repository | undefined> {
    const key = `${possible.name ?? ''}\0${possible.path}`
    if (!this.#known.has(key)) this.#known.set(key, await identify(possible, this.#parts.variables))
    return this.#known.get(key)
  }
}

function deskOf(machine: string): string {
  return `machine:${machine}`
}

function noAnswer(machine: string, wasTaken: boolean): RockpoolError {
  const what = wasTaken
    ? `${machine} has begun with it and does not answer.`
    : `${machine} does not answer; nothing was done there.`
  const hint = wasTaken
    ? '`rockpool cc sessions` shows what came of it.'
    : 'Try again when it is back, or name another machine: `rockpool machines` shows them.'
  return new RockpoolError('unavailable', what, { hint })
}
