// Cost: by day as a heat map, by repository, agent, model and session, and how much the cache saved.
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { BudgetLeft, Costs } from '../data.ts'
import { minutes, shortPath, tokens, usd, visible } from '../format.ts'
import type { RockpoolEvent } from '../gateway.ts'
import { useLive } from '../live.ts'
import { Link } from '../parts/link.tsx'
import { Empty, Loaded, Loading, Problem } from '../parts/states.tsx'
import { follow, pathOf } from '../route.ts'
import type { Route } from '../route.ts'

const groupings = { repo: 'Repository', model: 'Model', agent: 'Agent', session: 'Most expensive' } as const
type Grouping = keyof typeof groupings
const dayMs = 86_400_000
const shownWeeks = 53

export function Cost({ by: wanted = 'repo' }: { by?: string }) {
  const by = (wanted in groupings ? wanted : 'repo') as Grouping
  const isOld = (event: RockpoolEvent): boolean => event.type === 'native-changed'
  const days = useLive('cc.costs', { by: 'day' }, isOld)
  const groups = useLive('cc.costs', { by }, isOld)
  const stats = useLive('coding.stats', {}, (event) => event.type === 'coding-changed')
  // Shown together, so that the page does not move when the second one arrives.
  if (days.data === undefined || stats.data === undefined) {
    const failed = days.error === undefined ? stats : days
    return failed.error === undefined ? <Loading /> : <Problem text={failed.error} retry={failed.reload} />
  }
  const { totals, parts, by: lines, pricesAsOf } = days.data
  return (
    <div class="cost">
      <h1>Cost</h1>
      <dl class="tiles">
        <Tile name="Today" value={usd(since(lines, 1))} />
        <Tile name="7 days" value={usd(since(lines, 7))} />
        <Tile name="30 days" value={usd(since(lines, 30))} />
        <Tile name="Total" value={usd(totals.costUsd)} />
        <Tile name="Cache hit rate" value={`${Math.round(hitRate(totals) * 100)}%`} />
        <Tile name="Output" value={`${tokens(totals.outputTokens)} tokens`} />
        <Tile name="Waited for people" value={minutes(stats.data.waitedMs)} />
      </dl>
      <p>
        In all: chats {usd(parts.chatsUsd)}, coding sessions {usd(parts.codingUsd)}, Claude Code alone{' '}
        {usd(parts.nativeUsd)}.
      </p>
      <p class="faint">API prices of {pricesAsOf}; a subscription is not billed by them.</p>
      <HeatMap days={new Map(lines.map((line) => [line.key, line.costUsd]))} />
      <Budgets budgets={stats.data.budgets} />
      <nav class="tabs" aria-label="Group by">
        {Object.entries(groupings).map(([group, label]) => {
          const route = { view: 'cost', by: group } as const
          return (
            <a
              key={group}
              class="button"
              href={pathOf(route)}
              aria-current={by === group ? 'true' : undefined}
              onClick={follow(route)}
            >
              {label}
            </a>
          )
        })}
      </nav>
      <Loaded live={groups}>{({ by: lines }) => <Bars lines={lines} by={by} />}</Loaded>
    </div>
  )
}

/** The cost of the last days, today included. */
function since(lines: Costs['by'], days: number): number {
  const first = dayOf(Date.now() - (days - 1) * dayMs)
  return lines.reduce((sum, line) => (line.key >= first ? sum + line.costUsd : sum), 0)
}

function Budgets({ budgets }: { budgets: BudgetLeft[] }) {
  if (budgets.length === 0) return null
  return (
    <section aria-label="Budgets">
      <h2>Budgets of coding sessions</h2>
      <table class="bars">
        <tbody>
          {budgets.map((budget) => (
            <tr key={`${budget.of} ${budget.name}`}>
              <th scope="row" title={visible(budget.name)}>
                {budgetName(budget)}
              </th>
              <td class="number">
                {usd(Math.max(0, budget.limitUsd - budget.spentUsd))} left of {usd(budget.limitUsd)}
              </td>
              <td class="meter">
                <meter
                  min={0}
                  max={budget.limitUsd}
                  value={budget.spentUsd}
                  aria-label={`${budgetName(budget)}: ${usd(budget.spentUsd)} of ${usd(budget.limitUsd)} spent`}
                />
              </td>
              <td class="number faint">
                {budget.runsOutAt !== undefined && `runs out about ${timeOf(budget.runsOutAt)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function budgetName({ of, name }: BudgetLeft): string {
  if (of === 'day') return 'Everything, today'
  if (of === 'agent') return `Agent ${visible(name)}, today`
  return of === 'repository' ? `${visible(shortPath(name))}, today` : visible(name)
}

function timeOf(at: number): string {
  return new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }).format(at)
}

function Tile({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function Bars({ lines, by }: { lines: Costs['by']; by: Grouping }) {
  const most = Math.max(...lines.map((line) => line.costUsd), 0.0001)
  if (lines.length === 0) return <Empty title="Nothing has cost anything yet" />
  return (
    <table class="bars">
      <tbody>
        {lines.slice(0, 50).map((line) => (
          <tr key={line.key}>
            <th scope="row">
              <Name line={line} by={by} />
            </th>
            <td class="number">{usd(line.costUsd)}</td>
            <td class="meter">
              <meter
                min={0}
                max={most}
                value={line.costUsd}
                aria-label={`${visible(line.name ?? line.key)}: ${usd(line.costUsd)}`}
              />
            </td>
            <td class="number faint">{Math.round(hitRate(line) * 100)}% cached</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The view of a session or a repository. */
function Name({ line, by }: { line: Costs['by'][number]; by: Grouping }) {
  const name = visible(line.name ?? line.key) || '(none)'
  if (by !== 'session' && by !== 'repo') return <>{name}</>
  const route: Route =
    by === 'session' ? { view: 'session', id: line.key } : { view: 'project', path: line.key }
  return (
    <>
      <Link to={route}>{by === 'repo' ? shortPath(name) : name}</Link>
      {by === 'repo' && <span class="faint path">{name}</span>}
    </>
  )
}

/** A year with a column for each week, starting on Monday. Darker is more; each day has its amount as a title. */
function HeatMap({ days }: { days: Map<string, number> }) {
  const most = Math.max(...days.values(), 0.0001)
  const monday = (new Date().getDay() + 6) % 7
  const start = Date.now() - ((shownWeeks - 1) * 7 + monday) * dayMs
  const cells = Array.from({ length: (shownWeeks - 1) * 7 + monday + 1 }, (_, i) => start + i * dayMs)
  const weeks = Array.from({ length: shownWeeks }, (_, i) => start + i * 7 * dayMs)
  const figure = useRef<HTMLElement>(null)
  // Scrolls to today at the end, if the year does not fit.
  useLayoutEffect(() => figure.current?.scrollTo({ left: figure.current.scrollWidth }), [])
  return (
    <figure class="heat-map" ref={figure} tabIndex={0} aria-label="Cost by day">
      <div class="months" aria-hidden="true">
        {weeks.map((at, i) => (
          <span key={at}>{isNewMonth(at, weeks[i - 1]) ? monthOf(at) : ''}</span>
        ))}
      </div>
      <div class="heat" role="img" aria-label={`Cost by day, at most ${usd(most)} a day`}>
        {cells.map((at) => {
          const day = dayOf(at)
          const cost = days.get(day) ?? 0
          return <span key={day} class={`level${levelOf(cost, most)}`} title={`${day}: ${usd(cost)}`} />
        })}
      </div>
      <figcaption class="faint">
        less
        {[0, 1, 2, 3, 4].map((level) => (
          <span key={level} class={`level${level}`} />
        ))}
        more, at most {usd(most)} a day
      </figcaption>
    </figure>
  )
}

function levelOf(cost: number, most: number): number {
  return cost === 0 ? 0 : Math.ceil((cost / most) * 4)
}

/** Weeks that begin a month. The first column may be the last week of a month, where the name does not fit. */
function isNewMonth(at: number, before: number | undefined): boolean {
  return before !== undefined && new Date(at).getMonth() !== new Date(before).getMonth()
}

function monthOf(at: number): string {
  return new Intl.DateTimeFormat(undefined, { month: 'short' }).format(at)
}

/** The share of input tokens that came from the cache. */
function hitRate(
  line: Pick<Costs['totals'], 'inputTokens' | 'cacheReadTokens' | 'cacheCreationTokens'>,
): number {
  const sent = line.inputTokens + line.cacheReadTokens + line.cacheCreationTokens
  return sent === 0 ? 0 : line.cacheReadTokens / sent
}

function dayOf(at: number): string {
  return new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)
}
