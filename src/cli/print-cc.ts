// `rockpool cc list`, `cc info` and `cc repair`: sessions of Claude Code and other coding agents.
import { basename } from 'node:path'
import { titleText } from '../domain/machine-text.ts'
import { shownInTerminal } from '../operations/input-fields.ts'
import type { OutputOf } from '../rpc/client.ts'
import { currentActivity, stateStyle } from './print-coding.ts'
import { keptLine } from './print-cc-session.ts'
import { tokenLine } from './print-costs.ts'
import { pricesOf } from './print-select.ts'
import { livingLines } from './print-why.ts'
import {
  ago,
  bytes,
  count,
  duration,
  oneLine,
  pairs,
  prose,
  styled,
  table,
  tokens,
  truncate,
  usd,
  usdCell,
} from './print.ts'
import type { Columns, Page, Printers, Style } from './print.ts'

type List = OutputOf<'cc.list'>
type Row = List['sessions'][number]
type Info = OutputOf<'cc.info'>
type Health = NonNullable<Info['health']>

export const printers: Printers = {
  'cc.list': (output, page) => [printSessions(output, page), ...unreadableLines(output, page)].join('\n'),
  'cc.info': ({ session, health, coding, price, onResume, folderGone, lines }, page) =>
    [
      styled(page, 'bold', truncate(oneLine(headline(session)), page.width)),
      ...(coding ? [printCoding(coding, page)] : []),
      printFacts(session, page),
      ...(health ? [printSpending(session, page), printHealth(health, page)] : []),
      ...(lines && livingLines(lines, page).length > 0 ? [livingLines(lines, page).join('\n')] : []),
      ...(price && !folderGone ? [pairs(page, { 'to continue': pricesOf(price) })] : []),
      ...(folderGone ? [folderGoneLine(session, page)] : []),
      ...(session.kept ? [keptLine(session.sessionId, page)] : []),
      ...(onResume === undefined || folderGone
        ? []
        : [styled(page, 'dim', prose(`Resume: ${onResume}`, page))]),
    ].join('\n\n'),
  'cc.repair': ({ sessionId, health, left }, page) => {
    const lost = left === 0 ? '' : ` ${left} records could not be saved.`
    return [
      `Repaired as ${sessionId}.${lost} The original is unchanged.`,
      printHealth(health, page),
      styled(page, 'dim', `claude --resume ${sessionId}`),
    ].join('\n')
  },
}

function folderGoneLine({ repoPath }: Row, page: Page): string {
  const what = `Its folder ${repoPath} no longer exists, so it can be read but not resumed or forked.`
  return styled(page, 'yellow', prose(what, page))
}

const unreadableShown = 5

function unreadableLines({ unreadable = [] }: List, page: Page): string[] {
  const lines = unreadable
    .slice(0, unreadableShown)
    .map(({ path, reason }) => styled(page, 'yellow', `Cannot read ${oneLine(path)}: ${oneLine(reason)}`))
  const more = unreadable.length - lines.length
  return more > 0 ? [...lines, `… and ${more} more; \`rockpool doctor\` shows all of them.`] : lines
}

/** Without `--all` or a page: no archived sessions, and at most as many as a person can look through. */
function printSessions({ sessions, total, archivedLeftOut }: List, page: Page): string {
  const { all, limit, offset, archived } = page.input ?? {}
  if (sessions.length === 0 && !archivedLeftOut)
    return isNarrowed(page)
      ? 'No session matches. `rockpool cc list` shows all of them.'
      : 'No sessions of a coding agent. `rockpool cc launch "…" --repo .` starts one.'
  if (all === true || limit !== undefined || offset !== undefined)
    return [
      table(page, sessions, listColumns(sessions, page)),
      ...pageNote(sessions.length, total, page),
    ].join('\n')
  const listed = archived === undefined ? sessions.filter((row) => !row.archived) : sessions
  const shown = listed.slice(0, shownInTerminal)
  const inList = sessions.length - listed.length
  const notes = [...moreNote(total - inList - shown.length), ...archivedNote(archivedLeftOut ?? inList)]
  return [
    ...(shown.length > 0 ? [table(page, shown, listColumns(shown, page))] : []),
    ...notes.map((note) => styled(page, 'dim', note)),
  ].join('\n')
}

function pageNote(rows: number, total: number, page: Page): string[] {
  const first = Number(page.input?.['offset'] ?? 0) + 1
  if (rows === total) return []
  const which = rows === 1 ? `Session ${first}` : `Sessions ${first} to ${first + rows - 1}`
  return [styled(page, 'dim', `${which} of ${total}; --limit and --offset show others.`)]
}

function moreNote(more: number): string[] {
  return more > 0 ? [`… and ${more} more; --all shows them, --search finds some.`] : []
}

function archivedNote(hidden: number): string[] {
  if (hidden === 0) return []
  return [`${count(hidden, 'archived session')} not shown; --all shows ${hidden === 1 ? 'it' : 'them'}, too.`]
}

function isNarrowed({ input = {} }: Page): boolean {
  const asked = ['repo', 'agent', 'agentKind', 'source', 'running', 'archived', 'search', 'offset']
  return asked.some((name) => input[name] !== undefined && input[name] !== false)
}

/** The most wanted columns come first. A narrow terminal loses columns, then parts of the message and of the branch. The
 *  list of one repository does not repeat its name. */
function listColumns(rows: Row[], { width, now, input }: Page): Columns<Row> {
  const isOneRepo = input?.['repo'] !== undefined
  const cost = (row: Row): string => `${usdCell(row.costUsd)}${row.costGuessed ? '?' : ''}`
  const isAsked = rows.some((row) => waitsFor(row) !== '')
  const hasOthers = rows.some(({ agentKind }) => agentKind !== 'claude')
  const hasNames = rows.some((row) => row.title !== undefined)
  // Most sessions have either a title or a telling first message, so that one column is enough where room is scarce.
  const isWide = width >= 140
  const isNarrow = width < 76
  const hasRegistry = rows.some((row) => registryLine(row) !== undefined)
  return {
    ID: { value: shortId, min: Math.max(...rows.map((row) => shortId(row).length)), style: 'dim' },
    AGENT: hasOthers && { value: (row) => row.agentKind, min: 6, style: agentStyle },
    STATE: { value: stateOf, min: 9, style: stateStyle },
    'WAITS FOR': isAsked && { value: waitsFor, min: isNarrow ? 12 : 17, style: 'yellow' },
    SOURCE: isWide && { value: sourceOf, min: 6, style: 'dim' },
    REPO: !isOneRepo && { value: (row) => basename(row.repoPath) || '-', min: 6 },
    BRANCH: (isOneRepo || !isNarrow) && { value: (row) => row.branch || '-', min: 6, optional: true },
    NAME: hasNames && {
      value: (row) => (isWide ? (row.title ?? '') : headline(row)),
      min: isNarrow ? 8 : 16,
    },
    'FIRST MESSAGE': (!hasNames || isWide) && { value: plainMessage, min: isNarrow ? 10 : 16 },
    AGE: { value: (row) => age(row, now), align: 'right', min: 5 },
    MSGS: width >= 96 && { value: (row) => String(row.messageCount), align: 'right', min: 4, optional: true },
    TOKENS: isWide && { value: (row) => tokens(allTokens(row)), align: 'right', min: 6 },
    COST: (!isNarrow || !isAsked) && { value: cost, align: 'right', min: 7 },
    OPENCLAW: hasRegistry &&
      width >= 96 && { value: (row) => registryLine(row) ?? '-', align: 'right', min: 8 },
    CONTEXT: { value: contextOf, align: 'right', min: 7, style: contextStyle, optional: true },
    CACHE: { value: cacheOf, min: 4, style: (row) => (row.warm ? 'green' : 'dim'), optional: true },
  }
}

/** Enough to name the session. Codex and pi begin their ids with the time, opencode with a word. */
export function shortId({ agentKind, sessionId }: { agentKind: string; sessionId: string }): string {
  return sessionId.slice(0, agentKind === 'claude' ? 8 : agentKind === 'opencode' ? 16 : 13)
}

function agentStyle({ agentKind }: Row): Style {
  return agentKind === 'claude' ? 'dim' : 'cyan'
}

/** A session that is ready waits only for its next message; a limited one for the reset of Claude's usage limit. */
function waitsFor({ waitingFor = '', stateText = '', limit }: Row): string {
  if (limit) return `reset ${localTime(limit.until)}`
  return waitingFor === 'input' ? '' : waitingFor || stateText
}

/** `16:40`, with the date when that is not within a day. */
function localTime(moment: number): string {
  const isSoon = moment - Date.now() < 20 * 3_600_000
  return new Date(moment).toLocaleString('sv-SE', {
    dateStyle: isSoon ? undefined : 'short',
    timeStyle: 'short',
  })
}

function cacheOf({ warm }: Row): string {
  return warm ? 'warm' : 'cold'
}

function stateOf(row: Row): string {
  if (row.kept) return 'kept'
  return row.archived && row.state === 'stopped' ? 'archived' : row.state
}

function sourceOf(row: Row): string {
  const kind = row.source === 'native-only' ? 'native' : row.source
  return row.agentId ? `${kind}/${row.agentId}` : kind
}

function headline(row: Row): string {
  return row.title ?? plainMessage(row)
}

/** Without the marker that programs write before the first message. */
function plainMessage(row: Row): string {
  return titleText(row.firstMessage) || '-'
}

function age(row: Row, now: number): string {
  return ago(Date.parse(row.lastModified), now).replace(/ ago$/, '')
}

function allTokens(row: Row): number {
  return row.totalInputTokens + row.totalOutputTokens + row.cacheReadTokens + row.cacheCreationTokens
}

function contextOf(row: Row): string {
  if (row.contextTokens === 0) return '-'
  return `${tokens(row.contextTokens)} ${shareOf(row)}`
}

function shareOf({ contextTokens, contextWindow }: Row): string {
  return `${Math.round((contextTokens / contextWindow) * 100)}%`
}

/** `51k of 200k (26%)`. */
function contextLine(row: Row): string {
  const window = tokens(row.contextWindow)
  return row.contextTokens === 0
    ? `empty, of ${window}`
    : `${tokens(row.contextTokens)} of ${window} (${shareOf(row)})`
}

function contextStyle(row: Row): Style | undefined {
  const fill = row.contextTokens / row.contextWindow
  return fill > 0.8 ? 'red' : fill > 0.6 ? 'yellow' : undefined
}

/** Facts that exist only for a session that Rockpool runs. */
function printCoding(row: NonNullable<Info['coding']>, page: Page): string {
  return pairs(page, {
    name: oneLine(row.name),
    'coding id': row.id,
    now: row.endMessage || row.lifecycle === 'ended' ? undefined : oneLine(currentActivity(row)),
    ended: row.endMessage ? oneLine(row.endMessage) : undefined,
    budget: `${usd(row.costUsd)} of ${usd(row.budgetUsd)}`,
    turns: String(row.turns),
    'not delivered yet':
      row.pendingMessages.length > 0 ? row.pendingMessages.map(oneLine).join(' · ') : undefined,
    'blocked on you': row.waitedMs >= 1_000 ? duration(row.waitedMs) : undefined,
  })
}

function printFacts(session: Row, page: Page): string {
  const line = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : oneLine(text)
  return pairs(page, {
    id: session.sessionId,
    state: [stateOf(session), waitsFor(session)].filter(Boolean).join(': '),
    source: sourceOf(session),
    directory: session.repoPath || '-',
    branch: session.branch || '-',
    label: session.label,
    tag: session.tag,
    'first message': line(plainMessage(session)),
    'last prompt': line(session.lastPrompt && titleText(session.lastPrompt)),
    'last task': line(session.lastTask),
    began: session.createdAt && ago(Date.parse(session.createdAt), page.now),
    'last used': ago(Date.parse(session.lastModified), page.now),
    messages: `${session.messageCount} (${count(session.promptCount, 'prompt')}, ${count(session.lineCount, 'line')})`,
    'forked from': session.forkedFrom,
    model: session.model,
    'written by': session.version && writerOf(session),
    file: session.filePath ? `${session.filePath} (${bytes(session.fileSizeBytes)})` : undefined,
  })
}

function writerOf({ agentKind, version, entrypoint }: Row): string {
  const program = agentKind === 'claude' ? 'Claude Code' : agentKind
  return [program, version, entrypoint && `(${entrypoint})`].filter(Boolean).join(' ')
}

function printSpending(session: Row, page: Page): string {
  const { subagentCount, compactionCount, budgetUsedPct } = session
  const own = {
    inputTokens: session.totalInputTokens,
    outputTokens: session.totalOutputTokens,
    cacheReadTokens: session.cacheReadTokens,
    cacheCreationTokens: session.cacheCreationTokens,
  }
  return pairs(page, {
    tokens: tokenLine(own),
    'sub-agents': subagentCount > 0 ? `${subagentCount}: ${tokenLine(session.subagentTokens)}` : undefined,
    cost: costLine(session),
    'OpenClaw reports': registryLine(session),
    context: `${contextLine(session)}, ${count(compactionCount, 'compaction')}`,
    cache: cacheLine(session, page.now),
    budget: budgetUsedPct === undefined ? undefined : `${Math.round(budgetUsedPct * 100)}% used`,
  })
}

/** Cost and turns of a session according to OpenClaw's registry. */
function registryLine({ source, totalCostUsd, totalTurns }: Row): string | undefined {
  if (source !== 'openclaw' || (totalCostUsd === undefined && totalTurns === undefined)) return undefined
  const cost = totalCostUsd === undefined ? [] : [usd(totalCostUsd)]
  return [...cost, ...(totalTurns === undefined ? [] : [count(totalTurns, 'turn')])].join(', ')
}

function costLine(session: Row): string {
  const { costUsd, costGuessed, reportedCostUsd: reported } = session
  const said =
    reported === undefined ? '' : `; Claude Code reports ${usd(reported)}${differenceOf(reported, costUsd)}`
  return `${usd(costUsd)}${costGuessed ? ' (price guessed)' : ''}${said}`
}

/** Claude Code does not record every call, for example compactions; its own sum is missing calls after a crash or an
 *  interruption. */
function differenceOf(reported: number, costUsd: number): string {
  if (usd(reported) === usd(costUsd)) return ''
  return reported > costUsd
    ? ', with calls or tokens that the transcript does not itemise'
    : ', without some calls of the transcript'
}

function cacheLine(session: Row, now: number): string {
  if (!session.warm || session.lastUsageAt === undefined) return 'cold: a resume pays for the whole context'
  const left = Date.parse(session.lastUsageAt) + session.cacheTtlMinutes * 60_000 - now
  return `warm for ${duration(Math.max(0, left))}`
}

function printHealth(health: Health, page: Page): string {
  const style: Style = health.verdict === 'sound' ? 'green' : health.verdict === 'degraded' ? 'yellow' : 'red'
  if (health.verdict === 'sound' && health.reachableShare === 1 && health.findings.length === 0)
    return `${styled(page, style, 'Transcript intact')}  ${count(health.records, 'record')}`
  const share = `${health.reachable} of ${health.records} records reached (${Math.round(health.reachableShare * 100)}%)`
  const lines = [
    `${styled(page, style, health.verdict)}  ${share}`,
    ...health.findings.map((text) => `  ${oneLine(text)}`),
  ]
  return lines.join('\n')
}
