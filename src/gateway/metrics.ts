// The numbers of GET /metrics, in the text format of Prometheus.
import { monitorEventLoopDelay } from 'node:perf_hooks'

interface Count {
  calls: number
  seconds: number
}

/** Values that are read at each scrape. */
export interface Gauges {
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
  #loop = monitorEventLoopDelay({ resolution: sampleMs })

  constructor() {
    this.#loop.enable()
  }

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
    const delay = { p99: delaySeconds(this.#loop.percentile(99)), max: delaySeconds(this.#loop.max) }
    const metrics: Array<
      [name: string, type: 'counter' | 'gauge', help: string, values: Array<[string, number]>]
    > = [
      ['rockpool_calls_total', 'counter', 'Operations performed.', this.#perCall(({ calls }) => calls)],
      [
        'rockpool_call_seconds_total',
        'counter',
        'Time in operations.',
        this.#perCall(({ seconds }) => seconds),
      ],
      ['rockpool_connections', 'gauge', 'Open WebSockets.', single(gauges.connections)],
      [
        'rockpool_unauthenticated_sockets',
        'gauge',
        'Sockets that are not authenticated yet.',
        single(gauges.unauthenticated),
      ],
      ['rockpool_auth_failures_total', 'counter', 'Wrong credentials.', single(gauges.authFailures)],
      ['rockpool_events_total', 'counter', 'Events so far.', single(gauges.events)],
      ['rockpool_uptime_seconds', 'gauge', 'Since the start.', single(gauges.uptimeSeconds)],
      [
        'rockpool_event_loop_delay_seconds',
        'gauge',
        '99th percentile since the last scrape.',
        single(delay.p99),
      ],
      ['rockpool_event_loop_delay_max_seconds', 'gauge', 'Maximum since the last scrape.', single(delay.max)],
      ['process_resident_memory_bytes', 'gauge', 'Memory in use.', single(process.memoryUsage.rss())],
    ]
    this.#loop.reset()
    return metrics.flatMap(([name, type, help, values]) => formatMetric(name, type, help, values)).join('')
  }

  close(): void {
    this.#loop.disable()
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

function formatMetric(name: string, type: string, help: string, values: Array<[string, number]>): string[] {
  const rows = values.map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`)
  return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${type}\n`, ...rows]
}
