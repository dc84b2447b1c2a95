// Git reads the folders of every commit to find those that changed a file, which takes most of the time of a blame. With a commit graph
// that has changed paths it reads few of them. The repository's own graph rarely has these, and we write nothing into a repository, so
// ours is in the index folder: an object folder that has nothing else, with the objects of the repository beside it.
import { hash } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { within } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { Git } from '../discovery/git.ts'

/** New commits are read without a graph until it is written again. */
const maxAgeMs = 86_400_000
/** How many commits get their paths at once; git writes those of the others the next time. */
const mostFilters = 20_000
const waitMs = 500
/** Of each changed path. In the small filters that git makes by itself, with 10 bits, some names collide with that of their folder, and
 *  git reads the folders of hundreds of commits for nothing. The variable is meant for git's tests; a git without it takes 10. */
const filterSize = { GIT_TEST_BLOOM_SETTINGS_BITS_PER_ENTRY: '24' }

export class CommitGraph {
  readonly #clock: Clock
  readonly #folder: string
  readonly #objects: string
  #written: Promise<void> | undefined
  #writtenAt = 0

  /** `objects`: the object folder of the repository. */
  constructor(graphs: string, objects: string, clock: Clock) {
    this.#clock = clock
    // A graph that exists keeps the size of its filters.
    this.#folder = join(graphs, hash('sha1', JSON.stringify([objects, filterSize])))
    this.#objects = objects
  }

  /** For git, to find the graph. */
  get variables(): Record<string, string> {
    // Git separates folders with colons.
    if (/[:"\n]/.test(this.#objects)) return {}
    return {
      GIT_OBJECT_DIRECTORY: this.#folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: this.#objects,
      ...filterSize,
    }
  }

  get isReady(): boolean {
    const file = statSync(join(this.#folder, 'info/commit-graph'), { throwIfNoEntry: false })
    return this.#clock.now() - (file?.mtimeMs ?? 0) < maxAgeMs
  }

  /** Writes a graph that is missing or old, and waits a moment for it. Without it git only takes longer. */
  async write(git: Git): Promise<void> {
    // If git cannot write it, the next try is as late as if it could.
    if (this.#clock.now() - this.#writtenAt >= maxAgeMs) {
      this.#writtenAt = this.#clock.now()
      this.#written = this.#write(git)
    }
    await within(this.#clock, waitMs, this.#written!, () => {})
  }

  async #write(git: Git): Promise<void> {
    mkdirSync(join(this.#folder, 'info'), { recursive: true, mode: 0o700 })
    const limits = ['--reachable', '--changed-paths', `--max-new-filters=${mostFilters}`, '--no-progress']
    await git(['-c', 'core.commitGraph=true', 'commit-graph', 'write', ...limits])
  }
}
