// Configuration, logs, tokens, agents, and the findings of the doctor.
import type { OutputOf } from '../rpc/client.ts'
import { shellWord } from '../domain/text.ts'
import { timeOf } from './print-history.ts'
import { ago, count, oneLine, pairs, printFields, prose, styled, table, visible } from './print.ts'
import type { Page, Printers } from './print.ts'

type DoctorReport = OutputOf<'doctor'>
type LogLine = OutputOf<'logs'>['lines'][number]

export const printers: Printers = {
  'agents.list': ({ agents }, page) =>
    table(page, agents, {
      AGENT: { value: (agent) => agent.id, min: 6 },
      NAME: (agent) => agent.name ?? '-',
      DEFAULT: (agent) => (agent.default ? 'yes' : ''),
      MODEL: (agent) => agent.model ?? '-',
      WORKSPACE: { value: (agent) => agent.workspace, min: 12 },
    }),
  'config.get': ({ value }) => (typeof value === 'string' ? visible(value) : JSON.stringify(value, null, 2)),
  'config.set': printChange,
  'config.show': printConfig,
  doctor: (report, page) =>
    [
      printFindings(report, page),
      ...report.notes.map((note) => styled(page, 'yellow', prose(note, page))),
    ].join('\n'),
  logs: ({ lines }, page) => {
    if (lines.length === 0 && !page.following) return 'Nothing was logged.'
    return lines.map((line) => printLine(line, page)).join('\n')
  },
  'tokens.list': printTokens,
}

/** Each problem with its place and its fix. */
function printFindings({ findings, fixed, failed, notes }: DoctorReport, page: Page): string {
  if (findings.length === 0) return notes.length > 0 ? 'Nothing is damaged.' : 'No problems found.'
  const lines = findings.map(({ where, problem, remedy, fixable }) => {
    const mark = styled(page, fixable ? 'yellow' : 'red', fixable ? '!' : 'x')
    return `${mark} ${oneLine(problem)}\n  ${styled(page, 'dim', oneLine(where))}\n  ${oneLine(remedy)}`
  })
  const fixable = findings.filter((finding) => finding.fixable).length
  const hint =
    fixed > 0
      ? `${fixed} fixed.`
      : fixable > 0
        ? `Run \`rockpool doctor --fix\` to fix ${count(fixable, 'problem')}.`
        : ''
  return [...lines, ...failed.map((text) => styled(page, 'red', visible(text))), hint]
    .filter(Boolean)
    .join('\n')
}

function printLine({ level, time, message, pid: _pid, ...rest }: LogLine, page: Page): string {
  const color = level === 'error' ? 'red' : level === 'warn' ? 'yellow' : 'dim'
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${oneLine(JSON.stringify(value))}`)
  const when = styled(page, 'dim', timeOf(time))
  return [when, styled(page, color, level.padEnd(5)), oneLine(message), styled(page, 'dim', fields.join(' '))]
    .join(' ')
    .trimEnd()
}

function printConfig({ file, config, origins }: OutputOf<'config.show'>, page: Page): string {
  const head = styled(page, 'dim', `# ${visible(file)}`)
  if (!origins) return `${head}\n${printFields(config, page)}`
  const rows = Object.entries(origins).map(([key, { value, origin }]) => ({ key, value, origin }))
  const shown = table(page, rows, {
    KEY: { value: (row) => row.key, min: 20 },
    VALUE: { value: (row) => JSON.stringify(row.value) ?? '-', min: 20 },
    ORIGIN: { value: (row) => row.origin, style: (row) => (row.origin === 'file' ? 'green' : 'dim') },
  })
  return `${head}\n${shown}`
}

/** What changed, and the command that undoes it. */
function printChange(
  { key, value, previous, file, needsRestart }: OutputOf<'config.set'>,
  page: Page,
): string {
  const shown = (one: unknown): string => (one === undefined ? '(not set)' : JSON.stringify(one))
  const undo =
    previous === undefined ? '--unset' : `'${JSON.stringify(previous).replaceAll("'", String.raw`'\''`)}'`
  const when = needsRestart
    ? 'A running gateway needs a restart to use it.'
    : 'A running gateway uses it in a second.'
  const isSecret = previous === '[redacted]'
  return [
    prose(`${key}: ${shown(previous)} → ${shown(value)} in ${file}. ${when}`, page),
    ...(isSecret
      ? []
      : [styled(page, 'dim', visible(`Undo: rockpool config set ${shellWord(key)} ${undo}`))]),
  ].join('\n')
}

function printTokens({ operatorTokenFile, hooks, tokens }: OutputOf<'tokens.list'>, page: Page): string {
  const hookToken = hooks.set ? hooks.tokenFile : 'none (`rockpool tokens rotate hook` makes one)'
  const files = pairs(page, {
    Operator: operatorTokenFile,
    Hooks: `${hooks.enabled ? 'enabled' : 'disabled (hooks.enabled)'}; token: ${hookToken}`,
  })
  if (tokens.length === 0) return `${files}\n\nNo further tokens. \`rockpool tokens add\` makes one.`
  const shown = table(page, tokens, {
    TOKEN: (row) => row.name,
    SCOPES: (row) => row.scopes.join(', '),
    AGENT: (row) => row.agentId ?? (row.agents === undefined ? 'all' : `${row.agents}*`),
    CREATED: { value: (row) => ago(row.createdAt, page.now), min: 10 },
  })
  return `${files}\n\n${shown}`
}
