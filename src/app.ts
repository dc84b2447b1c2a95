// Puts the program together: what operations work with. Each part is made at its first use; parts are closed in the opposite
// order, and the storage after all of them.
import { OpenClawLink } from './channels/openclaw-link.ts'
import { LiveReports } from './discovery/live-reports.ts'
import type { AgentRuntime } from './domain/agent.ts'
import type { Clock } from './domain/clock.ts'
import { CacheOpinions } from './domain/cache-opinion.ts'
import { systemClock } from './domain/clock.ts'
import type { ScanProgress } from './domain/discovered-session.ts'
import { RockpoolError } from './domain/errors.ts'
import { makeEvents } from './domain/events.ts'
import { LazyParts } from './domain/lazy-parts.ts'
import { silentLog } from './domain/log.ts'
import type { Log } from './domain/log.ts'
import { makeRedactor } from './domain/redact.ts'
import type { Redactor } from './domain/redact.ts'
import type { IndexProgress } from './domain/search.ts'
import type { UsageReport } from './domain/usage-window.ts'
import { knownSecrets } from './store/known-secrets.ts'
import type { App, HeavyPart } from './operations/app.ts'
import { knownAgentIds } from './store/agents.ts'
import type { Environment } from './store/config-file.ts'
import { loadConfig, loadLastConfig } from './store/config-file.ts'
import { openStorage, pathsOf } from './store/open.ts'
import { secureStateDirectory } from './store/state-directory.ts'

export interface AppOptions {
  version: string
  clock?: Clock
  log?: Log
  /** Called with the progress of a long scan of sessions. */
  onScanProgress?: (progress: ScanProgress) => void
  /** Called with the progress of a long indexing of transcripts. */
  onIndexProgress?: (progress: IndexProgress) => void
  onCopyProgress?: App['onCopyProgress']
  /** The directions of the offline agent for each prompt, in the demo. */
  offlineScripts?: Readonly<Record<string, string>>
  /** This process holds the channels. */
  isGateway?: boolean
  /** Loads no heavy code before `prepare`, for a command that may need none. */
  light?: boolean
  /** While the configuration file is not valid, the configuration before it is used. */
  withLastConfig?: boolean
}

/** Running turns may take this long to end; systemd waits 40 s. */
const drainMs = 20_000

export async function openApp(environment: Environment, options: AppOptions): Promise<App> {
  const { clock = systemClock, log = silentLog, version, onCopyProgress, isGateway = false } = options
  const { config } = await (options.withLastConfig ? loadLastConfig : loadConfig)(environment)
  const paths = pathsOf(environment, config)
  for (const warning of secureStateDirectory(paths.root)) log.warn({ event: 'config-warning' }, warning)
  const lazy = new LazyParts()
  const events = makeEvents((error) =>
    log.error(
      { event: 'event-listener-failed', error: String(error) },
      'An event listener threw; other listeners are not affected.',
    ),
  )
  const basis = {
    environment,
    config,
    paths,
    clock,
    log,
    events,
    agentIds: knownAgentIds(config, paths, clock),
  }
  const storage = await openStorage({ ...basis, serves: isGateway })
  const code = new HeavyCode()
  const app: App = {
    ...basis,
    version,
    isDemo: options.offlineScripts !== undefined,
    storage,
    startedAt: clock.now(),
    liveReports: new LiveReports(),
    openclaw: new OpenClawLink(clock),
    cacheOpinions: new CacheOpinions(),
    redactor: lazy.once(() => redactorFor(basis)),
    onCopyProgress,
    ...openParts(() => app, lazy, options, code),
    prepare: async (needs) => {
      await code.load(needs)
      await storage.cluster?.refresh()
    },
    close: async () => {
      await lazy.close()
      await storage.close()
    },
  }
  if (!options.light) await app.prepare()
  return app
}

function redactorFor(basis: Parameters<typeof knownSecrets>[0]): Redactor {
  const redactor = makeRedactor()
  for (const [name, value] of knownSecrets(basis)) redactor.know(name, value)
  return redactor
}

type PartName =
  | 'discovery'
  | 'vault'
  | 'sharedVault'
  | 'repositories'
  | 'search'
  | 'smallModel'
  | 'runtime'
  | 'conversations'
  | 'coding'
  | 'schedules'
  | 'claudeHooks'
  | 'mail'

/** The parts that work with the storage. */
function openParts(
  app: () => App,
  lazy: LazyParts,
  options: AppOptions,
  code: HeavyCode,
): Pick<App, PartName> {
  const shells = lazy.once(
    async () => new (await import('./discovery/program-shells.ts')).ProgramShells(app().clock),
    async (opened) => (await opened).close(),
  )
  return {
    discovery: lazy.open(() => code.of('discovery').openDiscoveryOf(app(), options.onScanProgress)),
    search: lazy.open(() => code.of('search').openSearch(app(), options.onIndexProgress)),
    vault: lazy.once(
      async () => (await import('./compose/vault.ts')).openVaultOf(app()),
      // The caller that asked for it got the error.
      async (vault) => (await vault.catch(() => undefined))?.close(),
    ),
    claudeHooks: lazy.once(async () => (await import('./compose/claude-hooks.ts')).openClaudeHooks(app())),
    sharedVault: lazy.once(
      async () => (await import('./compose/vault.ts')).openSharedVaultOf(app()),
      async (shared) => (await shared.catch(() => undefined))?.close(),
    ),
    repositories: lazy.once(async () => {
      const { Repositories } = await import('./why/open-repository.ts')
      const { environment, paths, clock } = app()
      // A command has a small memory and starts few programs.
      const run = options.isGateway ? (await shells()).run : undefined
      return new Repositories(environment.variables, paths.commitGraphs, clock, run)
    }),
    smallModel: lazy.once(() => code.of('coding').smallModelOf(app())),
    // Made in the middle of the first turn, and closed after the parts that take turns.
    runtime: runtimesOf(app, lazy, options),
    conversations: lazy.once(
      async () => {
        const { openConversations } = await import('./compose/conversations.ts')
        return openConversations(app(), { withChannels: options.isGateway === true })
      },
      async (conversations) => (await conversations).stop(drainMs),
    ),
    coding: lazy.once(
      () => code.of('coding').openCodingWorld(app()),
      (coding) => {
        coding.machines?.close()
        return coding.pool.drain()
      },
    ),
    schedules: lazy.once(
      () => code.of('coding').openScheduleRunner(app()),
      (runner) => runner.stop(),
    ),
    mail: lazy.once(
      () => code.of('coding').openMail(app()),
      ({ carrier }) => carrier.stop(),
    ),
  }
}

function runtimesOf(app: () => App, lazy: LazyParts, options: AppOptions): App['runtime'] {
  const claude = lazy.onceClosedLast(
    () => openRuntime(app(), options),
    async (runtime) => (await runtime).close(),
  )
  const programs = lazy.onceClosedLast(
    async () => (await import('./compose/programs.ts')).openPrograms(app()),
    async (opened) => (await opened).close(),
  )
  return async (kind = 'claude') => (kind === 'claude' ? claude() : (await programs()).runtime(kind))
}

async function openRuntime(app: App, { offlineScripts }: AppOptions): Promise<AgentRuntime> {
  const { chooseAgent } = await import('./agent/choose.ts')
  const { claudeConfigDir } = await import('./agent/credentials.ts')
  const { maskRuntime } = await import('./agent/masked-runtime.ts')
  const transcripts = app.storage.cluster?.claudeTranscripts(claudeConfigDir(app.environment))
  const onUsage = (report: UsageReport): void => {
    app.storage.usage
      .report(report)
      .catch((error: unknown) =>
        app.log.warn(
          { event: 'usage-not-stored', error: String(error) },
          'Could not store what Claude reported about its usage windows.',
        ),
      )
  }
  const runtime = await chooseAgent({ ...app, transcripts, offlineScripts, onUsage })
  return maskRuntime(runtime, app.redactor())
}

/** Code that is loaded only for the operations that need it: `sessions list` needs none of it, `cc list` only discovery. */
const loads = {
  discovery: () => import('./compose/discovery.ts'),
  search: () => import('./compose/open-search.ts'),
  coding: () => import('./compose/coding.ts'),
}

type Code = { [Part in HeavyPart]?: Awaited<ReturnType<(typeof loads)[Part]>> }

class HeavyCode {
  #code: Code = {}

  async load(needs: readonly HeavyPart[] = ['discovery', 'search', 'coding']): Promise<void> {
    const missing = needs.filter((part) => !this.#code[part])
    const loaded = await Promise.all(missing.map(async (part) => [part, await loads[part]()] as const))
    this.#code = { ...this.#code, ...Object.fromEntries(loaded) }
  }

  of<Part extends HeavyPart>(part: Part): NonNullable<Code[Part]> {
    const code = this.#code[part]
    if (code) return code
    throw new RockpoolError(
      'internal',
      `The code of ${part} was needed before it was loaded; \`prepare\` was not awaited.`,
    )
  }
}
