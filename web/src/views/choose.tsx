// A new task: describe it, choose the repository, see which session would take it and why, and launch it.
import { useState } from 'preact/hooks'
import type { NativeSession, SessionSelection } from '../data.ts'
import { shortPath, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import { Decision } from '../parts/decision.tsx'
import type { Launch, LaunchOptions } from '../parts/decision.tsx'
import { Problem } from '../parts/states.tsx'
import { go } from '../route.ts'

export function Choose({ inRepo }: { inRepo?: string }) {
  const [task, setTask] = useState('')
  const [repo, setRepo] = useState(inRepo ?? '')
  const [more, setMore] = useState<LaunchOptions>({})
  const [selection, setSelection] = useState<SessionSelection>()
  const { run, busy, error } = useAction()
  const known = useLive('cc.list', { limit: 500 })
  const look = async (): Promise<void> => {
    const answer = await run('cc.select', { task, repo })
    setSelection(answer && 'scores' in answer ? answer : undefined)
  }
  const launch: Launch = async (options) => {
    const request = { prompt: task, workdir: repo, originChannel: 'web|dashboard', ...more, ...options }
    const started = await run('coding.launch', request)
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
        <label for="task">What should be done?</label>
        <textarea id="task" rows={4} value={task} onInput={(event) => setTask(event.currentTarget.value)} />
        <Repository value={repo} set={setRepo} sessions={known.data?.sessions ?? []} />
        <Where set={(machine) => setMore((before) => ({ ...before, machine }))} />
        <More set={(change) => setMore((before) => ({ ...before, ...change }))} />
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
      {selection && (
        <Decision selection={selection} launch={launch} busy={busy} sessions={known.data?.sessions ?? []} />
      )}
    </div>
  )
}

interface RepositoryProps {
  value: string
  set: (path: string) => void
  sessions: NativeSession[]
}

/** Any path. Repositories with sessions are offered, the last used first. */
function Repository({ value, set, sessions }: RepositoryProps) {
  const repos = [...new Set(sessions.map((session) => session.repoPath))]
  return (
    <>
      <label for="repo">Repository</label>
      <input
        id="repo"
        list="repos"
        value={value}
        placeholder="/path/to/repository"
        onInput={(event) => set(event.currentTarget.value)}
      />
      <datalist id="repos">
        {repos.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      <div class="pills" role="group" aria-label="Repositories used lately">
        {repos.slice(0, 6).map((path) => (
          <button
            key={path}
            type="button"
            aria-pressed={path === value}
            title={visible(path)}
            onClick={() => set(path)}
          >
            {visible(shortPath(path))}
          </button>
        ))}
      </div>
    </>
  )
}

/** Shown only if several machines share the work. */
function Where({ set }: { set: (machine: string | undefined) => void }) {
  const { data } = useLive('machines.list', {})
  const machines = data?.machines ?? []
  if (machines.length < 2) return null
  const labels = [...new Set(machines.flatMap((machine) => machine.labels))]
  return (
    <label>
      Machine
      <select onChange={(event) => set(event.currentTarget.value || undefined)}>
        <option value="">any machine that has the repository</option>
        {machines.map(({ name, awaySince }) => (
          <option key={name} value={name} disabled={awaySince !== undefined}>
            {visible(name)}
            {awaySince !== undefined && ' (away)'}
          </option>
        ))}
        {labels.map((label) => (
          <option key={label} value={label}>
            any with {visible(label)}
          </option>
        ))}
      </select>
    </label>
  )
}

const modes = [
  ['default', 'ask before acting'],
  ['acceptEdits', 'edit files without asking'],
  ['plan', 'only plan'],
] as const

function modeOf(value: string): LaunchOptions['permissionMode'] {
  return modes.find(([mode]) => mode === value)?.[0]
}

/** Rarely used settings; empty ones have the value of the configuration. */
function More({ set }: { set: (change: LaunchOptions) => void }) {
  return (
    <details>
      <summary>Name, model, budget, permissions</summary>
      <div class="more">
        <label>
          Name
          <input maxLength={60} onInput={(event) => set({ name: event.currentTarget.value || undefined })} />
        </label>
        <label>
          Model
          <input
            placeholder="as configured"
            onInput={(event) => set({ model: event.currentTarget.value || undefined })}
          />
        </label>
        <label>
          Budget in dollars
          <input
            type="number"
            min="0.01"
            step="0.01"
            placeholder="as configured"
            onInput={(event) => set({ maxBudgetUsd: Number(event.currentTarget.value) || undefined })}
          />
        </label>
        <label>
          Permissions
          <select onChange={(event) => set({ permissionMode: modeOf(event.currentTarget.value) })}>
            <option value="">as configured</option>
            {modes.map(([mode, words]) => (
              <option key={mode} value={mode}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </div>
    </details>
  )
}
