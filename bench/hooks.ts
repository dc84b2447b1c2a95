// What a hook of Rockpool's plugin adds to a tool call of Claude Code, by kind of hook, with the gateway running and stopped. In one
// session of the real binary every second Read has the hook, so that both are measured under the same load.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { readClaudeHookFile } from '../src/store/claude-hook-file.ts'
import { claudeBinary, makeClaudeHome, testModel } from '../test/support/claude-home.ts'
import type { ClaudeHome } from '../test/support/claude-home.ts'
import { startMessagesApi } from '../test/support/messages-api.ts'
import type { MessagesApi } from '../test/support/messages-api.ts'
import { startGateway } from './gateway/program.ts'
import { atMost } from './result.ts'
import type { BenchResult } from './result.ts'

const execute = promisify(execFile)
const plugin = join(import.meta.dirname, '../plugins/claude-code/dist')
const calls = 100
const limitMs = 15

const kinds = ['mcp_tool', 'http', 'shell line'] as const
type Kind = (typeof kinds)[number]

export async function bench(): Promise<BenchResult[]> {
  const api = await startMessagesApi()
  const home = makeClaudeHome({ apiUrl: api.url, name: 'hooks' })
  try {
    for (const file of ['hooked.txt', 'plain.txt']) writeFileSync(join(home.project, file), 'text')
    const gateway = await startGateway(home.stateDir)
    // A stopped gateway removes the file; the hooks of this bench need its address and token all the same.
    const reached = readClaudeHookFile(home.stateDir)!
    const running = { kinds: await measureKinds(api, home, reached), own: await measureServer(home) }
    await gateway.stop()
    const stopped = { kinds: await measureKinds(api, home, reached), own: await measureServer(home) }
    return [...resultsOf(running, 'running'), ...resultsOf(stopped, 'stopped')]
  } finally {
    await api.close()
    home.remove()
  }
}

interface Added {
  p50: number
  p99: number
  /** How much calls without the hook vary, p99 over p50. A p99 below that cannot be told from chance. */
  noise: number
}

/** `own`: the part of Rockpool in a call of kind `mcp_tool`. */
interface Measured {
  kinds: Map<Kind, Added>
  own: { p50: number; p99: number }
}

type Reached = NonNullable<ReturnType<typeof readClaudeHookFile>>

async function measureKinds(api: MessagesApi, home: ClaudeHome, reached: Reached): Promise<Map<Kind, Added>> {
  const measured = new Map<Kind, Added>()
  for (const kind of kinds) measured.set(kind, await measure(api, home, hookOf(kind, reached)))
  return measured
}

function hookOf(kind: Kind, { url, token }: Reached): object {
  if (kind === 'http') return { type: 'http', url, timeout: 5, headers: { authorization: `Bearer ${token}` } }
  if (kind === 'shell line') return { type: 'command', command: `sh "${plugin}/hooks/end.sh"`, timeout: 5 }
  // The same call as the plugin's own.
  const text = readFileSync(join(plugin, 'hooks', 'hooks.json'), 'utf8')
  const { hooks } = JSON.parse(text) as { hooks: Record<string, Array<{ hooks: object[] }>> }
  return hooks['PostToolBatch']![0]!.hooks[0]!
}

/** The time between two requests to the model, with the hook and without, in one session. */
async function measure(api: MessagesApi, home: ClaudeHome, hook: object): Promise<Added> {
  const pathOf = (file: string): string => join(home.project, file)
  const settings = {
    hooks: { PostToolUse: [{ matcher: 'Read', hooks: [{ ...hook, if: `Read(/${pathOf('hooked.txt')})` }] }] },
  }
  mkdirSync(home.configDir, { recursive: true })
  writeFileSync(join(home.configDir, 'settings.json'), JSON.stringify(settings))
  const files = Array.from({ length: calls * 2 }, (_, i) => (i % 2 === 0 ? 'hooked.txt' : 'plain.txt'))
  const steps = files.map((file) => ({ tools: [{ name: 'Read', input: { file_path: pathOf(file) } }] }))
  api.script('read them', [...steps, { text: 'done' }])
  const before = api.calls().length
  const args = ['-p', 'read them', '--plugin-dir', plugin, '--model', testModel]
  const running = execute(claudeBinary, args, { cwd: home.project, env: home.variables, timeout: 600_000 })
  running.child.stdin!.end()
  await running
  const times = api
    .calls()
    .slice(before)
    .map(({ at }) => at)
  const took = times.slice(1).map((at, i) => at - times[i]!)
  const hooked = took.filter((_, i) => i % 2 === 0)
  const plain = took.filter((_, i) => i % 2 === 1)
  return {
    p50: percentile(hooked, 50) - percentile(plain, 50),
    p99: percentile(hooked, 99) - percentile(plain, 99),
    noise: percentile(plain, 99) - percentile(plain, 50),
  }
}

/** One call after the other to the plugin's server, as Claude Code makes them; each goes to the gateway and back, if it runs. */
async function measureServer(home: ClaudeHome): Promise<Measured['own']> {
  const server = spawn(process.execPath, [join(plugin, 'server.mjs')], {
    env: home.variables,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
  const fields = { hook_event_name: 'PostToolBatch', session_id: 'bench-session', cwd: home.project }
  const took: number[] = []
  for (let id = 0; id < 1_050; id++) {
    const started = performance.now()
    const params = { name: 'hook', arguments: fields }
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    await answers.next()
    // The first calls load code in both processes.
    if (id >= 50) took.push(performance.now() - started)
  }
  server.stdin.end()
  return { p50: percentile(took, 50), p99: percentile(took, 99) }
}

function percentile(values: number[], at: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil((values.length * at) / 100) - 1]!
}

function resultsOf({ kinds: measured, own }: Measured, gateway: string): BenchResult[] {
  const ownHow =
    "1,000 calls to the plugin's server, each passed on to the gateway and back if it runs; without Claude Code's own part"
  const ownName = `mcp_tool, gateway ${gateway}: the part of Rockpool`
  const ownResult = {
    ...atMost(ownName, own.p99, limitMs, 'ms', ownHow),
    measured: `p50 ${own.p50.toFixed(1)} ms, p99 ${own.p99.toFixed(1)} ms`,
  }
  return [ownResult, ...kinds.map((kind) => resultOf(kind, measured.get(kind)!, gateway, own))]
}

function resultOf(
  kind: Kind,
  { p50, p99, noise }: Added,
  gateway: string,
  own: Measured['own'],
): BenchResult {
  const how = `${calls} Read calls with the hook and ${calls} without, in turn, in one session of the real binary; differences of the percentiles`
  const name = `${kind}, gateway ${gateway}: added to a tool call`
  const isClear = noise <= limitMs
  // Only the kind that the plugin uses for frequent hooks has a limit; the others are measured for comparison.
  if (kind !== 'mcp_tool') {
    const tail = isClear ? `p99 ${p99.toFixed(1)} ms` : `calls without the hook vary by ${noise} ms`
    return { name, measured: `p50 ${p50.toFixed(1)} ms, ${tail}`, wanted: 'for comparison', ok: true, how }
  }
  // Calls of Claude Code vary by more than the limit without any hook. What the hook adds to them varies with our part.
  const tail = isClear ? p99 : p50 + own.p99 - own.p50
  const note = isClear
    ? ''
    : ` (estimated: the median and the spread of our part, because calls without the hook vary by ${noise} ms)`
  return {
    ...atMost(name, tail, limitMs, 'ms', `${how}; the plugin uses this kind`),
    measured: `p50 ${p50.toFixed(1)} ms, p99 ${tail.toFixed(1)} ms${note}`,
    wanted: `p99 at most ${limitMs} ms`,
  }
}
