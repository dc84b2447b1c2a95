// `rockpool status` and `rockpool db status`.
import { basename } from 'node:path'
import type { OutputOf } from '../rpc/client.ts'
import { stateStyle } from './print-coding.ts'
import { costTodayLine } from './print-costs.ts'
import { sessionTable } from './print-sessions.ts'
import { ago, bytes, duration, oneLine, pairs, prose, safe, styled, table, usd, visible } from './print.ts'
import type { Columns, Page, PairValue, Printers } from './print.ts'

type Status = OutputOf<'status'>

export const printers: Printers = {
  'db.status': printDatabase,
  status: printStatus,
}

function printStatus(status: Status, page: Page): string {
  const { cost, problems } = status
  const parts = [
    statusFacts(status, page),
    tableSection(page, 'Waits for you', status.waiting, {
      STATE: (row) => waitingState(row.kind),
      SESSION: (row) => row.name ?? 'your agent',
      ID: { value: (row) => row.id.slice(0, 8), optional: true },
      SINCE: { value: (row) => ago(row.since, page.now), align: 'right' },
      ABOUT: { value: (row) => row.about, min: 20 },
    }),
    tableSection(page, 'Channels', status.channels, {
      CHANNEL: (row) => (row.accountId === 'default' ? row.channel : `${row.channel} ${row.accountId}`),
      STATE: {
        value: (row) => row.state,
        style: (row) => (row.state === 'connected' ? 'green' : 'yellow'),
      },
      'LAST ERROR': { value: (row) => row.lastError ?? '', min: 20 },
    }),
    section(page, 'Asked on their platforms', probeLines(status, page)),
    tableSection(page, 'Not delivered', status.undelivered, {
      TO: (row) => `${row.channel} ${row.to}`,
      SINCE: { value: (row) => ago(row.at, page.now), align: 'right' },
      WHY: { value: (row) => row.reason, min: 20 },
      TEXT: { value: (row) => row.text, min: 12 },
    }),
    tableSection(page, 'Coding sessions', status.coding.running, {
      NAME: { value: (row) => row.name, min: 12 },
      STATE: { value: (row) => row.state, style: stateStyle },
      COST: { value: (row) => usd(row.costUsd), align: 'right' },
      WHERE: { value: (row) => basename(row.workdir), min: 8 },
      DOING: { value: (row) => (row.lifecycle === 'queued' ? 'queued' : (row.doing ?? '')), min: 12 },
    }),
    section(page, `Sessions (${status.sessions.total})`, recentSessions(status, page)),
    section(
      page,
      'Cost',
      cost.days?.map(({ day, usd: amount }) => `${day}  ${usd(amount)}`).join('\n') ?? '',
    ),
    section(page, 'Problems', problems?.map((problem) => visible(problem)).join('\n') ?? ''),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** An open question is of some kind (tool, plan, …); a session that has finished its turn waits for input. */
function waitingState(kind: string): string {
  if (kind === 'input') return 'ready'
  return kind === 'failed' || kind === 'ready' || kind === 'expired' ? kind : 'needs you'
}

function statusFacts(status: Status, page: Page): string {
  const { gateway, cost, agent, disk } = status
  const running = gateway
    ? `${gateway.url}, up ${duration(gateway.uptimeMs)}`
    : 'not running (`rockpool up` starts it)'
  return pairs(page, {
    Rockpool: status.version,
    Gateway: running,
    Database: status.database && databaseLine(status.database, page),
    Claude: claudeLine(status.claude),
    Agent: agent?.kind,
    'Cost today': costTodayLine(cost),
    ...Object.fromEntries(status.usage.map((window) => [`Usage, ${window.name}`, usageLine(window, page)])),
    Limited: limitedLine(status.coding, page),
    'Disk free': disk && bytes(disk.freeBytes),
  })
}

/** `2 sessions: heron (until 16:40), crane (until 16:40). They continue with their next message. …` */
function limitedLine({ limited, continuesAfterLimit }: Status['coding'], page: Page): PairValue | undefined {
  if (limited.length === 0) return undefined
  const names = limited.map(
    ({ name, until }) => `${oneLine(name)} (resets in ${duration(Math.max(0, until - page.now))})`,
  )
  const then = continuesAfterLimit
    ? 'They continue by themselves after the reset.'
    : 'They continue with their next message; by themselves after `rockpool config set coding.continueAfterLimit true`.'
  return { text: `${names.join(', ')}. ${then}`, style: 'yellow' }
}

function claudeLine({ connected, source = '', hint = '' }: Status['claude']): PairValue {
  if (connected) return `connected (${oneLine(source)})`
  return { text: `not connected. ${oneLine(hint)}`, style: 'yellow' }
}

/** `62%, at this pace the window ends at 16:40`. */
function usageLine(
  { usedPercent, forecast, state, reportedAt }: Status['usage'][number],
  page: Page,
): PairValue {
  const text = `${Math.round(usedPercent)}%, ${forecast} (reported ${ago(reportedAt, page.now)})`
  const styles = { open: undefined, 'nearly used': 'yellow', 'used up': 'red' } as const
  return { text, style: styles[state] }
}

/** Problems first, the address last. */
function databaseLine(
  { state, since, place, server, lastError, slow, lastSlow }: NonNullable<Status['database']>,
  page: Page,
): PairValue {
  const isLost = state === 'lost'
  const about = [
    isLost ? `away (${ago(since, page.now)}: ${oneLine(lastError ?? '')})` : state,
    ...(lastSlow ? [`${slow} slow, the last ${duration(lastSlow.ms)} ${ago(lastSlow.at, page.now)}`] : []),
    server === undefined ? place : `${server} of ${place}`,
  ]
  return { text: about.join(', '), style: isLost ? 'red' : undefined }
}

function printDatabase(output: OutputOf<'db.status'>, page: Page): string {
  const { place, schema, connection, machines, waiting } = output
  const about = pairs(page, {
    Database: databaseLine({ ...connection, place }, page),
    Schema: `version ${schema.version}`,
    'Answers in': `${connection.roundTripMs} ms`,
    Waiting: `${waiting.inputs} messages, ${waiting.deliveries} replies; ${waiting.turns} turns run`,
  })
  const members = table(page, machines, {
    MACHINE: (row) => row.machine,
    WHAT: (row) => (row.serves ? 'gateway' : 'command'),
    HEARTBEAT: { value: (row) => `${duration(row.silentMs)} ago`, align: 'right' },
    'SENDS THROUGH': { value: (row) => row.reach.join(', '), min: 20 },
  })
  return `${about}\n\n${machines.length === 0 ? 'No Rockpool is connected.' : members}`
}

function section(page: Page, title: string, body: string): string {
  return body === '' ? '' : `${styled(page, 'bold', title)}\n${body}`
}

function tableSection<Row>(page: Page, title: string, rows: Row[], columns: Columns<Row>): string {
  return rows.length === 0 ? '' : section(page, title, table(page, rows, columns))
}

function recentSessions({ sessions: { recent } }: Status, page: Page): string {
  return recent.length === 0 ? '' : sessionTable(recent, recent.length, page)
}

function probeLines({ probes = [] }: Status, page: Page): string {
  return probes
    .map(({ channel, accountId, ok, as, error }) => {
      const said = ok
        ? `accepts our credentials${as === undefined ? '' : safe` as ${as}`}`
        : oneLine(error ?? 'is not connected')
      return prose(`${channel} (${accountId}) ${said}`, page)
    })
    .join('\n')
}
