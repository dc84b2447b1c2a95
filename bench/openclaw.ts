// What the plugin costs OpenClaw: its first loading by OpenClaw's own module loader, and whole starts of the real gateway with and
// without it.
import { spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startMessagesApi } from '../test/support/messages-api.ts'
import { pluginFolder } from '../test/support/openclaw-api.ts'
import type { OpenClawVersion } from '../test/support/openclaw-api.ts'
import { openClawProgram, prepareOpenClaw } from '../test/support/openclaw-program.ts'
import type { OpenClaw } from '../test/support/openclaw-program.ts'
import { TelegramApi } from '../test/support/telegram-api.ts'
import { atMost } from './result.ts'
import type { BenchResult } from './result.ts'

const versions: OpenClawVersion[] = ['2026.1.30', '2026.9.6']
const loads = 9
const starts = 3

export async function bench(): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const version of versions) {
    const peer = openClawProgram(version)
    if (!('path' in peer)) throw new Error(peer.missing)
    results.push(...measureLoading(version, peer.path), ...(await measureStarts(version, peer.path)))
  }
  return results
}

/** In a process of its own each time, with nothing cached by the loader. */
function measureLoading(version: OpenClawVersion, program: string): BenchResult[] {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-claw-load-'))
  const script = join(folder, 'load.mjs')
  writeFileSync(script, loading(join(dirname(program), '../openclaw/package.json')))
  const runs = Array.from({ length: loads }, () => {
    const { stdout } = spawnSync(process.execPath, ['--expose-gc', script], { encoding: 'utf8' })
    return JSON.parse(stdout) as { ms: number; mb: number }
  })
  rmSync(folder, { recursive: true })
  const how = `median of ${loads} first loads by the module loader of OpenClaw (jiti, its cache off), with all registrations`
  return [
    atMost(`loading in ${version}, processor time`, median(runs.map(({ ms }) => ms)), 40, 'ms', how),
    atMost(
      `memory after loading in ${version}`,
      median(runs.map(({ mb }) => mb)),
      10,
      'MB',
      `${how}; resident set`,
    ),
  ]
}

function loading(openClawPackage: string): string {
  return `import { createRequire } from 'node:module'
const { createJiti } = createRequire(${JSON.stringify(openClawPackage)})('jiti')
const jiti = createJiti(import.meta.url, { interopDefault: true, fsCache: false })
gc()
const [cpu, rss] = [process.cpuUsage(), process.memoryUsage().rss]
const loaded = jiti(${JSON.stringify(join(pluginFolder, 'index.cjs'))})
const register = () => {}
;(loaded.default ?? loaded).register({ registerTool: register, registerCommand: register, registerGatewayMethod: register, registerService: register })
const { user, system } = process.cpuUsage(cpu)
gc()
console.log(JSON.stringify({ ms: (user + system) / 1000, mb: Math.max(0, process.memoryUsage().rss - rss) / 1e6 }))
`
}

interface Start {
  seconds: number
  processorSeconds: number
  mb: number
}

async function measureStarts(version: OpenClawVersion, program: string): Promise<BenchResult[]> {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-claw-starts-'))
  const [telegram, api] = [await TelegramApi.listen(), await startMessagesApi()]
  const claw = await prepareOpenClaw({ program, version, root, modelUrl: api.url, telegram, owner: 1 })
  try {
    claw.run(
      'plugins',
      'install',
      pluginFolder,
      ...(version === '2026.9.6' ? ['--force', '--accept-capabilities'] : []),
    )
    const [withPlugin, without]: [Start[], Start[]] = [[], []]
    for (let round = 0; round <= starts; round++) {
      const one = { with: await startOnce(claw, true), without: await startOnce(claw, false) }
      // The first round fills caches.
      if (round === 0) continue
      withPlugin.push(one.with)
      without.push(one.without)
    }
    return [compared(version, withPlugin, without)]
  } finally {
    await Promise.all([api.close(), telegram.close()])
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

async function startOnce(claw: OpenClaw, enabled: boolean): Promise<Start> {
  claw.editConfig((config) => {
    const { entries } = config['plugins'] as { entries: Record<string, { enabled: boolean }> }
    entries['rockpool-openclaw']!.enabled = enabled
  })
  const began = performance.now()
  const child = await claw.start()
  const seconds = (performance.now() - began) / 1_000
  const used = usedBy(child)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  return { seconds, ...used }
}

function usedBy({ pid }: ChildProcess): { processorSeconds: number; mb: number } {
  // After the name of the program, which may contain blanks: fields 14 and 15 are user and system time in hundredths.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const processorSeconds = (Number(fields[11]) + Number(fields[12])) / 100
  const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return { processorSeconds, mb: Number(kb) / 1_000 }
}

/** Starts differ by more than the plugin costs, so this figure only shows that nothing large is hidden. */
function compared(version: OpenClawVersion, withPlugin: Start[], without: Start[]): BenchResult {
  const of = (runs: Start[], field: keyof Start): number => median(runs.map((run) => run[field]))
  const text = (field: keyof Start, unit: string): string => {
    const spread =
      Math.max(...without.map((run) => run[field])) - Math.min(...without.map((run) => run[field]))
    return `${of(withPlugin, field).toFixed(1)} against ${of(without, field).toFixed(1)} ${unit} (they spread over ${spread.toFixed(1)})`
  }
  const more = of(withPlugin, 'processorSeconds') - of(without, 'processorSeconds')
  const spread =
    Math.max(...without.map((run) => run.processorSeconds)) -
    Math.min(...without.map((run) => run.processorSeconds))
  return {
    name: `start of the gateway ${version} with and without the plugin`,
    measured: `processor time ${text('processorSeconds', 's')}, until ready ${text('seconds', 's')}, memory ${text('mb', 'MB')}`,
    wanted: 'no more processor time than starts without it differ by, and 40 ms',
    ok: more <= spread + 0.04,
    how: `medians of ${starts} starts each, by turns: real program, scripted model, Telegram on loopback`,
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
