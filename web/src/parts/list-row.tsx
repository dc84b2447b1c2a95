// One row of a list of sessions: its state, what it does, where, how old it is and what it cost.
import { ago, usd, visible } from '../format.ts'
import { useSessions } from '../needs-you.ts'
import { follow, pathOf } from '../route.ts'
import type { Look } from '../route.ts'
import type { Row } from '../rows.ts'
import { Decision, useSeen } from './decision.tsx'

interface RowProps {
  row: Row
  /** The title of the group that begins with this row. */
  group: string | undefined
  look: Look
  isCurrent: boolean
  isChosen: boolean
  choose: () => void
  isCard: boolean
}

export function RowView({ row, group, look, isCurrent, isChosen, choose, isCard }: RowProps) {
  const { reload } = useSessions()
  const isSeen = useSeen(row.id, row.approval?.id)
  const kind = row.state.replace(' ', '-')
  return (
    <>
      {group !== undefined && (
        <li class="group-head">
          <h2>{group}</h2>
        </li>
      )}
      <li class={`row ${kind}${isCurrent ? ' current' : ''}${isChosen ? ' chosen' : ''}`}>
        <label class="pick">
          <input
            type="checkbox"
            checked={isChosen}
            aria-label={`Select ${visible(row.name)}`}
            onChange={choose}
          />
        </label>
        <a
          href={pathOf(row.route, look)}
          data-row={row.id}
          aria-current={isCurrent ? 'true' : undefined}
          onClick={follow(row.route, look)}
        >
          <span class="state" title={row.state}>
            <span class="sr">{row.state}</span>
          </span>
          <span class="what">
            {row.agentKind !== undefined && <span class="chip agent-kind">{row.agentKind}</span>}{' '}
            <span class="name">{visible(row.name)}</span>{' '}
            {row.kept && (
              <span class="chip" title="Deleted by its program; the vault has it">
                kept
              </span>
            )}{' '}
            <span class="now">{visible(plain(row.now))}</span>
          </span>
          <span class="where">
            <span class="repo">{visible(row.repo)}</span> <span class="branch">{visible(row.branch)}</span>
          </span>
          <span class="number age">{ago(row.at)}</span>
          <span class="number cost">{usd(row.costUsd)}</span>
        </a>
        {isCard && row.approval && <Decision approval={row.approval} onAnswered={reload} isSeen={isSeen} />}
      </li>
    </>
  )
}

/** Without the marks of Markdown, in one line. */
function plain(text: string): string {
  return text.replaceAll(/\*\*|__|`+|^#+ /gm, '').replaceAll(/\s+/g, ' ')
}
