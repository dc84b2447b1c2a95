// What can be done with several sessions at once: allow what they ask, after seeing all of it, and archive them.
import { count, visible } from '../format.ts'
import { useAction } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import type { Row } from '../rows.ts'
import { useCanWork } from './claude-state.tsx'
import { Problem } from './states.tsx'
import { useTell } from './toasts.tsx'

export function Bulk({ rows, done }: { rows: Row[]; done: () => void }) {
  const { reload } = useSessions()
  const tell = useTell()
  const { run, busy, error } = useAction()
  const asking = rows.flatMap(({ approval }) => (approval && approval.kind === 'tool' ? [approval] : []))
  const ids = rows.flatMap(({ sessionId }) => sessionId ?? [])
  const allow = async (): Promise<void> => {
    for (const { id, inputHash } of asking)
      await run('approvals.answer', { id, inputHash, decision: 'allow' })
    done()
    reload()
  }
  const archive = async (restore: boolean): Promise<void> => {
    for (const id of ids) await run('cc.archive', { id, restore })
    reload()
  }
  return (
    <div class="bulk" role="group" aria-label="Selected sessions">
      <strong>{rows.length} selected</strong>
      {asking.length > 0 && (
        <details>
          <summary>Allow {asking.length}…</summary>
          {asking.map((one) => (
            <pre key={one.id}>{visible(one.shown)}</pre>
          ))}
          <button type="button" class="primary" disabled={busy} onClick={() => void allow()}>
            Allow these {asking.length}
          </button>
        </details>
      )}
      <button
        type="button"
        disabled={busy || ids.length === 0}
        onClick={() => {
          void archive(false).then(() => {
            tell({ text: `${ids.length} archived`, undo: () => void archive(true) })
            done()
          })
        }}
      >
        Archive
      </button>
      <button type="button" class="quiet" onClick={done}>
        Clear
      </button>
      {error && <Problem text={error} />}
    </div>
  )
}

/** After a restart: sessions that were interrupted in their turn. */
export function CutOff({ rows }: { rows: Row[] }) {
  const { reload } = useSessions()
  const tell = useTell()
  const { run, busy, error } = useAction()
  const canWork = useCanWork()
  const number = rows.filter(({ coding }) => coding?.cutOff).length
  if (number === 0) return null
  const resume = async (): Promise<void> => {
    const resumed = await run('coding.resume-all', {})
    reload()
    for (const { name, reason } of resumed?.refused ?? []) tell({ text: `${name}: ${reason}` })
  }
  return (
    <div class="bulk" role="group" aria-label="Interrupted sessions">
      <span>{count(number, 'session was', 'sessions were')} interrupted when Rockpool stopped.</span>
      <button type="button" class="primary" disabled={busy || !canWork} onClick={() => void resume()}>
        Resume all
      </button>
      {error && <Problem text={error} />}
    </div>
  )
}
