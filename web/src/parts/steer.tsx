// The controls of a running coding session: answer its question, send a message, interrupt it, end it.
import type { CodingRow } from '../data.ts'
import { useAction, useLive } from '../live.ts'
import type { Live } from '../live.ts'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { AnswerApproval, Respond } from './peek.tsx'
import { Problem } from './states.tsx'

type Approvals = Live<OutputOf<'approvals.list'>>

export function useApprovals(): Approvals {
  return useLive('approvals.list', {}, (event) => event.type === 'approval-changed')
}

interface SteerProps {
  row: CodingRow
  approvals: Approvals
  reload: () => void
  /** Called with the coding session that continues the conversation. */
  onResumed?: (id: string) => void
}

export function Steer({ row, approvals, reload, onResumed }: SteerProps) {
  const { run, busy, error } = useAction()
  const approval = approvals.data?.approvals.find((one) => one.codingId === row.id)
  const act = (method: 'coding.interrupt' | 'coding.kill'): void =>
    void run(method, { session: row.id }).then(reload)
  const answered = (): void => {
    approvals.reload()
    reload()
  }
  return (
    <section aria-label="Steer" class="steer">
      {approval ? (
        <AnswerApproval approval={approval} onAnswered={answered} />
      ) : (
        <Respond row={row} onSent={reload} onResumed={onResumed} />
      )}
      {(row.status === 'running' || row.status === 'starting') && (
        <div class="buttons">
          <button
            type="button"
            disabled={busy || row.lifecycle !== 'active'}
            onClick={() => act('coding.interrupt')}
          >
            Interrupt
          </button>
          <button type="button" disabled={busy} onClick={() => act('coding.kill')}>
            End it
          </button>
        </div>
      )}
      {error && <Problem text={error} />}
    </section>
  )
}
