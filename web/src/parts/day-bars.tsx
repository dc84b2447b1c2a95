// The cost of each day, as a bar stacked by model. Days without costs have an empty place. A click on a day shows that day alone.
import type { Costs } from '../data.ts'
import { usd, visible } from '../format.ts'

interface DayBarsProps {
  lines: Costs['by']
  days: string[]
  onDay: (day: string) => void
}

/** The most expensive models have colours of their own; the others share one. */
const coloured = 5

export function DayBars({ lines, days, onDay }: DayBarsProps) {
  const byDay = new Map(lines.map((line) => [line.key, line]))
  const most = Math.max(...lines.map((line) => line.costUsd), 0.0001)
  const models = modelsOf(lines)
  const partsOf = (day: string): Array<[name: string, usd: number, colour: number]> =>
    Object.entries(byDay.get(day)?.models ?? {})
      .map(([name, cost]): [string, number, number] => [name, cost, Math.min(models.indexOf(name), coloured)])
      .sort(([, , a], [, , b]) => a - b)
  return (
    <figure class="day-bars">
      <div class="scale faint" aria-hidden="true">
        <span>{usd(most)}</span>
        <span>{usd(0)}</span>
      </div>
      <div class={`bars-of-days${days.length > 120 ? ' dense' : ''}`} role="group" aria-label="Cost by day">
        {days.map((day) => {
          const cost = byDay.get(day)?.costUsd ?? 0
          const words = partsOf(day).map(([name, part]) => `${visible(name)} ${usd(part)}`)
          return (
            <button
              key={day}
              type="button"
              class="day"
              title={[`${day}: ${usd(cost)}`, ...words].join('\n')}
              aria-label={`${day}: ${usd(cost)}`}
              onClick={() => onDay(day)}
            >
              {partsOf(day).map(([name, part, colour]) => (
                <span key={name} class={`model${colour}`} style={{ height: `${(part / most) * 100}%` }} />
              ))}
            </button>
          )
        })}
      </div>
      <div class="ends faint" aria-hidden="true">
        <span>{days[0]}</span>
        <span>{days.at(-1)}</span>
      </div>
      <figcaption>
        {models.slice(0, coloured).map((name, i) => (
          <span key={name}>
            <b class={`model${i}`} /> {visible(name)}
          </span>
        ))}
        {models.length > coloured && (
          <span>
            <b class={`model${coloured}`} /> others
          </span>
        )}
      </figcaption>
    </figure>
  )
}

/** The most expensive first. */
function modelsOf(lines: Costs['by']): string[] {
  const sums = new Map<string, number>()
  for (const { models = {} } of lines)
    for (const [name, cost] of Object.entries(models)) sums.set(name, (sums.get(name) ?? 0) + cost)
  return [...sums].sort(([, a], [, b]) => b - a).map(([name]) => name)
}
