// One coding session that Rockpool runs: what it says, what it asks, and the hands to steer it.
import type { Approval, CodingRow } from '../data.ts'
import { ago, minutes, shortPath, usd } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { ContextGauge } from '../parts/gauge.tsx'
import { AnswerApproval, Respond } from '../parts/peek.tsx'
import { Empty, Loaded, Problem } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { pathOf } from '../route.ts'

export function CodingView({ id }: { id: string }) {
  const sessions = useLive<{ sessions: CodingRow[] }>(
    'coding.sessions',
    { limit: 1000 },
    (event) => event.type === 'coding-changed' && event.id === id,
  )
  return (
    <Loaded live={sessions}>
      {(data) => {
        const row = data.sessions.find((one) => one.id === id)
        if (!row) return <Empty title="There is no such coding session" />
        return (
          <div class="session">
            <Output row={row} />
            <About row={row} reload={sessions.reload} />
          </div>
        )
      }}
    </Loaded>
  )
}

function Output({ row }: { row: CodingRow }) {
  const output = useLive<{ lines: string[]; lastSeq: number }>(
    'coding.output',
    { session: row.id, lines: 2000 },
    (event) => event.type === 'coding-output' && event.id === row.id,
  )
  const lines = output.data?.lines ?? []
  return (
    <section class="conversation" aria-label="Output">
      <VirtualList items={lines} keyOf={(line, i) => `${i} ${line.length}`} label="What it says">
        {(line) => <p class="card line">{line}</p>}
      </VirtualList>
    </section>
  )
}

function About({ row, reload }: { row: CodingRow; reload: () => void }) {
  const approvals = useLive<{ approvals: Approval[] }>(
    'approvals.list',
    {},
    (event) => event.type === 'approval-changed',
  )
  const { run, busy, error } = useAction()
  const approval = approvals.data?.approvals.find((one) => one.codingId === row.id)
  const running = row.status === 'running' || row.status === 'starting'
  const answered = (): void => {
    approvals.reload()
    reload()
  }
  return (
    <aside class="about" aria-label="About this session">
      <h1>{row.name}</h1>
      <p class="faint">{row.prompt}</p>
      {approval ? (
        <AnswerApproval approval={approval} onAnswered={answered} />
      ) : (
        <Respond row={row} onSent={reload} />
      )}
      <dl>
        <dt>State</dt>
        <dd>
          {row.lifecycle === 'ended' ? row.status : row.lifecycle.replace('-', ' ')}
          {row.endMessage && `: ${row.endMessage}`}
        </dd>
        <dt>Repository</dt>
        <dd>
          <a href={pathOf({ view: 'project', path: row.workdir })}>{shortPath(row.workdir)}</a>
        </dd>
        <dt>Last activity</dt>
        <dd>{ago(row.lastActivityAt)}</dd>
        <dt>Cost</dt>
        <dd>
          {usd(row.costUsd)} of {usd(row.budgetUsd)}
        </dd>
        <dt>Context</dt>
        <dd>
          <ContextGauge used={row.contextTokens} window={row.contextWindow} />
        </dd>
        <dt>Waited for people</dt>
        <dd>{minutes(row.waitedMs)}</dd>
      </dl>
      <div class="buttons">
        {running && (
          <button
            type="button"
            disabled={busy}
            onClick={() => void run('coding.kill', { session: row.id }).then(reload)}
          >
            End it
          </button>
        )}
        {row.claudeSessionId && (
          <a class="button" href={pathOf({ view: 'session', id: row.claudeSessionId })}>
            The whole conversation
          </a>
        )}
      </div>
      {error && <Problem text={error} />}
    </aside>
  )
}
