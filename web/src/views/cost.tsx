// What it all costs: by day as a heat map, by repository, agent, model and session, and how much the cache saved.
import { useState } from 'preact/hooks'
import type { Costs } from '../data.ts'
import { minutes, tokens, usd, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { Loaded } from '../parts/states.tsx'

const groupings = ['repo', 'model', 'agent', 'session'] as const
const shownDays = 26 * 7

interface Stats {
  waitedMs: number
  budgets: Array<{ name: string; limitUsd: number; spentUsd: number; runsOutAt?: number }>
}

export function Cost() {
  const [by, setBy] = useState<(typeof groupings)[number]>('repo')
  const days = useLive<Costs>('cc.costs', { by: 'day' }, (event) => event.type === 'native-changed')
  const groups = useLive<Costs>('cc.costs', { by }, (event) => event.type === 'native-changed')
  const stats = useLive<Stats>('coding.stats', {}, (event) => event.type === 'coding-changed')
  return (
    <div class="cost">
      <h1>Cost</h1>
      <Loaded live={days}>
        {({ totals, by: lines }) => (
          <>
            <dl class="tiles">
              <Tile name="Total" value={usd(totals.costUsd)} />
              <Tile name="Today" value={usd(lines.find((line) => line.key === today())?.costUsd ?? 0)} />
              <Tile name="Cache hit rate" value={`${Math.round(hitRate(totals) * 100)}%`} />
              <Tile name="Output" value={`${tokens(totals.outputTokens)} tokens`} />
              <Tile name="Waited for people" value={minutes(stats.data?.waitedMs ?? 0)} />
            </dl>
            <HeatMap days={new Map(lines.map((line) => [line.key, line.costUsd]))} />
          </>
        )}
      </Loaded>
      <Budgets budgets={stats.data?.budgets ?? []} />
      <div class="tabs" role="tablist" aria-label="Group by">
        {groupings.map((group) => (
          <button
            key={group}
            type="button"
            role="tab"
            aria-selected={by === group}
            onClick={() => setBy(group)}
          >
            {group}
          </button>
        ))}
      </div>
      <Loaded live={groups}>{({ by: lines }) => <Bars lines={lines} />}</Loaded>
    </div>
  )
}

function Budgets({ budgets }: Pick<Stats, 'budgets'>) {
  if (budgets.length === 0) return null
  return (
    <section aria-label="Budgets">
      <h2>Budgets</h2>
      <table class="bars">
        <tbody>
          {budgets.map((budget) => (
            <tr key={budget.name}>
              <th scope="row">{visible(budget.name)}</th>
              <td class="number">
                {usd(Math.max(0, budget.limitUsd - budget.spentUsd))} left of {usd(budget.limitUsd)}
              </td>
              <td class="meter">
                <meter
                  min={0}
                  max={budget.limitUsd}
                  value={budget.spentUsd}
                  aria-label={`${budget.name}: ${usd(budget.spentUsd)} of ${usd(budget.limitUsd)} spent`}
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

function Bars({ lines }: { lines: Costs['by'] }) {
  const most = Math.max(...lines.map((line) => line.costUsd), 0.0001)
  return (
    <table class="bars">
      <tbody>
        {lines.slice(0, 50).map((line) => (
          <tr key={line.key}>
            <th scope="row">{visible(line.name ?? line.key)}</th>
            <td class="number">{usd(line.costUsd)}</td>
            <td class="meter">
              <meter
                min={0}
                max={most}
                value={line.costUsd}
                aria-label={`${line.name ?? line.key}: ${usd(line.costUsd)}`}
              />
            </td>
            <td class="number faint">{Math.round(hitRate(line) * 100)}% cached</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Half a year, a column a week; darker is more, and each day says its amount. */
function HeatMap({ days }: { days: Map<string, number> }) {
  const most = Math.max(...days.values(), 0.0001)
  const start = Date.now() - (shownDays - 1) * 86_400_000
  const cells = Array.from({ length: shownDays }, (_, i) => dayOf(start + i * 86_400_000))
  return (
    <div class="heat" role="img" aria-label={`Cost by day, at most ${usd(most)} a day`}>
      {cells.map((day) => {
        const cost = days.get(day) ?? 0
        const level = cost === 0 ? 0 : Math.ceil((cost / most) * 4)
        return <span key={day} class={`level${level}`} title={`${day}: ${usd(cost)}`} />
      })}
    </div>
  )
}

/** Of everything that was sent to the models, how much came from the cache. */
function hitRate(
  line: Pick<Costs['totals'], 'inputTokens' | 'cacheReadTokens' | 'cacheCreationTokens'>,
): number {
  const sent = line.inputTokens + line.cacheReadTokens + line.cacheCreationTokens
  return sent === 0 ? 0 : line.cacheReadTokens / sent
}

function today(): string {
  return dayOf(Date.now())
}

function dayOf(at: number): string {
  return new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }).format(at)
}
