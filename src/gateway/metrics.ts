// The numbers of GET /metrics, in the text format of Prometheus.
import { monitorEventLoopDelay } from 'node:perf_hooks'

interface Count {
  calls: number
  seconds: number
}

/** Values that are read at each scrape. */
interface Gauges {
  connections: number
  unauthenticated: number
  authFailures: number
  events: number
  uptimeSeconds: number
}

/** How often the event loop is sampled. */
const sampleMs = 20

export class Metrics {
  /** Operation, then outcome. */
  #calls = new Map<string, Map<string, Count>>()
  /** Sampled from the first scrape on: each sample wakes the process, which otherwise sleeps. */
  #loop: ReturnType<typeof monitorEventLoopDelay> | undefined

  called(operation: string, outcome: string, ms: number): void {
    let outcomes = this.#calls.get(operation)
    if (!outcomes) this.#calls.set(operation, (outcomes = new Map()))
    let count = outcomes.get(outcome)
    if (!count) outcomes.set(outcome, (count = { calls: 0, seconds: 0 }))
    count.calls++
    count.seconds += ms / 1000
  }

  text(gauges: Gauges): string {
    const single = (value: number): Array<[string, number]> => [['', value]]
    this.#loop ??= monitorEventLoopDelay({ resolution: sampleMs })
    const delay = { p99: delaySeconds(this.#loop.percentile(99)), max: delaySeconds(this.#loop.max) }
    this.#loop.reset()
    this.#loop.enable()
    const waiting = 'Sockets that are not authenticated yet.'
    return [
      metric(
        'rockpool_calls_total',
        'Operations performed.',
        this.#perCall(({ calls }) => calls),
      ),
      metric(
        'rockpool_call_seconds_total',
        'Time in operations.',
        this.#perCall(({ seconds }) => seconds),
      ),
      metric('rockpool_connections', 'Open WebSockets.', single(gauges.connections)),
      metric('rockpool_unauthenticated_sockets', waiting, single(gauges.unauthenticated)),
      metric('rockpool_auth_failures_total', 'Wrong credentials.', single(gauges.authFailures)),
      metric('rockpool_events_total', 'Events so far.', single(gauges.events)),
      metric('rockpool_uptime_seconds', 'Since the start.', single(gauges.uptimeSeconds)),
      metric(
        'rockpool_event_loop_delay_seconds',
        '99th percentile since the last scrape.',
        single(delay.p99),
      ),
      metric('rockpool_event_loop_delay_max_seconds', 'Maximum since the last scrape.', single(delay.max)),
      metric('process_resident_memory_bytes', 'Memory in use.', single(process.memoryUsage.rss())),
    ].join('')
  }

  close(): void {
    this.#loop?.disable()
  }

  #perCall(value: (count: Count) => number): Array<[string, number]> {
    return [...this.#calls].flatMap(([operation, outcomes]) =>
      [...outcomes].map(([outcome, count]): [string, number] => [
        `operation="${operation}",outcome="${outcome}"`,
        value(count),
      ]),
    )
  }
}

/** Node measures the time between two samples, which is the sampling interval if nothing delays the loop. */
function delaySeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - sampleMs / 1000)
}

/** Counters end with `_total`; all others are gauges. */
function metric(name: string, help: string, values: Array<[string, number]>): string {
  const type = name.endsWith('_total') ? 'counter' : 'gauge'
  const rows = values.map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${rows.join('')}`
}
