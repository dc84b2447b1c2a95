// The entry point of the command line, called by bin/rockpool.js. Passes the parts of higher layers to src/cli/.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { allLocalCommands } from './cli/commands.ts'
import { processTerminal } from './cli/host.ts'
import type { Host } from './cli/host.ts'
import { run, wantsJson } from './cli/run.ts'
import type { CatalogEntry } from './operations/catalog.ts'
import { readEnvironment } from './store/config-file.ts'

export async function main(args: string[]): Promise<void> {
  process.umask(0o077)
  const environment = readEnvironment()
  const version = readVersion()
  const terminal = processTerminal(environment.variables, wantsJson(args))
  const host: Host = {
    environment,
    terminal,
    version,
    now: () => Date.now(),
    cwd: process.cwd(),
    program: fileURLToPath(new URL('../bin/rockpool.js', import.meta.url)),
    openApp: async (options) => {
      const [{ openApp }, { copyProgress, errorLog, indexProgress, scanProgress }] = await Promise.all([
        import('./app.ts'),
        import('./cli/diagnostics.ts'),
      ])
      const onScanProgress = scanProgress(diagnostics)
      const onIndexProgress = indexProgress(diagnostics)
      const onCopyProgress = copyProgress(diagnostics)
      const log = errorLog(diagnostics)
      return openApp(environment, {
        version,
        log,
        ...options,
        onScanProgress,
        onIndexProgress,
        onCopyProgress,
      })
    },
    catalog: readCatalog,
    serveMcp: async (input) => (await import('./serve-mcp.ts')).serveMcp(environment, version, input),
    async up(input, ready, demo) {
      const { runDaemon, untilSignal } = await import('./daemon.ts')
      const world = {
        environment,
        version,
        input,
        ready,
        untilStopped: untilSignal(),
        webRoot: findWebRoot(),
      }
      await runDaemon({
        ...world,
        environment: demo?.environment ?? environment,
        offlineScripts: demo?.scripts,
      })
    },
  }
  process.exitCode = await run(args, host)
  // Baileys leaves timers of up to half a minute after its connection has ended, so the process exits by itself. But first the
  // output is flushed: its reader may be slow.
  terminal.flush(() => setTimeout(() => process.exit(), 1_000).unref())
}

/** stderr is opened at the first write: a command without diagnostics starts faster. */
const diagnostics = {
  get isTTY() {
    return process.stderr.isTTY
  },
  write: (text: string) => process.stderr.write(text),
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** The built dashboard: beside this file in dist/, or in dist/ when run from source. */
function findWebRoot(): string | undefined {
  const places = [new URL('web', import.meta.url), new URL('../dist/web', import.meta.url)]
  return places.map((place) => fileURLToPath(place)).find((place) => existsSync(place))
}

/** The build writes the catalog beside this file; from source it is generated. */
async function readCatalog(): Promise<CatalogEntry[]> {
  const built = new URL('catalog.json', import.meta.url)
  if (existsSync(built)) return JSON.parse(readFileSync(built, 'utf8')) as CatalogEntry[]
  return buildCatalog()
}

export async function buildCatalog(): Promise<CatalogEntry[]> {
  const { makeCatalog } = await import('./operations/catalog.ts')
  return makeCatalog(await allLocalCommands())
}
