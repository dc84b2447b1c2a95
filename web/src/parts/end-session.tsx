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
    const undo = async (): Promise<void> => {
      // The session waits for its next message again, and nothing is spent.
      await run('coding.kill', { session, undo: true })
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
        Its process stops now, with everything that it has started. {lostText(row.coding)} You can undo the
        end: then the session waits for your next message.
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

/** What undoing the end does not bring back. */
function lostText(coding: CodingRow | undefined): string {
  if (coding?.waiting && coding.waiting.for !== 'input') return 'Its open request is withdrawn for good.'
  if (coding?.state === 'limited') return 'It no longer continues by itself after its usage limit.'
  return coding?.state === 'working'
    ? 'Its turn is cut off, and messages that it has not read are withdrawn.'
    : ''
}
