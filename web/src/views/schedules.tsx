// Schedules: a calendar of what comes in the next two weeks, each schedule with its policies and its cost, and a log of what ran.
import { useState } from 'preact/hooks'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { ago, clock, count, minutes, shortPath, usd, visible } from '../format.ts'
import { useAction, useLive } from '../live.ts'
import type { Action } from '../live.ts'
import { Link } from '../parts/link.tsx'
import { Calendar, calendarDays } from '../parts/schedule-calendar.tsx'
import type { Schedule } from '../parts/schedule-calendar.tsx'
import { AddSchedule } from '../parts/schedule-form.tsx'
import { Empty, Loading, Problem } from '../parts/states.tsx'

type Listed = OutputOf<'schedules.list'>
type Run = OutputOf<'schedules.log'>['runs'][number]

const shownRuns = 50

export function Schedules() {
  const isOld = ({ type }: { type: string }): boolean => type === 'schedule-changed'
  const list = useLive('schedules.list', { days: calendarDays }, isOld)
  const log = useLive('schedules.log', { limit: shownRuns }, isOld)
  const loading = [list, log].find(({ data }) => data === undefined)
  if (loading || !list.data || !log.data) {
    const error = loading?.error
    return error === undefined ? <Loading /> : <Problem text={error} retry={loading?.reload} />
  }
  const { schedules, total, claude } = list.data
  return (
    <div class="page schedules">
      <h1>Schedules</h1>
      <AddSchedule />
      {schedules.length === 0 ? (
        <Empty title="No schedules yet">
          <p>A schedule starts a turn, a coding session or a message at its times. In a terminal:</p>
          <p>
            <code>rockpool schedules add "weekdays 9:00" "Summarize my open pull requests"</code>
          </p>
          <p>
            or in a chat: <code>/schedule weekdays 9:00 Summarize my open pull requests</code>
          </p>
        </Empty>
      ) : (
        <>
          <Calendar schedules={schedules} />
          <All schedules={schedules} total={total} />
        </>
      )}
      <Log runs={log.data.runs} />
      <InClaude tasks={claude} />
    </div>
  )
}

function All({ schedules, total }: { schedules: Schedule[]; total: number }) {
  const action = useAction()
  return (
    <section aria-labelledby="all-schedules">
      <h2 id="all-schedules">All schedules</h2>
      {action.error !== undefined && <Problem text={action.error} />}
      <ul class="schedule-list">
        {schedules.map((schedule) => (
          <One key={schedule.id} schedule={schedule} action={action} />
        ))}
      </ul>
      {total > schedules.length && <p class="faint">{total - schedules.length} more are not shown.</p>}
    </section>
  )
}

function One({ schedule, action: { run, busy } }: { schedule: Schedule; action: Action }) {
  const { id, name, action, paused, byAgent, agentId, spentUsd, totalBudgetUsd, runBudgetUsd } = schedule
  const [asks, setAsks] = useState(false)
  const isPaused = paused !== undefined
  return (
    <li class={isPaused ? 'is-paused' : undefined}>
      <div class="schedule-about">
        <h3>{visible(name)}</h3>
        <p>
          <span class="chip">{whatOf(schedule)}</span> {visible(action.text)}
        </p>
        <p class="faint">
          {visible(schedule.times)}. {policiesOf(schedule)}
          {byAgent && ` Added by the agent ${visible(agentId)}.`}
        </p>
      </div>
      <dl class="schedule-facts">
        <dt>Next</dt>
        <dd>{nextOf(schedule)}</dd>
        <dt>Last</dt>
        <dd>{schedule.lastRun ? `${schedule.lastRun.state} ${ago(schedule.lastRun.dueAt)}` : 'never'}</dd>
        <dt>Cost</dt>
        <dd class="number">
          {usd(spentUsd)}
          {totalBudgetUsd !== undefined && ` of ${usd(totalBudgetUsd)}`}
          {runBudgetUsd !== undefined && ` (each run ${usd(runBudgetUsd)})`}
        </dd>
      </dl>
      <div class="buttons">
        <button
          type="button"
          disabled={busy}
          onClick={() => void run(isPaused ? 'schedules.resume' : 'schedules.pause', { schedule: id })}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </button>
        <button type="button" disabled={busy} onClick={() => void run('schedules.run', { schedule: id })}>
          Run now
        </button>
        {asks ? (
          <>
            <button
              type="button"
              class="danger"
              disabled={busy}
              onClick={() => void run('schedules.remove', { schedule: id })}
            >
              Remove {visible(name)}
            </button>
            <button type="button" onClick={() => setAsks(false)}>
              Keep it
            </button>
          </>
        ) : (
          <button type="button" onClick={() => setAsks(true)}>
            Remove…
          </button>
        )}
      </div>
    </li>
  )
}

function whatOf({ action }: Schedule): string {
  if (action.kind === 'coding') return `coding session in ${visible(shortPath(action.workdir))}`
  return action.kind === 'message' ? `message to ${visible(action.to)}` : action.kind
}

function policiesOf({ missed, overlap, jitterSeconds }: Schedule): string {
  const ofMissed = {
    skip: 'Missed times are skipped',
    once: 'Missed times run once, late',
    all: 'All missed times run, late',
  }
  const ofOverlap = { skip: 'skipped', queue: 'queued', replace: 'run instead of the earlier run' }
  const jitter = jitterSeconds > 0 ? ` Begins up to ${count(jitterSeconds, 'second')} later.` : ''
  return `${ofMissed[missed]}; overlapping runs are ${ofOverlap[overlap]}.${jitter}`
}

function nextOf({ paused, nextTimes: [next] }: Schedule): string {
  if (paused !== undefined) return visible(paused)
  return next === undefined ? 'not due any more' : clock(next)
}

function Log({ runs }: { runs: Run[] }) {
  if (runs.length === 0) return null
  return (
    <section aria-labelledby="what-ran">
      <h2 id="what-ran">What ran</h2>
      <table class="run-log">
        <thead>
          <tr>
            <th scope="col">Due</th>
            <th scope="col">Schedule</th>
            <th scope="col">State</th>
            <th scope="col">Late</th>
            <th scope="col">Took</th>
            <th scope="col">Cost</th>
            <th scope="col">Note</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunLine key={run.id} run={run} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

const lateMs = 60_000

function RunLine({ run }: { run: Run }) {
  const { name, dueAt, begunAt, endedAt, state, costUsd, note, codingId, missedBefore, manual } = run
  const late = begunAt === undefined ? 0 : begunAt - dueAt
  const took = begunAt !== undefined && endedAt !== undefined ? minutes(endedAt - begunAt) : '–'
  return (
    <tr>
      <td class="due">{clock(dueAt)}</td>
      <th scope="row">{visible(name)}</th>
      <td>
        <span class={`chip run-${state}`}>{state}</span>
      </td>
      <td class="number late">{manual ? 'asked for' : late > lateMs ? minutes(late) : ''}</td>
      <td class="number">{took}</td>
      <td class="number">{usd(costUsd)}</td>
      <td class="note">
        {codingId === undefined ? (
          visible(note ?? '')
        ) : (
          <Link to={{ view: 'coding', id: codingId }}>{visible(note ?? codingId)}</Link>
        )}
        {missedBefore !== undefined && missedBefore > 0 && ` (stands for ${missedBefore} missed)`}
      </td>
    </tr>
  )
}

/** Claude Code runs them while one of its sessions is open; Rockpool only shows them. */
function InClaude({ tasks }: { tasks: Listed['claude'] }) {
  if (tasks.length === 0) return null
  return (
    <section aria-labelledby="in-claude">
      <h2 id="in-claude">In Claude Code itself</h2>
      <ul class="schedule-list">
        {tasks.map((task) => (
          <li key={`${task.where} ${task.times} ${task.what}`}>
            <div class="schedule-about">
              <p>
                <span class="chip">{task.kind}</span> {visible(task.what)}
              </p>
              <p class="faint">
                {visible(task.times)}, {visible(task.where)}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
