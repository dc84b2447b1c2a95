// `rockpool up`: the gateway process. Parts start in the order in which they need each other, and stop in the opposite order.
import { notifyOwnersDevices } from './compose/coding.ts'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { lookForClaude } from './agent/choose.ts'
import { openApp } from './app.ts'
import type { AppOptions } from './app.ts'
import { knownSecrets } from './store/known-secrets.ts'
import { reloadConfigOnChange } from './store/config-reload.ts'
import type { ReadyLine, UpInput } from './cli/host.ts'
import { errorText } from './domain/errors.ts'
import type { Log } from './domain/log.ts'
import { makeRedactor } from './domain/redact.ts'
import { collectWhenIdle } from './gateway/idle-memory.ts'
import { startGateway } from './gateway/server.ts'
import type { App } from './operations/app.ts'
import { channelSecrets } from './store/channel-tokens.ts'
import type { Environment } from './store/config-file.ts'
import { updatePlugins } from './operations/claude-plugin/claude-plugin-operations.ts'
import { serveMachineRequests } from './operations/coding/machine-operations.ts'
import { followSpawnedCoding, followSubagents } from './operations/sessions/subagents.ts'
import { loadConfig } from './store/config-file.ts'
import { removeClaudeHookFile, writeClaudeHookFile } from './store/claude-hook-file.ts'
import { removeGatewayFile, writeGatewayFile } from './store/gateway-file.ts'
import { lockInstance } from './store/disk/instance-lock.ts'
import { statePaths } from './store/paths.ts'
import { secureStateDirectory } from './store/state-directory.ts'
import { openLog } from './store/log-file.ts'
import { ensureGatewayToken, gatewayTokenFile } from './store/gateway-tokens.ts'
import { retryWhileUnavailable } from './store/store-unavailable.ts'

interface DaemonOptions {
  environment: Environment
  version: string
  input: UpInput
  webRoot?: string
  offlineScripts?: AppOptions['offlineScripts']
  ready: (gateway: ReadyLine) => void
  /** Resolves when it is time to stop. */
  untilStopped: Promise<string>
}

/** Running turns may take this long to end; systemd waits 40 s. */
const drainMs = 20_000

export async function runDaemon(options: DaemonOptions): Promise<void> {
  const { environment, version } = options
  const corrected = secureStateDirectory(environment.stateDir)
  const lock = lockInstance(environment.stateDir)
  try {
    const log = await openDaemonLog(environment)
    for (const warning of corrected) log.warn({ event: 'config-warning' }, warning)
    logUnhandledErrors(process, log)
    const { offlineScripts } = options
    const app = await openApp(environment, { version, log, isGateway: true, offlineScripts })
    try {
      await serve(app, options, log)
    } catch (error) {
      // A command that started the gateway in the background reads only this log.
      log.error({ event: 'gateway-failed', error: String(error) }, 'The gateway stopped because of an error.')
      throw error
    } finally {
      await app.close()
    }
  } finally {
    lock.release()
  }
}

async function serve(app: App, options: DaemonOptions, log: Log): Promise<void> {
  const { input, environment, version } = options
  const { config } = app
  // Fails before anything is started if another gateway has this machine's name, or if the database is away.
  await app.storage.cluster?.members.join()
  const gateway = await startGateway(app, {
    port: input.port ?? config.gateway.port,
    bind: input.bind ?? config.gateway.bind,
    allowPlaintextLan: input.allowPlaintextLan ?? false,
    webRoot: options.webRoot,
  })
  app.gateway = { url: gateway.url, loginCode: (isForPage) => gateway.auth.makeCode(isForPage) }
  const { url, wsUrl, movedFrom } = gateway
  writeGatewayFile(environment.stateDir, { url, wsUrl, startedAt: app.startedAt, version })
  const { claudeHookToken: token } = gateway.auth
  writeClaudeHookFile(environment.stateDir, { url: `${url}/claude-hooks`, token, pid: process.pid })
  log.info(
    { event: 'gateway-ready', url, movedFrom, version },
    movedFrom ? `Port ${movedFrom} is taken; listening at ${url}.` : 'Ready.',
  )
  const claude = lookForClaude(environment, config.claude.credential)
  options.ready({
    url,
    wsUrl,
    tokenFile: gatewayTokenFile(environment.stateDir),
    pid: process.pid,
    dashboardUrl: `${url}/#code=${gateway.auth.makeCode().code}`,
    claudeHint: claude.connected ? undefined : claude.hint,
    movedFrom,
  })
  const stopServing = await startServing(app)
  if (input.console) await openConsole(app)
  const stopReloading = reloadConfigOnChange(app)
  const why = await options.untilStopped
  log.info({ event: 'gateway-stopping', why }, 'Stopping.')
  removeGatewayFile(environment.stateDir)
  removeClaudeHookFile(environment.stateDir)
  stopReloading()
  await stopServing()
  // Callers that wait for a turn get its answer, so the gateway and the turns have the same time to end.
  const conversations = await app.conversations()
  await Promise.all([gateway.close(drainMs), conversations.stop(drainMs)])
  log.info({ event: 'gateway-stopped' }, 'Stopped.')
}

/** Makes the terminal in which the gateway was started a channel. */
async function openConsole(app: App): Promise<void> {
  const { ConsoleChannel } = await import('./channels/console.ts')
  const { makeChannelHost } = await import('./flow/channel-host.ts')
  const host = makeChannelHost({ ...app, takesMedia: async () => true })
  const terminal = { input: process.stdin, output: process.stdout, user: userInfo().username }
  await (await app.conversations()).addChannel(new ConsoleChannel(terminal, host))
}

/** What only the gateway does: receive, send, recover interrupted work, and follow Claude's files. The result stops it. */
async function startServing(app: App): Promise<() => Promise<void>> {
  await retryWhileUnavailable(app.clock, () => app.coding().pool.recover())
  serveMachineRequests(app)
  await (await app.conversations()).start()
  await retryWhileUnavailable(app.clock, () => followSubagents(app))
  await followSpawnedCoding(app)
  const endNotifying = notifyOwnersDevices(app)
  updateClaudePlugin(app)
  app.schedules().start()
  app.mail().carrier.start()
  const endWatching = await app
    .discovery()
    .watch((sessionId, why) => app.events.emit({ type: 'native-changed', sessionId, why }))
  const endKeeping = app.config.vault.enabled ? await keepSessions(app) : undefined
  const endIndexing = await app.search().follow()
  const endCollecting = collectWhenIdle(app.clock)
  return async () => {
    endCollecting()
    endNotifying()
    await endKeeping?.()
    await app.schedules().stop()
    await app.mail().carrier.stop()
    await endIndexing()
    await endWatching()
  }
}

/** After an update of Rockpool. A plugin that stays old works, too. */
function updateClaudePlugin(app: App): void {
  try {
    updatePlugins(app)
  } catch (error) {
    app.log.warn(
      { event: 'claude-plugin-not-updated', error: errorText(error) },
      'Could not update the plugin in Claude Code; sessions load the old one.',
    )
  }
}

/** Without a vault, for example because its key is missing, everything else works. */
async function keepSessions(app: App): Promise<(() => Promise<void>) | undefined> {
  try {
    const { followSessions } = await import('./vault/follow.ts')
    const vault = await app.vault()
    return followSessions({
      ...app,
      vault,
      shared: await app.sharedVault(),
      discovery: app.discovery(),
      maxBytes: app.config.vault.maxGb * 1e9,
    })
  } catch (error) {
    app.log.error(
      { event: 'vault-not-open', reason: errorText(error) },
      'Could not open the vault; sessions are not kept.',
    )
    return undefined
  }
}

/**
 * A failed background task, such as an idle timer whose row could not be stored, is logged and the process continues, so that
 * the failure of one session does not end the others.
 */
export function logUnhandledErrors(
  process: { on(event: 'unhandledRejection', listener: (reason: unknown) => void): unknown },
  log: Log,
): void {
  process.on('unhandledRejection', (error) =>
    log.error(
      { event: 'unhandled-error', error },
      'Unhandled error in a background task; the process continues.',
    ),
  )
}

async function openDaemonLog(environment: Environment): Promise<Log> {
  const { config } = await loadConfig(environment)
  const redactor = makeRedactor()
  redactor.know('gateway-token', ensureGatewayToken(environment.stateDir))
  const paths = statePaths(environment.stateDir)
  // Throws if a token file cannot be read; the gateway does not start then.
  for (const { name, value } of channelSecrets(config.channels, environment, paths))
    redactor.know(name, value)
  for (const [name, value] of knownSecrets({ environment, config, paths })) redactor.know(name, value)
  const file = config.log.file ?? join(environment.stateDir, 'logs', 'rockpool.log')
  return openLog({ level: config.log.level, file, redactor })
}

/** One Ctrl-C can arrive twice: from the terminal, and from npm, which passes it on. */
const sameSignalMs = 500

/** Resolves with the first SIGTERM or SIGINT; a later one ends the process at once. */
export function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    let stoppingSince: number | undefined
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (stoppingSince !== undefined && performance.now() - stoppingSince > sameSignalMs) process.exit(1)
        stoppingSince ??= performance.now()
        resolve(signal)
      })
    }
  })
}
