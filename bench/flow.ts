// How fast the way of a message is: everything durable, with the offline agent in place of Claude.
import { makeOfflineAgent } from '../src/agent/offline.ts'
import type { AgentRuntime } from '../src/domain/agent.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { FlowBench } from '../test/flow-bench.ts'
import { openFlow } from '../test/flow-bench.ts'
import type { BenchResult } from './result.ts'

export async function bench(): Promise<BenchResult[]> {
  return [...(await throughput(100, 60)), await addedTime(300)]
}

/** Each of `sessions` people writes the next message when the last one was answered. */
async function throughput(sessions: number, each: number): Promise<BenchResult[]> {
  const flow = await openFlow({ config: { messages: { queue: { mode: 'followup' } } } })
  const answered = new Map<string, () => void>()
  const send = flow.channel.send.bind(flow.channel)
  flow.channel.send = async (address, reply, options) => {
    const outcome = await send(address, reply, options)
    answered.get(address.to)?.()
    return outcome
  }
  const latencies: number[] = []
  const talk = async (person: string, count: number, measured: boolean): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const { promise, resolve } = Promise.withResolvers<void>()
      answered.set(person, resolve)
      const began = performance.now()
      await flow.channel.say(`message ${n}`, { from: person })
      await promise
      if (measured) latencies.push(performance.now() - began)
    }
  }
  const people = Array.from({ length: sessions }, (_, n) => `p${n}`)
  await Promise.all(people.map((person) => talk(person, 3, false)))
  const began = performance.now()
  await Promise.all(people.map((person) => talk(person, each, true)))
  const perSecond = (sessions * each) / ((performance.now() - began) / 1_000)
  await flow.stop()
  flow.remove()
  const p99 = percentile(latencies, 0.99)
  const how = `${sessions} sessions, each sends its next message when the last was answered; inbox, session, transcript, turn, outbox on disk with full durability`
  return [
    {
      name: 'messages a second',
      measured: perSecond.toFixed(0),
      wanted: '>= 1000',
      ok: perSecond >= 1_000,
      how,
    },
    {
      name: 'message to reply, p99',
      measured: `${p99.toFixed(1)} ms`,
      wanted: '< 100 ms',
      ok: p99 < 100,
      how,
    },
  ]
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
