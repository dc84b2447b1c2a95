// How status, configuration and log look in a terminal.
import { basename } from 'node:path'
import type { SessionRowOutput } from '../operations/sessions/session-row.ts'
import {
  ago,
  bytes,
  duration,
  oneLine,
  pairs,
  printAnything,
  prose,
  styled,
  table,
  usd,
  visible,
} from './print.ts'
import type { Page } from './print.ts'
import { costTodayLine } from './print-costs.ts'
import type { CostToday } from './print-costs.ts'
import { printList } from './print-sessions.ts'

interface ServiceStatus {
  installed: boolean
  running: boolean
  file: string
}

export function printService({ installed, running, file }: ServiceStatus): string {
  if (!installed) return 'The service is not installed. `rockpool service install` installs it.'
  const how = running ? 'runs' : 'does not run; `rockpool service logs` may say why'
  return `The service is installed (${oneLine(file)}) and ${how}.`
}

interface Status {
  version: string
  gateway: { url: string; pid: number; uptimeMs: number } | null
  waiting: Array<{ kind: string; id: string; name?: string; about: string; since: number }>
  channels: Array<{ channel: string; accountId: string; state: string; lastError?: string }>
  sessions: { total: number; recent: SessionRowOutput[] }
  coding: {
    running: Array<{
      id: string
      name: string
      lifecycle: string
      workdir: string
      costUsd: number
      doing?: string
    }>
  }
  undelivered: Array<{ channel: string; to: string; reason: string; at: number; text: string }>
  cost: CostToday & { days?: Array<{ day: string; usd: number }> }
  claude: { connected: boolean; source?: string; hint?: string }
  agent?: { kind: string }
  probes?: Array<{ channel: string; accountId: string; ok: boolean; as?: string; error?: string }>
  problems?: string[]
  disk?: { freeBytes: number }
  database?: Database
}

interface Database {
  place: string
  server?: string
  state: string
  since: number
  lastError?: string
  slow: number
  lastSlow?: { at: number; ms: number; statement: string }
}

export function printStatus(status: Status, page: Page): string {
  const { gateway, cost, agent, problems, disk } = status
  const running = gateway
    ? `${gateway.url}, up ${duration(gateway.uptimeMs)}`
    : 'not running (`rockpool up` starts it)'
  const parts = [
    pairs(
      [
        ['Rockpool', status.version],
        ['Gateway', running],
        ['Database', status.database && databaseLine(status.database, page)],
        ['Claude', claudeLine(status.claude, page)],
        ['Agent', agent?.kind],
        ['Cost today', costTodayLine(cost)],
        ['Disk free', disk && bytes(disk.freeBytes)],
      ],
      page,
    ),
    section(page, 'Waits for you', waitingTable(status, page)),
    section(page, 'Channels', channelTable(status, page)),
    section(page, 'Asked on their platforms', probeLines(status, page)),
    section(page, 'Not delivered', undeliveredTable(status, page)),
    section(page, 'Coding sessions', codingTable(status, page)),
    section(page, `Sessions (${status.sessions.total})`, recentTable(status, page)),
    section(
      page,
      'Cost',
      cost.days?.map(({ day, usd: amount }) => `${day}  ${usd(amount)}`).join('\n') ?? '',
    ),
    section(page, 'Problems', problems?.map((problem) => visible(problem)).join('\n') ?? ''),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

function claudeLine({ connected, source = '', hint = '' }: Status['claude'], page: Page): string {
  if (connected) return `connected (${oneLine(source)})`
  return `${styled(page, 'yellow', 'not connected.')} ${oneLine(hint)}`
}

/** What is wrong comes first; where it is, last. */
function databaseLine(
  { state, since, place, server, lastError, slow, lastSlow }: Database,
  page: Page,
): string {
  const isLost = state === 'lost'
  const about = [
    isLost ? `away (${ago(since, page.now)}: ${oneLine(lastError ?? '')})` : state,
    ...(lastSlow ? [`${slow} slow, the last ${duration(lastSlow.ms)} ${ago(lastSlow.at, page.now)}`] : []),
    server === undefined ? place : `${server} of ${place}`,
  ]
  const line = about.join(', ')
  return isLost ? styled(page, 'red', line) : line
}

interface DatabaseStatus {
  place: string
  schema: { version: number; known: number }
  connection: Omit<Database, 'place'> & { roundTripMs: number }
  machines: Array<{ machine: string; labels: string[]; serves: boolean; reach: string[]; silentMs: number }>
  waiting: { inputs: number; turns: number; deliveries: number }
}

export function printDatabase(status: DatabaseStatus, page: Page): string {
  const { place, schema, connection, machines, waiting } = status
  const about = pairs(
    [
      ['Database', databaseLine({ ...connection, place }, page)],
      ['Schema', `version ${schema.version}`],
      ['Answers in', `${connection.roundTripMs} ms`],
      ['Waiting', `${waiting.inputs} messages, ${waiting.deliveries} replies; ${waiting.turns} turns run`],
    ],
    page,
  )
  const members = table(
    machines,
    [
      { title: 'MACHINE', value: (row) => row.machine },
      { title: 'WHAT', value: (row) => (row.serves ? 'gateway' : 'command') },
      { title: 'HEARD OF', value: (row) => `${duration(row.silentMs)} ago`, align: 'right' },
      { title: 'SENDS THROUGH', value: (row) => row.reach.join(', '), min: 20 },
    ],
    page,
  )
  return `${about}\n\n${machines.length === 0 ? 'No Rockpool is connected.' : members}`
}

function section(page: Page, title: string, body: string): string {
  return body === '' ? '' : `${styled(page, 'bold', title)}\n${body}`
}

function waitingTable({ waiting }: Status, page: Page): string {
  if (waiting.length === 0) return ''
  return table(
    waiting,
    [
      { title: 'WHAT', value: (row) => row.kind },
      { title: 'ID', value: (row) => row.name ?? row.id.slice(0, 8) },
      { title: 'SINCE', value: (row) => ago(row.since, page.now), align: 'right' },
      { title: 'ABOUT', value: (row) => row.about, min: 20 },
    ],
    page,
  )
}

function channelTable({ channels }: Status, page: Page): string {
  if (channels.length === 0) return ''
  return table(
    channels,
    [
      {
        title: 'CHANNEL',
        value: (row) => (row.accountId === 'default' ? row.channel : `${row.channel} ${row.accountId}`),
      },
      {
        title: 'STATE',
        value: (row) => row.state,
        style: (row) => (row.state === 'connected' ? 'green' : 'yellow'),
      },
      { title: 'LAST ERROR', value: (row) => row.lastError ?? '', min: 20 },
    ],
    page,
  )
}

function undeliveredTable({ undelivered }: Status, page: Page): string {
  if (undelivered.length === 0) return ''
  return table(
    undelivered,
    [
      { title: 'TO', value: (row) => `${row.channel} ${row.to}` },
      { title: 'SINCE', value: (row) => ago(row.at, page.now), align: 'right' },
      { title: 'WHY', value: (row) => row.reason, min: 20 },
      { title: 'TEXT', value: (row) => row.text, min: 12 },
    ],
    page,
  )
}

function codingTable({ coding }: Status, page: Page): string {
  if (coding.running.length === 0) return ''
  return table(
    coding.running,
    [
      { title: 'NAME', value: (row) => row.name, min: 12 },
      { title: 'STATE', value: (row) => row.lifecycle.replace('awaiting-', 'waits: ') },
      { title: 'COST', value: (row) => usd(row.costUsd), align: 'right' },
      { title: 'WHERE', value: (row) => basename(row.workdir), min: 8 },
      { title: 'DOING', value: (row) => row.doing ?? '', min: 12 },
    ],
    page,
  )
}

function recentTable({ sessions }: Status, page: Page): string {
  if (sessions.recent.length === 0) return ''
  const { recent } = sessions
  return printList({ sessions: recent, count: recent.length, total: recent.length }, page)
}

interface Logs {
  lines: Array<{ level: string; time: string; message: string; [field: string]: unknown }>
}

export function printLogs({ lines }: Logs, page: Page): string {
  if (lines.length === 0 && !page.following) return 'Nothing was logged.'
  return lines.map((line) => printLine(line, page)).join('\n')
}

function printLine({ level, time, message, pid: _pid, ...rest }: Logs['lines'][number], page: Page): string {
  const color = level === 'error' ? 'red' : level === 'warn' ? 'yellow' : 'dim'
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${oneLine(JSON.stringify(value))}`)
  const when = styled(page, 'dim', oneLine(time.slice(0, 19).replace('T', ' ')))
  return [when, styled(page, color, level.padEnd(5)), oneLine(message), styled(page, 'dim', fields.join(' '))]
    .join(' ')
    .trimEnd()
}

interface ShownConfig {
  file: string
  config: unknown
  origins?: Record<string, { value: unknown; origin: string }>
}

export function printConfig({ file, config, origins }: ShownConfig, page: Page): string {
  const head = styled(page, 'dim', `# ${visible(file)}`)
  if (!origins) return `${head}\n${printAnything(config, page)}`
  const rows = Object.entries(origins).map(([key, { value, origin }]) => ({ key, value, origin }))
  const shown = table(
    rows,
    [
      { title: 'KEY', value: (row) => row.key, min: 20 },
      { title: 'VALUE', value: (row) => JSON.stringify(row.value) ?? '-', min: 20 },
      {
        title: 'ORIGIN',
        value: (row) => row.origin,
        style: (row) => (row.origin === 'file' ? 'green' : 'dim'),
      },
    ],
    page,
  )
  return `${head}\n${shown}`
}

function probeLines({ probes = [] }: Status, page: Page): string {
  return probes
    .map(({ channel, accountId, ok, as, error }) => {
      const said = ok
        ? `knows us${as === undefined ? '' : ` as ${oneLine(as)}`}`
        : oneLine(error ?? 'is not connected')
      return prose(`${channel} (${accountId}) ${said}`, page)
    })
    .join('\n')
}

export function printHealth(
  health: { version: string; pid: number; uptimeMs: number; gateway: boolean },
  page: Page,
): string {
  const { version, pid, uptimeMs, gateway } = health
  const running = `The gateway is well: Rockpool ${version}, up ${duration(uptimeMs)} (process ${pid}).`
  return prose(
    gateway ? running : `Rockpool ${version} works; no gateway runs (\`rockpool up\` starts one).`,
    page,
  )
}

export function printWoken({ sessionKey }: { sessionKey: string }): string {
  return `Queued for the next turn of ${oneLine(sessionKey)}.`
}

interface Tokens {
  operatorTokenFile: string
  hooks: { enabled: boolean; tokenFile: string; set: boolean }
  tokens: Array<{ name: string; scopes: string[]; agentId?: string; createdAt: number }>
}

export function printTokens({ operatorTokenFile, hooks, tokens }: Tokens, page: Page): string {
  const hookToken = hooks.set ? hooks.tokenFile : 'none (`rockpool tokens rotate hook` makes one)'
  const files = pairs(
    [
      ['Operator', operatorTokenFile],
      ['Hooks', `${hooks.enabled ? 'open' : 'shut (hooks.enabled)'}; token: ${hookToken}`],
    ],
    page,
  )
  if (tokens.length === 0) return `${files}\n\nNo further tokens. \`rockpool tokens add\` makes one.`
  const columns = [
    { title: 'TOKEN', value: (one: Tokens['tokens'][number]) => one.name },
    { title: 'MAY', value: (one: Tokens['tokens'][number]) => one.scopes.join(', ') },
    { title: 'AGENT', value: (one: Tokens['tokens'][number]) => one.agentId ?? 'all' },
    { title: 'MADE', value: (one: Tokens['tokens'][number]) => ago(one.createdAt, page.now), min: 10 },
  ]
  return `${files}\n\n${table(tokens, columns, page)}`
}
