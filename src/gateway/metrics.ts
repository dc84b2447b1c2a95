// Numbers for GET /metrics, in Prometheus' text format.
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

/** How often the event loop is looked at. */
const lookMs = 20

export class Metrics {
  /** Operation, then outcome. */
  #calls = new Map<string, Map<string, Count>>()
  #loop = monitorEventLoopDelay({ resolution: lookMs })

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
    const memory = process.memoryUsage.rss()
    const lines = [
      ...metric(
        'rockpool_calls_total',
        'counter',
        'Operations performed.',
        this.#perCall((count) => count.calls),
      ),
      ...metric(
        'rockpool_call_seconds_total',
        'counter',
        'Time in operations.',
        this.#perCall((c) => c.seconds),
      ),
      ...metric('rockpool_connections', 'gauge', 'Open WebSockets.', [['', gauges.connections]]),
      ...metric('rockpool_unauthenticated_sockets', 'gauge', 'Sockets that are not authenticated yet.', [
        ['', gauges.unauthenticated],
      ]),
      ...metric('rockpool_auth_failures_total', 'counter', 'Wrong credentials.', [['', gauges.authFailures]]),
      ...metric('rockpool_events_total', 'counter', 'Events so far.', [['', gauges.events]]),
      ...metric('rockpool_uptime_seconds', 'gauge', 'Since the start.', [['', gauges.uptimeSeconds]]),
      ...metric('rockpool_event_loop_delay_seconds', 'gauge', '99th percentile since the last look.', [
        ['', delaySeconds(this.#loop.percentile(99))],
      ]),
      ...metric('rockpool_event_loop_delay_max_seconds', 'gauge', 'The longest since the last look.', [
        ['', delaySeconds(this.#loop.max)],
      ]),
      ...metric('process_resident_memory_bytes', 'gauge', 'Memory in use.', [['', memory]]),
    ]
    this.#loop.reset()
    return `${lines.join('\n')}\n`
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

/** Node counts from look to look; a loop that nothing delays comes back after one such time. */
function delaySeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - lookMs / 1000)
}

function metric(name: string, type: string, help: string, values: Array<[string, number]>): string[] {
  const rows = values.map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...rows]
}
