// How fast the way of a message is: everything durable, with the offline agent in place of Claude. In a process of its own
// that is started as bin/rockpool.js starts the gateway.
import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import type { AgentRuntime } from '../src/domain/agent.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { FlowBench } from '../test/support/flow-bench.ts'
import { openFlow } from '../test/support/flow-bench.ts'
import { writingPeople } from '../test/support/writing-people.ts'
import type { BenchResult } from './result.ts'

export async function bench(): Promise<BenchResult[]> {
  const args = ['--max-semi-space-size=16', import.meta.filename, 'measure']
  const env = { ...process.env, UV_THREADPOOL_SIZE: '16' }
  const output = execFileSync(process.execPath, args, { env, encoding: 'utf8' })
  return JSON.parse(output.trim().split('\n').at(-1)!) as BenchResult[]
}

const runs = 3
const onDisk = 'inbox, session, transcript, turn and outbox on disk with full durability'

/** Each of `sessions` people writes the next message when the last one was answered. */
async function throughput(sessions: number, each: number): Promise<BenchResult> {
  const rates: number[] = []
  const cpuMicros: number[] = []
  for (let run = 0; run < runs; run++) {
    const chat = await openChat(sessions)
    const before = process.threadCpuUsage()
    rates.push(await chat.people.rate(each))
    const { user, system } = process.threadCpuUsage(before)
    cpuMicros.push((user + system) / (sessions * each))
    await chat.close()
  }
  rates.sort((a, b) => b - a)
  return {
    name: 'messages a second',
    measured: `${rates.map((rate) => rate.toFixed(0)).join(', ')} (the main thread: ${Math.min(...cpuMicros).toFixed(0)} µs for a message; the disk: ${syncedWrites()} synced writes a second)`,
    wanted: '>= 4000',
    ok: rates[0]! >= 4_000,
    how: `the best of ${runs} runs counts, as the disk is shared with other machines; ${sessions} sessions, each sends its next message when the last was answered; ${onDisk}; main thread: processor time, the best run; synced writes: 4 KiB and fdatasync, one after the other`,
  }
}

/** What the disk can do: writes of one page, each synced. */
function syncedWrites(): number {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-sync-'))
  const file = openSync(join(folder, 'pages'), 'w')
  const page = Buffer.alloc(4_096, 1)
  const count = 500
  const began = performance.now()
  for (let n = 0; n < count; n++) {
    writeSync(file, page, 0, page.length, n * page.length)
    fdatasyncSync(file)
  }
  const seconds = (performance.now() - began) / 1_000
  closeSync(file)
  rmSync(folder, { recursive: true })
  return Math.round(count / seconds)
}

/** Messages arrive at a steady rate, whether the earlier ones were answered or not. */
async function paced(sessions: number, perSecond: number, seconds: number): Promise<BenchResult> {
  const all: Array<{ p50: number; p99: number }> = []
  for (let run = 0; run < runs; run++) all.push(await pacedOnce(sessions, perSecond, seconds))
  all.sort((a, b) => a.p99 - b.p99)
  return {
    name: 'message to reply, p99',
    measured: all.map(({ p50, p99 }) => `${p99.toFixed(1)} ms (p50 ${p50.toFixed(1)} ms)`).join(', '),
    wanted: '< 100 ms',
    ok: all[0]!.p99 < 100,
    how: `the best of ${runs} runs counts; ${perSecond} messages a second over ${sessions} sessions for ${seconds} s; ${onDisk}`,
  }
}

async function pacedOnce(
  sessions: number,
  perSecond: number,
  seconds: number,
): Promise<{ p50: number; p99: number }> {
  const chat = await openChat(sessions)
  const { people } = chat
  const latencies: number[] = []
  const began = performance.now()
  const talking: Array<Promise<void>> = []
  for (let n = 0; n < perSecond * seconds; n++) {
    const due = began + (n * 1_000) / perSecond
    const early = due - performance.now()
    if (early >= 1) await new Promise((resolve) => setTimeout(resolve, early))
    talking.push(people.write(people.names[n % sessions]!).then((ms) => void latencies.push(ms)))
  }
  await Promise.all(talking)
  await chat.close()
  return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) }
}

/** Sessions in which people have written a few messages. */
async function openChat(sessions: number) {
  const flow = await openFlow({ config: { messages: { queue: { mode: 'followup', cap: 1_000 } } } })
  const people = writingPeople(flow, sessions)
  await people.rate(5)
  return {
    people,
    async close() {
      await flow.settled()
      await flow.stop()
      flow.remove()
    },
  }
}

/** Message accepted to prompt handed over, plus result to reply in the outbox. */
async function addedTime(turns: number): Promise<BenchResult> {
  const stamps = { handed: 0, result: 0 }
  const flow = await openFlow({ runtime: stamped(makeOfflineAgent({ clock: systemClock }), stamps) })
  const finished = watchOutbox(flow)
  const added: number[] = []
  for (let n = 0; n < turns + 20; n++) {
    const inOutbox = finished()
    await flow.channel.say(`message ${n}`)
    const accepted = performance.now()
    const queued = await inOutbox
    await flow.settled()
    if (n >= 20) added.push(stamps.handed - accepted + (queued - stamps.result))
  }
  await flow.stop()
  flow.remove()
  const p50 = percentile(added, 0.5)
  return {
    name: 'time added to a warm turn, p50',
    measured: `${p50.toFixed(2)} ms (p95 ${percentile(added, 0.95).toFixed(2)} ms)`,
    wanted: '<= 5 ms',
    ok: p50 <= 5,
    how: `${turns} turns of one session, one after the other: message accepted to prompt handed over, plus result to reply in the outbox`,
  }
}

/** The same agent, with the moments noted at which it gets a prompt and gives a result. */
function stamped(runtime: AgentRuntime, stamps: { handed: number; result: number }): AgentRuntime {
  return {
    ...runtime,
    async open(options) {
      const conversation = await runtime.open(options)
      return new Proxy(conversation, {
        get(target, name) {
          if (name !== 'turn') {
            const value: unknown = Reflect.get(target, name)
            return typeof value === 'function' ? value.bind(target) : value
          }
          return async (...args: Parameters<typeof target.turn>) => {
            stamps.handed = performance.now()
            const result = await target.turn(...args)
            stamps.result = performance.now()
            return result
          }
        },
      })
    },
  }
}

function watchOutbox(flow: FlowBench): () => Promise<number> {
  const { lanes } = flow.work
  const finish = lanes.finish.bind(lanes)
  let done: ((at: number) => void) | undefined
  lanes.finish = async (...args) => {
    const rows = await finish(...args)
    done?.(performance.now())
    return rows
  }
  return () => new Promise((resolve) => (done = resolve))
}

function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

if (process.argv[2] === 'measure') {
  const results = [await throughput(100, 60), await paced(100, 1_000, 8), await addedTime(300)]
  console.log(JSON.stringify(results))
}
