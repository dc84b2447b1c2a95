// A new task: say what is to be done and where, see which session would take it and why, and launch with one key.
import { useState } from 'preact/hooks'
import type { NativeSession, Selection, SessionScore } from '../data.ts'
import { tokens, usd } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { Problem } from '../parts/states.tsx'
import { go, pathOf } from '../route.ts'

export function Choose() {
  const [task, setTask] = useState('')
  const [repo, setRepo] = useState('')
  const [selection, setSelection] = useState<Selection>()
  const { run, busy, error } = useAction()
  const known = useLive<{ sessions: NativeSession[] }>('cc.list', { limit: 500 })
  const repos = [...new Set(known.data?.sessions.map((session) => session.repoPath))]
  const look = async (): Promise<void> => {
    setSelection((await run('cc.select', { task, repo })) as Selection | undefined)
  }
  const launch = async (how: Record<string, unknown>): Promise<void> => {
    const started = (await run('coding.launch', { prompt: task, workdir: repo, ...how })) as
      | { id: string }
      | undefined
    if (started) go({ view: 'coding', id: started.id })
  }
  const ready = task.trim() !== '' && repo.trim() !== ''
  return (
    <div class="choose">
      <h1>New task</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void look()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && ready) void launch({})
        }}
      >
        <label for="task">What is to be done?</label>
        <textarea id="task" rows={4} value={task} onInput={(event) => setTask(event.currentTarget.value)} />
        <label for="repo">Repository</label>
        <input
          id="repo"
          list="repos"
          value={repo}
          placeholder="/path/to/repository"
          onInput={(event) => setRepo(event.currentTarget.value)}
        />
        <datalist id="repos">
          {repos.map((path) => (
            <option key={path} value={path} />
          ))}
        </datalist>
        <div class="buttons">
          <button type="submit" disabled={!ready || busy}>
            Which session?
          </button>
          <button type="button" class="primary" disabled={!ready || busy} onClick={() => void launch({})}>
            Launch <kbd>Ctrl ⏎</kbd>
          </button>
        </div>
      </form>
      {error && <Problem text={error} />}
      {selection && <Decision selection={selection} launch={launch} busy={busy} />}
    </div>
  )
}

const actions: Record<Selection['action'], string> = {
  resume: 'Go on with an earlier session',
  fork: 'Fork an earlier session',
  fresh: 'Begin a new session',
  queue: 'Wait for the session that works there',
}

interface DecisionProps {
  selection: Selection
  launch: (how: Record<string, unknown>) => Promise<void>
  busy: boolean
}

function Decision({ selection, launch, busy }: DecisionProps) {
  return (
    <section aria-label="Selection">
      <h2>{actions[selection.action]}</h2>
      <p>{selection.reason}</p>
      <div class="buttons">
        <button type="button" disabled={busy} onClick={() => void launch({ fresh: true })}>
          Begin a new session instead
        </button>
      </div>
      {selection.scores.length > 0 && (
        <table class="scores">
          <thead>
            <tr>
              <th>Session</th>
              <th>Score</th>
              <th>Branch</th>
              <th>Recent</th>
              <th>Task</th>
              <th>Health</th>
              <th>Room</th>
              <th>Resume</th>
              <th>Fork</th>
              <th>Fresh</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {selection.scores.map((score) => (
              <ScoreRow
                key={score.sessionId}
                score={score}
                chosen={score.sessionId === selection.sessionId}
                launch={launch}
              />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

interface ScoreRowProps {
  score: SessionScore
  chosen: boolean
  launch: DecisionProps['launch']
}

function ScoreRow({ score, chosen, launch }: ScoreRowProps) {
  const { factors, price } = score
  return (
    <tr class={chosen ? 'chosen' : ''}>
      <td>
        <a href={pathOf({ view: 'session', id: score.sessionId })}>{score.sessionId.slice(0, 8)}</a>
      </td>
      <td class="number">{score.total.toFixed(2)}</td>
      {(['branch', 'recency', 'relevance', 'health', 'capacity'] as const).map((factor) => (
        <td key={factor} class="number">
          {factors[factor].toFixed(2)}
        </td>
      ))}
      <td class="number">
        <button type="button" onClick={() => void launch({ resumeSessionId: score.sessionId })}>
          {price ? `${usd(price.resumeUsd)} (${tokens(price.tokens)}, ${price.cache})` : 'resume'}
        </button>
      </td>
      <td class="number">
        <button
          type="button"
          onClick={() => void launch({ resumeSessionId: score.sessionId, forkSession: true })}
        >
          {usd(price?.forkUsd)}
        </button>
      </td>
      <td class="number">{usd(price?.freshUsd)}</td>
      <td>{score.ceiling ?? score.reason}</td>
    </tr>
  )
}
