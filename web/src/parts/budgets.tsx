// The budgets of coding sessions: what is left of each, and when it runs out.
import type { BudgetLeft } from '../data.ts'
import { clock, shortPath, usd, visible } from '../format.ts'

export function Budgets({ budgets }: { budgets: BudgetLeft[] }) {
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
                {budget.runsOutAt !== undefined && `runs out about ${clock(budget.runsOutAt)}`}
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
