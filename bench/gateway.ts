// The gateway with 10,000 sessions, as a client on the same machine sees it. The program is the built one.
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answersDuring, floodNames } from '../test/support/gateway-floods.ts'
import { fillStateDir, keyOf } from './gateway/many-sessions.ts'
import { measureMemory } from './gateway/memory.ts'
import { openClient, startGateway, startProgram } from './gateway/program.ts'
import type { BenchClient } from './gateway/program.ts'
import { atMost } from './result.ts'
import type { BenchResult } from './result.ts'

const count = 10_000

export async function bench(): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-bench-'))
  try {
    await fillStateDir(dir, count)
    const memory = await measureMemory(dir)
    return [...(await measure(dir)), ...memory]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function measure(dir: string): Promise<BenchResult[]> {
  const started = performance.now()
  const gateway = await startGateway(dir)
  const readyMs = performance.now() - started
  const { url, wsUrl, token } = gateway
  try {
    const client = await openClient(wsUrl, token)
    await client.call('sessions.list', { limit: 50 })
    // The indexing thread of the start has ended by then.
    await sleep(5_000)
    const list = await times(300, () => client.call('sessions.list', { limit: 50 }))
    const patch = await times(300, (n) =>
      client.call('sessions.patch', { key: keyOf(n), thinkingLevel: 'high' }),
    )
    await loopDelayMs(url, token)
    const all = await times(5, () => client.call('sessions.list', { limit: 'all' }))
    const blockedMs = await loopDelayMs(url, token)
    const rates = await compareRates(wsUrl, token)
    client.socket.close()
    const floods = await slowestDuringFloods({ port: Number(new URL(url).port), token })
    const ratio = rates.gateway / rates.echo
    return [
      atMost('ready with 10,000 sessions', readyMs, 2000, 'ms', '`rockpool up` to its ready line'),
      atMost(
        'sessions.list {limit: 50}, p50',
        median(list),
        1.5,
        'ms',
        '300 calls, one after the other, one WebSocket',
      ),
      atMost('sessions.patch, durable, p50', median(patch), 5, 'ms', '300 calls on different sessions'),
      atMost(
        'longest block of the event loop',
        blockedMs,
        50,
        'ms',
        `five lists of all 10,000 (p50 ${median(all).toFixed(0)} ms)`,
      ),
      {
        name: 'requests a second against a bare ws echo',
        measured: `${ratio.toFixed(2)} (${Math.round(rates.gateway)}/s of ${Math.round(rates.echo)}/s)`,
        wanted: 'at least 0.5',
        ok: ratio >= 0.5,
        how: 'sessions.get by key, 8 connections with 32 requests under way, best of 3, both in this run',
      },
      ...floods,
    ]
  } finally {
    await gateway.stop()
  }
}

/** One process floods the gateway with requests; another client continues to send requests. */
async function slowestDuringFloods(target: { port: number; token: string }): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const flood of floodNames) {
    const answers = (await answersDuring(flood, target)).toSorted((a, b) => a - b)
    const p99 = answers[Math.floor(answers.length * 0.99)]!
    const how = `the slowest of ${answers.length} answers to another client (p99 ${p99.toFixed(1)} ms)`
    results.push(atMost(`answers to others during ${flood}`, answers.at(-1)!, 100, 'ms', how))
  }
  return results
}

async function times(rounds: number, work: (n: number) => Promise<void>): Promise<number[]> {
  const measured: number[] = []
  for (let n = 0; n < rounds; n++) {
    const started = performance.now()
    await work(n)
    measured.push(performance.now() - started)
  }
  return measured
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

async function compareRates(wsUrl: string, token: string): Promise<{ gateway: number; echo: number }> {
  const echo = await startProgram([join(import.meta.dirname, 'gateway/echo-server.mjs')], {})
  const echoUrl = `ws://127.0.0.1:${echo.line.trim()}`
  const best = { gateway: 0, echo: 0 }
  try {
    for (let round = 0; round < 3; round++) {
      best.echo = Math.max(best.echo, await rate(echoUrl))
      best.gateway = Math.max(best.gateway, await rate(wsUrl, token))
    }
  } finally {
    echo.process.kill()
  }
  return best
}

async function rate(url: string, token?: string): Promise<number> {
  const clients = await Promise.all(Array.from({ length: 8 }, () => openClient(url, token)))
  const until = performance.now() + 2000
  let done = 0
  const lane = async (client: BenchClient, n: number): Promise<void> => {
    for (; performance.now() < until; done++)
      await client.call('sessions.get', { key: keyOf((n * 7 + done) % count) })
  }
  const lanes = clients.flatMap((client, c) => Array.from({ length: 32 }, (_, i) => lane(client, c * 32 + i)))
  await Promise.all(lanes)
  for (const { socket } of clients) socket.close()
  return done / 2
}

/** The longest time since the last look that the gateway's event loop stood still. */
function loopDelayMs(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () =>
        resolve(Number(text.match(/^rockpool_event_loop_delay_max_seconds (\S+)$/m)![1]) * 1000),
      )
    })
    call.on('error', reject).end()
  })
}
