// A new task: describe it, see while typing which session would take it and for how much, and launch exactly that.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Call } from '../../../src/rpc/client.ts'
import type { NativeSession, SessionSelection } from '../data.ts'
import { nameOf, shortPath, visible } from '../format.ts'
import { modKey } from '../keyboard.ts'
import { messageOf, useAction, useGateway, useLive } from '../live.ts'
import { Candidates, Options, optionOf, startedText } from '../parts/candidates.tsx'
import type { LaunchOptions, Option } from '../parts/candidates.tsx'
import { ClaudeMissing, useCanWork } from '../parts/claude-state.tsx'
import { Problem } from '../parts/states.tsx'
import { useShowToast } from '../parts/toasts.tsx'
import { go } from '../route.ts'

export function NewTask({ inRepo }: { inRepo?: string }) {
  const [task, setTask] = useState('')
  const [repo, setRepo] = useState(inRepo ?? '')
  const [more, setMore] = useState<LaunchOptions>({})
  const [picked, setPicked] = useState<Option>()
  const { run, busy, error } = useAction()
  const { call } = useGateway()
  const showToast = useShowToast()
  const known = useLive('cc.list', { limit: 500 })
  const sessions = known.data?.sessions ?? []
  const { agentKind } = more
  const choice = useChoice(task.trim(), repo.trim(), agentKind)
  const field = useRef<HTMLTextAreaElement>(null)
  // A layout effect: the field has the focus before the next key is pressed.
  useLayoutEffect(() => field.current?.focus(), [])
  // Another task or repository: choose again.
  useEffect(() => setPicked(undefined), [choice.selection])
  const names = new Map(sessions.map((one) => [one.sessionId, nameOf(one)]))
  const option = picked ?? optionOf(choice.selection)
  const canWork = useCanWork(agentKind)
  const isReady = canWork && task.trim() !== '' && repo.trim() !== '' && !choice.isChoosing && !busy
  const launch = async (): Promise<void> => {
    if (!isReady) return
    const started = await run('coding.launch', {
      prompt: task,
      workdir: repo,
      originChannel: 'web|dashboard',
      decision: await storedDecision(call, { task, repo, agentKind }),
      ...more,
      ...option.launch,
    })
    if (!started) return
    showToast({ text: startedText(option, started.name, names) })
    go({ view: 'coding', id: started.id })
  }
  return (
    <div class="page new-task-page">
      <h1>New task</h1>
      {(agentKind ?? 'claude') === 'claude' && <ClaudeMissing follows="no task can run" />}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void launch()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void launch()
        }}
      >
        <label for="task">What should be done?</label>
        <textarea
          id="task"
          ref={field}
          rows={4}
          value={task}
          onInput={(event) => setTask(event.currentTarget.value)}
        />
        <Repository value={repo} set={setRepo} sessions={sessions} />
        <Program kind={agentKind} set={(kind) => setMore((before) => ({ ...before, agentKind: kind }))} />
        <Where set={(machine) => setMore((before) => ({ ...before, machine }))} />
        <More set={(change) => setMore((before) => ({ ...before, ...change }))} />
        {choice.selection && (
          <Options selection={choice.selection} names={names} chosen={option} choose={setPicked} />
        )}
        <div class="buttons large">
          <button type="submit" class="primary" disabled={!isReady}>
            {choice.isChoosing ? 'Choosing the session…' : option.nameWith(names)} <kbd>{modKey}⏎</kbd>
          </button>
        </div>
      </form>
      {(error ?? choice.problem) && <Problem text={error ?? choice.problem ?? ''} />}
      {choice.selection && (
        <Candidates selection={choice.selection} names={names} chosen={option} choose={setPicked} />
      )}
    </div>
  )
}

/** The choice is stored when the task really starts, not while a person types. A launch does not fail without it. */
async function storedDecision(
  call: Call,
  asked: { task: string; repo: string; agentKind: AgentKind },
): Promise<string | undefined> {
  try {
    const stored = await call('cc.select', { ...asked, model: false })
    return 'decisionId' in stored ? stored.decisionId : undefined
  } catch {
    // Only `cc why` misses it.
    return undefined
  }
}

const settleMs = 600

/** The session that would take the task, by shared words: asking the model for each letter would cost money. */
function useChoice(
  task: string,
  repo: string,
  agentKind: AgentKind,
): { selection: SessionSelection | undefined; isChoosing: boolean; problem: string | undefined } {
  const { call } = useGateway()
  const asked = JSON.stringify([task, repo, agentKind])
  const [answer, setAnswer] = useState<{ to: string; selection?: SessionSelection; problem?: string }>()
  const isAsked = task.length > 2 && repo.startsWith('/')
  useEffect(() => {
    if (!isAsked) return undefined
    let isOld = false
    const timer = setTimeout(() => {
      call('cc.select', { task, repo, agentKind, model: false, store: false })
        .then((selection) => 'scores' in selection && !isOld && setAnswer({ to: asked, selection }))
        .catch((error: unknown) => !isOld && setAnswer({ to: asked, problem: messageOf(error) }))
    }, settleMs)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [asked])
  const isChoosing = isAsked && answer?.to !== asked
  return {
    selection: isAsked ? answer?.selection : undefined,
    isChoosing,
    problem: answer?.to === asked ? answer.problem : undefined,
  }
}

type AgentKind = LaunchOptions['agentKind']

const programs = [
  ['claude', 'Claude Code'],
  ['codex', 'Codex'],
  ['gemini', 'Gemini CLI'],
  ['opencode', 'opencode'],
  ['pi', 'pi'],
] as const

/** The other programs cannot ask, so the page says what that means before one starts. */
function Program({ kind, set }: { kind: AgentKind; set: (kind: AgentKind) => void }) {
  return (
    <>
      <label for="program">Program</label>
      <select
        id="program"
        onChange={(event) => set(programs.find(([name]) => name === event.currentTarget.value)?.[0])}
      >
        {programs.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
      {kind !== undefined && kind !== 'claude' && (
        <p class="faint">
          It cannot ask you anything: it only reads, unless the permissions say "edit files without asking".
          Messages wait until its turn is over.
        </p>
      )}
    </>
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
      <summary>Name, model, budget, permissions, usage window</summary>
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
        <label>
          <input type="checkbox" onChange={(event) => set({ despiteReserve: event.currentTarget.checked })} />{' '}
          Start now, even if only the reserve of the usage window is left
        </label>
      </div>
    </details>
  )
}
