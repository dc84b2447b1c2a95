// The machine of a coding session, and a control to move it to another one that has its repository.
import { useState } from 'preact/hooks'
import type { CodingRow } from '../data.ts'
import { visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { Problem } from './states.tsx'

/** Not shown if there is only one machine. */
export function OnMachine({ row, reload }: { row: CodingRow; reload: () => void }) {
  if (row.machine === undefined) return null
  return (
    <>
      <dt>Machine</dt>
      <dd>
        {visible(row.machine)}
        <Move row={row} reload={reload} />
      </dd>
    </>
  )
}

function Move({ row, reload }: { row: CodingRow; reload: () => void }) {
  const known = useLive('machines.list', {})
  const [to, setTo] = useState('')
  const [warnings, setWarnings] = useState<string[]>([])
  const { run, busy, error } = useAction()
  const others = (known.data?.machines ?? []).filter(({ name }) => name !== row.machine)
  if (others.length === 0) return null
  const move = async (): Promise<void> => {
    const moved = await run('coding.move', { session: row.id, machine: to })
    if (!moved) return
    setTo('')
    setWarnings(moved.warnings)
    reload()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void move()
      }}
    >
      <select aria-label="Another machine" value={to} onChange={(event) => setTo(event.currentTarget.value)}>
        <option value="">elsewhere…</option>
        {others.map(({ name, awaySince }) => (
          <option key={name} value={name} disabled={awaySince !== undefined}>
            {visible(name)}
            {awaySince !== undefined && ' (away)'}
          </option>
        ))}
      </select>
      <button type="submit" disabled={busy || to === ''}>
        Move
      </button>
      {error && <Problem text={error} />}
      {warnings.map((warning) => (
        <p key={warning} class="faint">
          {visible(warning)}
        </p>
      ))}
    </form>
  )
}
