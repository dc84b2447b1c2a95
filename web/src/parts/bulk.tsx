// Actions on several sessions at once: allow their requests, after the person has seen all of them, and archive the sessions.
import { useState } from 'preact/hooks'
import { count, visible } from '../format.ts'
import { useAction } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import type { Row } from '../rows.ts'
import { useCanWork } from './claude-state.tsx'
import { useSettled } from './decision.tsx'
import { ReadToEnd } from './read-to-end.tsx'
import { Problem } from './states.tsx'
import { useShowToast } from './toasts.tsx'

export function Bulk({ rows, done }: { rows: Row[]; done: () => void }) {
  const { reload } = useSessions()
  const showToast = useShowToast()
  const { run, busy, error } = useAction()
  const ids = rows.flatMap(({ sessionId }) => sessionId ?? [])
  const archive = async (restore: boolean): Promise<void> => {
    for (const id of ids) await run('cc.archive', { id, restore })
    reload()
  }
  return (
    <div class="bulk" role="group" aria-label="Selected sessions">
      <strong>{rows.length} selected</strong>
      <AllowSelected rows={rows} done={done} />
      <button
        type="button"
        disabled={busy || ids.length === 0}
        onClick={() => {
          void archive(false).then(() => {
            showToast({ text: `${ids.length} archived`, undo: () => void archive(true) })
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

/** Allows the requests that were there when the person opened the list. A later request is named below the list and must be added
 *  by its own click; otherwise the person would allow it unread. */
function AllowSelected({ rows, done }: { rows: Row[]; done: () => void }) {
  const { reload } = useSessions()
  const { run, busy, error } = useAction()
  const [read, setRead] = useState<ReadonlySet<string>>(new Set())
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set())
  const asking = rows.flatMap(({ approval }) => (approval?.kind === 'tool' ? [approval] : []))
  const these = asking.filter(({ id }) => read.has(id))
  const later = asking.length - these.length
  const isRead = these.every(({ id }) => ended.has(id))
  const isSettled = useSettled(these.map(({ id }) => id).join())
  const show = (): void => setRead(new Set(asking.map(({ id }) => id)))
  const allow = async (): Promise<void> => {
    for (const { id, inputHash } of these) await run('approvals.answer', { id, inputHash, decision: 'allow' })
    if (later === 0) done()
    reload()
  }
  if (asking.length === 0) return error ? <Problem text={error} /> : null
  return (
    <details onToggle={({ currentTarget }) => (currentTarget.open ? show() : setRead(new Set()))}>
      <summary>Allow {asking.length}…</summary>
      {these.map((one) => (
        <ReadToEnd
          key={one.id}
          isRead={ended.has(one.id)}
          onRead={() => setEnded((before) => new Set([...before, one.id]))}
          purpose="to allow these"
        >
          <pre>{visible(one.shown)}</pre>
        </ReadToEnd>
      ))}
      {these.length > 0 && (
        <button
          type="button"
          class="primary"
          disabled={busy || !isSettled || !isRead}
          onClick={() => void allow()}
        >
          Allow these {these.length}
        </button>
      )}
      {later > 0 && (
        <button type="button" onClick={show}>
          Show {later} more
        </button>
      )}
      {error && <Problem text={error} />}
    </details>
  )
}

/** After a restart: sessions that were interrupted in their turn. */
export function CutOff({ rows }: { rows: Row[] }) {
  const { reload } = useSessions()
  const showToast = useShowToast()
  const { run, busy, error } = useAction()
  const canWork = useCanWork()
  const number = rows.filter(({ coding }) => coding?.cutOff).length
  if (number === 0) return null
  const resume = async (): Promise<void> => {
    const resumed = await run('coding.resume-all', {})
    reload()
    for (const { name, reason } of resumed?.refused ?? []) showToast({ text: `${name}: ${reason}` })
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
