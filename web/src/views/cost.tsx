// Cost: a range of days, a bar for each day by model, a table by repository, model, agent or session, and the budgets.
import { useContext } from 'preact/hooks'
import type { Costs } from '../data.ts'
import { csvCell, download, minutes, shortPath, tokens, usd, visible } from '../format.ts'
import type { RockpoolEvent } from '../gateway.ts'
import { useLive } from '../live.ts'
import { Budgets } from '../parts/budgets.tsx'
import { StatusContext } from '../parts/claude-state.tsx'
import { DayBars } from '../parts/day-bars.tsx'
import { Link } from '../parts/link.tsx'
import { Empty, Loaded, Loading, Problem } from '../parts/states.tsx'
import { follow, go, pathOf } from '../route.ts'
import type { Look, Route } from '../route.ts'

const groupings = { repo: 'Repository', model: 'Model', agent: 'Agent', session: 'Session' } as const
type Grouping = keyof typeof groupings
type Line = Costs['by'][number]

const ranges: Array<[label: string, days: number]> = [
  ['Today', 1],
  ['7 days', 7],
  ['30 days', 30],
  ['90 days', 90],
  ['1 year', 365],
]
const defaultDays = 30

export function Cost({ by: wanted = 'repo', look }: { by?: string; look: Look }) {
  const by = (wanted in groupings ? wanted : 'repo') as Grouping
  const { from = daysAgo(defaultDays - 1), to = daysAgo(0) } = look
  const range = { firstDay: from, lastDay: to }
  const isOld = (event: RockpoolEvent): boolean => event.type === 'native-changed'
  const all = useLive('cc.costs', { by: 'day' }, isOld)
  const days = useLive('cc.costs', { by: 'day', ...range }, isOld)
  const groups = useLive('cc.costs', { by, ...range }, isOld)
  const status = useContext(StatusContext)
  const stats = useLive('coding.stats', {}, (event) => event.type === 'coding-changed')
  // Shown together, so that the page does not move when the next one arrives.
  const loading = [all, days, stats].find(({ data }) => data === undefined)
  if (loading || !all.data || !days.data || !stats.data) {
    const error = loading?.error
    return error === undefined ? <Loading /> : <Problem text={error} retry={loading?.reload} />
  }
  const { totals, parts, pricesAsOf } = days.data
  // The day of the machine, as in the header; a browser may be in another time zone.
  const today = status?.cost.todayUsd
  const show = (next: Look): void => go({ view: 'cost', by }, next)
  return (
    <div class="page cost">
      <h1>Cost</h1>
      <Range from={from} to={to} show={(range) => show(range)} />
      <dl class="tiles">
        <Tile name="Today" value={usd(today)} />
        <Tile name="In this range" value={usd(totals.costUsd)} />
        <Tile name="Total" value={usd(all.data.totals.costUsd)} />
        <Tile name="Cache hit rate" value={`${Math.round(hitRate(totals) * 100)}%`} />
        <Tile name="Output" value={`${tokens(totals.outputTokens)} tokens`} />
        <Tile name="Waited for you" value={minutes(stats.data.waitedMs)} />
      </dl>
      <DayBars
        lines={days.data.by}
        days={daysBetween(from, to)}
        onDay={(day) => show(from === day && to === day ? {} : { from: day, to: day })}
      />
      <p>
        In this range: coding sessions {usd(parts.codingUsd)}, chats {usd(parts.chatsUsd)}, outside Rockpool{' '}
        {usd(parts.nativeUsd)}.{' '}
        <span class="faint">
          Estimated at API list prices of {pricesAsOf}; subscriptions are billed differently. A day begins at
          midnight on the machine that runs Rockpool. “Waited for you” adds up all coding sessions, and
          includes the time in which they wait for the next message.
        </span>
      </p>
      <nav class="tabs" aria-label="Group by">
        {Object.entries(groupings).map(([group, label]) => {
          const route = { view: 'cost', by: group } as const
          const range = { from: look.from, to: look.to }
          return (
            <a
              key={group}
              href={pathOf(route, range)}
              aria-current={by === group ? 'true' : undefined}
              onClick={follow(route, range)}
            >
              {label}
            </a>
          )
        })}
      </nav>
      <Loaded live={groups}>
        {({ by: lines }) => <Table lines={lines} by={by} name={`${from}-${to}`} />}
      </Loaded>
      <Budgets budgets={stats.data.budgets} />
    </div>
  )
}

interface RangeProps {
  from: string
  to: string
  show: (range: { from: string; to: string }) => void
}

function Range({ from, to, show }: RangeProps) {
  const today = daysAgo(0)
  return (
    <div class="range">
      <div class="pills" role="group" aria-label="Range">
        {ranges.map(([label, days]) => {
          const range = { from: daysAgo(days - 1), to: today }
          return (
            <button
              key={label}
              type="button"
              aria-pressed={from === range.from && to === range.to}
              onClick={() => show(range)}
            >
              {label}
            </button>
          )
        })}
      </div>
      <label>
        From{' '}
        <input
          type="date"
          value={from}
          max={to}
          onChange={(event) => event.currentTarget.value && show({ from: event.currentTarget.value, to })}
        />
      </label>
      <label>
        to{' '}
        <input
          type="date"
          value={to}
          min={from}
          max={today}
          onChange={(event) => event.currentTarget.value && show({ from, to: event.currentTarget.value })}
        />
      </label>
    </div>
  )
}

function Tile({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

const shownLines = 100

function Table({ lines, by, name }: { lines: Line[]; by: Grouping; name: string }) {
  if (lines.length === 0) return <Empty title="Nothing was spent in this range" />
  const total = Math.max(
    lines.reduce((sum, line) => sum + line.costUsd, 0),
    0.0001,
  )
  const percent = ({ costUsd }: Line): string => `${Math.round((100 * costUsd) / total)}%`
  return (
    <>
      <table class="costs">
        <thead>
          <tr>
            <th scope="col">{groupings[by]}</th>
            <th scope="col">Cost</th>
            <th scope="col" class="bar-column">
              Share
            </th>
            <th scope="col">Input</th>
            <th scope="col">Output</th>
            <th scope="col">Cache read</th>
            <th scope="col">Cache written</th>
            <th scope="col">Cached</th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, shownLines).map((line) => (
            <tr key={line.key}>
              <th scope="row">
                <Name line={line} by={by} />
              </th>
              <td class="number">{usd(line.costUsd)}</td>
              <td class="bar-column">
                <meter
                  min={0}
                  max={total}
                  value={line.costUsd}
                  aria-label={`${visible(line.name)}: ${percent(line)} of the cost`}
                />{' '}
                <span class="number">{percent(line)}</span>
              </td>
              <td class="number">{tokens(line.inputTokens)}</td>
              <td class="number">{tokens(line.outputTokens)}</td>
              <td class="number">{tokens(line.cacheReadTokens)}</td>
              <td class="number">{tokens(line.cacheCreationTokens)}</td>
              <td class="number">{Math.round(hitRate(line) * 100)}%</td>
            </tr>
          ))}
        </tbody>
      </table>
      <button
        type="button"
        onClick={() => download(`rockpool-cost-${by}-${name}.csv`, asCsv(lines, by), 'text/csv')}
      >
        Save as CSV
      </button>
    </>
  )
}

/** The view of a session or a repository. */
function Name({ line, by }: { line: Line; by: Grouping }) {
  const name = visible(line.name) || '(none)'
  if (by !== 'session' && by !== 'repo') return <>{name}</>
  const route: Route =
    by === 'session' ? { view: 'session', id: line.key } : { view: 'project', path: line.key }
  return (
    <Link to={route} title={name}>
      {by === 'repo' ? shortPath(name) : name}
    </Link>
  )
}

function asCsv(lines: Line[], by: Grouping): string {
  const head = [
    by,
    'name',
    'costUsd',
    'inputTokens',
    'outputTokens',
    'cacheReadTokens',
    'cacheCreationTokens',
  ]
  const rows = lines.map((line) => [
    csvCell(line.key),
    csvCell(line.name),
    line.costUsd.toFixed(6),
    line.inputTokens,
    line.outputTokens,
    line.cacheReadTokens,
    line.cacheCreationTokens,
  ])
  return [head, ...rows].map((row) => row.join(',')).join('\n')
}

/** The share of input tokens that came from the cache. */
function hitRate(
  line: Pick<Costs['totals'], 'inputTokens' | 'cacheReadTokens' | 'cacheCreationTokens'>,
): number {
  const sent = line.inputTokens + line.cacheReadTokens + line.cacheCreationTokens
  return sent === 0 ? 0 : line.cacheReadTokens / sent
}

// Calculated at noon: a day has 23 or 25 hours twice a year.
function daysAgo(days: number): string {
  const now = new Date()
  return dayOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - days, 12))
}

/** Every day of the range, those without costs included; at most two years. */
function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  const day = new Date(`${from}T12:00:00`)
  while (dayOf(day) <= to && days.length < 731) {
    days.push(dayOf(day))
    day.setDate(day.getDate() + 1)
  }
  return days
}

function dayOf(at: Date): string {
  const two = (number: number): string => String(number).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}
