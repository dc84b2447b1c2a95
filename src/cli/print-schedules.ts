// `rockpool schedules`: what comes, what ran, and what it cost.
import type { OutputOf } from '../rpc/client.ts'
import { ago, duration, oneLine, pairs, styled, table, usd } from './print.ts'
import type { Page, Printers, Style } from './print.ts'

type Row = OutputOf<'schedules.list'>['schedules'][number]
type Run = OutputOf<'schedules.show'>['runs'][number]

export const printers: Printers = {
  'schedules.list': ({ schedules, claude, total }, page) =>
    [
      schedules.length === 0 ? nothingYet : scheduleTable(schedules, page),
      ...(total > schedules.length ? [`${total - schedules.length} more: --limit ${total}`] : []),
      ...(claude.length === 0
        ? []
        : [`${styled(page, 'bold', 'In Claude Code itself')}\n${claudeTable(claude, page)}`]),
    ].join('\n\n'),
  'schedules.add': (row, page) => [`Added ${oneLine(row.name)}.`, facts(row, page)].join('\n'),
  'schedules.show': ({ runs, ...row }, page) =>
    [
      facts(row, page),
      ...(runs.length === 0
        ? []
        : [
            runTable(
              runs.map((run) => ({ ...run, name: row.name })),
              page,
            ),
          ]),
    ].join('\n\n'),
  'schedules.pause': (row) => `Paused ${oneLine(row.name)}.`,
  'schedules.resume': (row, page) => [`Resumed ${oneLine(row.name)}.`, facts(row, page)].join('\n'),
  'schedules.run': (run) =>
    `${runTexts[run.state]}: ${oneLine(run.note ?? '`rockpool schedules log` shows how it ends')}.`,
  'schedules.remove': ({ removed }) => `Removed ${oneLine(removed)}.`,
  'schedules.log': ({ runs }, page) => (runs.length === 0 ? 'Nothing ran yet.' : runTable(runs, page)),
}

const runTexts = {
  due: 'The run waits',
  begun: 'The run has begun',
  ended: 'The run has ended',
  skipped: 'The run was skipped',
  failed: 'The run failed',
}

const nothingYet =
  'No schedules yet. Add one: rockpool schedules add "weekdays 9:00" "Summarize my open pull requests"'

function scheduleTable(schedules: Row[], page: Page): string {
  return table(page, schedules, {
    NAME: { value: ({ name }) => name, min: 12 },
    DOES: { value: ({ action }) => action.kind, min: 6 },
    TIMES: { value: ({ times }) => times, min: 12 },
    NEXT: {
      value: (row) => nextOf(row, page),
      min: 8,
      style: ({ paused }) => (paused === undefined ? undefined : 'yellow'),
    },
    'LAST RUN': page.width >= 80 && {
      value: ({ lastRun }) => (lastRun ? `${lastRun.state} ${ago(lastRun.dueAt, page.now)}` : '-'),
      min: 8,
    },
    COST: { value: ({ spentUsd }) => usd(spentUsd), align: 'right' },
  })
}

function nextOf({ paused, nextTimes: [next] }: Row, { now }: Page): string {
  if (paused !== undefined) return 'paused'
  return next === undefined ? '-' : `in ${duration(next - now)}`
}

function facts(row: Row, page: Page): string {
  const { times, nextTimes, action, missed, overlap, paused, spentUsd, byAgent, agentId, tell } = row
  return pairs(page, {
    Name: oneLine(row.name),
    Does: `${action.kind}: ${oneLine(action.text)}`,
    Agent: byAgent ? `${agentId} (it added the schedule itself)` : agentId,
    Times: times,
    Paused: paused && oneLine(paused),
    Next: nextTimes.map((moment) => localTime(moment)).join('\n'),
    Missed: { skip: 'skip them', once: 'run once, late', all: 'run all of them, late' }[missed],
    Overlap: { skip: 'skip the later run', queue: 'queue the later run', replace: 'replace the earlier run' }[
      overlap
    ],
    Tells: tell && oneLine(tell),
    Cost: usd(spentUsd),
    Budget: budgetOf(row),
  })
}

function budgetOf({ runBudgetUsd, totalBudgetUsd }: Row): string | undefined {
  const each = runBudgetUsd === undefined ? [] : [`${usd(runBudgetUsd)} for each run`]
  const all = totalBudgetUsd === undefined ? [] : [`${usd(totalBudgetUsd)} in total`]
  return [...each, ...all].join(', ') || undefined
}

const stateStyles: Readonly<Record<Run['state'], Style | undefined>> = {
  due: 'yellow',
  begun: 'green',
  ended: undefined,
  skipped: 'dim',
  failed: 'red',
}

function runTable(runs: Array<Run & { name: string }>, page: Page): string {
  return table(page, runs, {
    DUE: { value: ({ dueAt }) => localTime(dueAt).slice(page.width >= 80 ? 0 : 5), min: 11 },
    NAME: { value: ({ name }) => name, min: 8 },
    STATE: { value: ({ state }) => state, min: 7, style: ({ state }) => stateStyles[state] },
    LATE: page.width >= 80 && {
      value: ({ dueAt, begunAt }) => lateness(dueAt, begunAt),
      align: 'right',
      min: 4,
    },
    TOOK: page.width >= 80 && {
      value: ({ begunAt, endedAt }) => (begunAt && endedAt ? duration(endedAt - begunAt) : '-'),
      align: 'right',
    },
    COST: { value: ({ costUsd }) => usd(costUsd), align: 'right' },
    NOTE: { value: ({ note = '' }) => note, min: 12 },
  })
}

function lateness(dueAt: number, begunAt: number | undefined): string {
  return begunAt === undefined || begunAt - dueAt < 60_000 ? '' : duration(begunAt - dueAt)
}

function claudeTable(rows: OutputOf<'schedules.list'>['claude'], page: Page): string {
  return table(page, rows, {
    KIND: { value: ({ kind }) => kind, min: 10 },
    TIMES: { value: ({ times }) => times, min: 8 },
    WHERE: { value: ({ where }) => where, min: 12 },
    WHAT: { value: ({ what }) => what, min: 16 },
  })
}

function localTime(moment: number): string {
  return new Date(moment).toLocaleString('sv-SE', { dateStyle: 'short', timeStyle: 'short' })
}
