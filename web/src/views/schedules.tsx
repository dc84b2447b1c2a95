// Schedules: a calendar of what comes in the next two weeks, each schedule with its cost, and a log of what ran.
import type { OutputOf } from '../../../src/rpc/client.ts'
import { ago, clock, usd, visible } from '../format.ts'
import type { RockpoolEvent } from '../gateway.ts'
import { useAction, useLive } from '../live.ts'
import { Empty, Loading, Problem } from '../parts/states.tsx'

type Schedule = OutputOf<'schedules.list'>['schedules'][number]
type Run = OutputOf<'schedules.log'>['runs'][number]

const calendarDays = 14
const shownRuns = 50

export function Schedules() {
  const isOld = ({ type }: RockpoolEvent): boolean => type === 'coding-changed' || type === 'turn-ended'
  const list = useLive('schedules.list', {}, isOld)
  const log = useLive('schedules.log', { limit: shownRuns }, isOld)
  const loading = [list, log].find(({ data }) => data === undefined)
  if (loading || !list.data || !log.data) {
    const error = loading?.error
    return error === undefined ? <Loading /> : <Problem text={error} retry={loading?.reload} />
  }
  const { schedules } = list.data
  return (
    <div class="page schedules">
      <h1>Schedules</h1>
      {schedules.length === 0 ? (
        <Empty title="No schedules yet">
          <p>
            <code>rockpool schedules add "weekdays 9:00" "Summarize my open pull requests"</code>
          </p>
        </Empty>
      ) : (
        <>
          <Calendar schedules={schedules} />
          <Table schedules={schedules} reload={list.reload} />
        </>
      )}
      <Log runs={log.data.runs} />
    </div>
  )
}

/** The next five times of each schedule, by day. */
function Calendar({ schedules }: { schedules: Schedule[] }) {
  const until = Date.now() + calendarDays * 86_400_000
  const coming = schedules
    .flatMap(({ name, nextTimes }) => nextTimes.map((at) => ({ name, at })))
    .filter(({ at }) => at <= until)
    .sort((a, b) => a.at - b.at)
  const days = Map.groupBy(coming, ({ at }) => new Date(at).toDateString())
  return (
    <section aria-label="What comes">
      <h2>What comes</h2>
      <table>
        <tbody>
          {[...days].map(([day, entries]) => (
            <tr key={day}>
              <th scope="row">{day}</th>
              <td>
                {entries.map(({ name, at }) => (
                  <span key={`${name} ${at}`} class="chip">
                    {timeOf(at)} {visible(name)}
                  </span>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Table({ schedules, reload }: { schedules: Schedule[]; reload: () => void }) {
  const { run, busy, error } = useAction()
  const toggle = async ({ id, paused }: Schedule): Promise<void> => {
    if (await run(paused === undefined ? 'schedules.pause' : 'schedules.resume', { schedule: id })) reload()
  }
  return (
    <section aria-label="All schedules">
      <h2>All schedules</h2>
      {error !== undefined && <Problem text={error} />}
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Does</th>
            <th scope="col">Times</th>
            <th scope="col">Next</th>
            <th scope="col">Cost</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <tr key={schedule.id}>
              <th scope="row" title={visible(schedule.action.text)}>
                {visible(schedule.name)}
              </th>
              <td>{schedule.action.kind}</td>
              <td>{visible(schedule.times)}</td>
              <td>{nextOf(schedule)}</td>
              <td class="number">{usd(schedule.spentUsd)}</td>
              <td>
                <button type="button" disabled={busy} onClick={() => void toggle(schedule)}>
                  {schedule.paused === undefined ? 'Pause' : 'Resume'}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function nextOf({ paused, nextTimes: [next] }: Schedule): string {
  if (paused !== undefined) return visible(paused)
  return next === undefined ? 'not any more' : clock(next)
}

function Log({ runs }: { runs: Run[] }) {
  if (runs.length === 0) return null
  return (
    <section aria-label="What ran">
      <h2>What ran</h2>
      <table>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <th scope="row">{visible(run.name)}</th>
              <td title={new Date(run.dueAt).toLocaleString()}>{ago(run.dueAt)}</td>
              <td>{run.state}</td>
              <td class="number">{usd(run.costUsd)}</td>
              <td>{visible(run.note ?? '')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function timeOf(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}
