// The form that adds a schedule: when, what, and who does it: an agent, a new coding session or one that continues.
import { useState } from 'preact/hooks'
import type { InputOf } from '../../../src/rpc/client.ts'
import { clock, shortPath, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { useSessions } from '../needs-you.ts'
import type { Row } from '../rows.ts'
import { Problem } from './states.tsx'
import { useShowToast } from './toasts.tsx'

type Worker = Pick<InputOf<'schedules.add'>, 'do' | 'agent' | 'session' | 'workdir'>

const offeredSessions = 20
const newSession = 'new'

export function AddSchedule() {
  const [when, setWhen] = useState('')
  const [text, setText] = useState('')
  const [who, setWho] = useState('')
  const [repo, setRepo] = useState('')
  const { run, busy, error } = useAction()
  const { rows } = useSessions()
  const showToast = useShowToast()
  const isReady = [when, text].every((value) => value.trim() !== '') && (who !== newSession || repo !== '')
  const add = async (): Promise<void> => {
    const added = await run('schedules.add', { when: when.trim(), text, ...workerOf(who, repo.trim(), rows) })
    if (!added) return
    const [next] = added.nextTimes
    showToast({
      text: `${added.name} added, ${next === undefined ? 'never due' : `next ${clock(next)}`}`,
      undo: () => void run('schedules.remove', { schedule: added.id }),
    })
    setWhen('')
    setText('')
  }
  return (
    <form
      class="add-schedule"
      aria-label="Add a schedule"
      onSubmit={(event) => {
        event.preventDefault()
        void add()
      }}
    >
      <label>
        When
        <input
          required
          value={when}
          placeholder="weekdays 9:00, every 2 hours, tomorrow 18:00"
          onInput={(event) => setWhen(event.currentTarget.value)}
        />
      </label>
      <Who rows={rows} value={who} set={setWho} />
      {who === newSession && <Repository rows={rows} value={repo} set={setRepo} />}
      <label>
        Task
        <textarea rows={2} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={busy || !isReady}>
        Add
      </button>
      {error && <Problem text={error} />}
    </form>
  )
}

/** `who` is `agent <id>`, `session <id>`, `new`, or empty for the default agent. */
export function workerOf(who: string, repo: string, rows: Row[]): Worker {
  if (who === newSession) return { do: 'coding', workdir: repo }
  const [kind, id] = who.split(' ', 2)
  if (kind !== 'session') return { do: 'turn', agent: id }
  const row = rows.find((one) => one.id === id)
  return { do: 'coding', session: row?.sessionId ?? id, workdir: row?.path }
}

interface FieldProps {
  rows: Row[]
  value: string
  set: (value: string) => void
}

function Who({ rows, value, set }: FieldProps) {
  const agents = useLive('agents.list', {}).data?.agents ?? []
  const resumable = rows.filter((row) => row.sessionId !== undefined && !row.archived)
  return (
    <label>
      Who
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">the default agent</option>
        {agents.map(({ id, name }) => (
          <option key={id} value={`agent ${id}`}>
            agent {visible(name ?? id)}
          </option>
        ))}
        <option value={newSession}>a new coding session</option>
        {resumable.slice(0, offeredSessions).map((row) => (
          <option key={row.id} value={`session ${row.id}`}>
            continue {visible(row.name.slice(0, 60))} ({visible(row.repo)})
          </option>
        ))}
      </select>
    </label>
  )
}

function Repository({ rows, value, set }: FieldProps) {
  const repos = [...new Set(rows.map(({ path }) => path))]
  return (
    <label>
      Repository
      <input
        required
        list="schedule-repos"
        value={value}
        placeholder="/path/to/repository"
        onInput={(event) => set(event.currentTarget.value)}
      />
      <datalist id="schedule-repos">
        {repos.map((path) => (
          <option key={path} value={path}>
            {visible(shortPath(path))}
          </option>
        ))}
      </datalist>
    </label>
  )
}
