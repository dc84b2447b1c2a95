// Ending a session, which asks first, and archiving it; both can be undone. They are far from the decision on purpose.
import { useState } from 'preact/hooks'
import type { CodingRow, NativeSession } from '../data.ts'
import { visible } from '../format.ts'
import { useKeys } from '../keyboard.ts'
import { useAction } from '../live.ts'
import type { Action } from '../live.ts'
import { useModal } from '../modal.ts'
import { useSessions } from '../needs-you.ts'
import type { Row } from '../rows.ts'
import { Problem } from './states.tsx'
import { useShowToast } from './toasts.tsx'

interface EndAndArchiveProps {
  row: Row | undefined
  session: NativeSession | undefined
}

export function EndAndArchive({ row, session }: EndAndArchiveProps) {
  const [asks, setAsks] = useState(false)
  const coding = row?.coding
  const isRunning = coding?.status === 'running' || coding?.status === 'starting'
  useKeys(isRunning ? { x: () => setAsks(true) } : {})
  return (
    <div class="buttons">
      {coding?.unseen && !isWorking(coding) && <Seen id={coding.id} />}
      {session?.agentKind === 'claude' && session.messageCount > 0 && !(coding && isWorking(coding)) && (
        <Archive id={session.sessionId} isArchived={row?.archived ?? session.archived} />
      )}
      {isRunning && (
        <button type="button" onClick={() => setAsks(true)}>
          End…
        </button>
      )}
      {asks && row && <AskToEnd row={row} onClose={() => setAsks(false)} />}
    </div>
  )
}

function isWorking({ state }: CodingRow): boolean {
  return state === 'working' || state === 'needs you'
}

/** A person has looked at the result: the session leaves the review and the failures. */
function Seen({ id }: { id: string }) {
  const { reload } = useSessions()
  const { run, busy } = useAction()
  const mark = (): void => void run('coding.seen', { session: id }).then(reload)
  useKeys({ e: mark })
  return (
    <button type="button" disabled={busy} onClick={mark}>
      Mark as seen <kbd>e</kbd>
    </button>
  )
}

/** The list is loaded again at once, so its row has the state first. */
function Archive({ id, isArchived }: { id: string; isArchived: boolean }) {
  const { reload } = useSessions()
  const showToast = useShowToast()
  const { run, busy, error } = useAction()
  const set = async (restore: boolean): Promise<void> => {
    if (!(await run('cc.archive', { id, restore }))) return
    reload()
    if (!restore) showToast({ text: 'Archived', undo: () => void set(true) })
  }
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void set(isArchived)}>
        {isArchived ? 'Restore' : 'Archive'}
      </button>
      {error && <Problem text={error} />}
    </>
  )
}

/** Ends a session and offers to take that back. */
export function useEnding(): Omit<Action, 'run'> & { end: (row: Row) => Promise<boolean> } {
  const { reload } = useSessions()
  const showToast = useShowToast()
  const { run, busy, error } = useAction()
  const end = async (row: Row): Promise<boolean> => {
    const session = row.id
    const wasWorking = row.coding !== undefined && isWorking(row.coding)
    const undo = async (): Promise<void> => {
      // A turn that the end has cut off continues; a session that only waited waits again, and nothing is spent.
      await (wasWorking ? run('coding.resume', { session }) : run('coding.kill', { session, undo: true }))
      reload()
    }
    if (!(await run('coding.kill', { session }))) return false
    reload()
    showToast({ text: `${row.name} ended`, undo: () => void undo() })
    return true
  }
  return { end, busy, error }
}

function AskToEnd({ row, onClose }: { row: Row; onClose: () => void }) {
  const { box, close, handlers } = useModal(onClose)
  const { end, busy, error } = useEnding()
  return (
    <dialog class="ask" ref={box} aria-label="End the session" {...handlers}>
      <h2>End {visible(row.name)}?</h2>
      <p>
        Its process stops now, with everything that it has started. It can be undone, and the session can be
        resumed later.
      </p>
      <div class="buttons large">
        <button type="button" autofocus onClick={close}>
          Keep it running
        </button>
        <button
          type="button"
          class="danger"
          disabled={busy}
          onClick={() => void end(row).then((isDone) => isDone && close())}
        >
          End it
        </button>
      </div>
      {error && <Problem text={error} />}
    </dialog>
  )
}
