// This machine among those that share a database: how it is called, and where its repositories may be.
import { Machines } from '../coding/machines/machines.ts'
import { repositoriesBelow } from '../coding/queue/repositories.ts'
import type { PossibleRepository } from '../coding/queue/repositories.ts'
import type { App } from '../operations/app.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'

/** Undefined where nothing is shared. */
export function machinesOf(app: App, store: CodingStore): Machines | undefined {
  const { clock, log } = app
  const directory = app.storage.cluster?.machines
  if (!directory) return undefined
  return new Machines({
    store,
    clock,
    log,
    directory,
    possible: () => possibleRepositories(app, store, directory.name),
    variables: app.environment.variables,
  })
}

/** Those that the configuration names, then those where sessions were, the last used first. */
async function possibleRepositories(
  app: App,
  store: CodingStore,
  machine: string,
): Promise<PossibleRepository[]> {
  const { repos, defaultWorkdir, workspaceRoots } = app.config.coding
  const { sessions } = await app.discovery().list({ limit: 2_000 })
  const paths = [
    ...(defaultWorkdir === undefined ? [] : [defaultWorkdir]),
    ...workspaceRoots.flatMap(repositoriesBelow),
    ...store
      .list({ limit: 500 })
      .filter((session) => session.machine === machine)
      .map(({ request }) => request.workdir),
    ...sessions.map(({ repoPath }) => repoPath),
  ]
  return [
    ...Object.entries(repos).map(([name, path]) => ({ path, name })),
    ...[...new Set(paths)].map((path) => ({ path })),
  ]
}
