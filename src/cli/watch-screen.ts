// The screen of `cc watch`, as a pure function of its state: the list of sessions, what the selected one asks or says, and the
// keys. watch-keys.ts has what the keys do.
import { columnsFor, isAsking } from './print-coding.ts'
import type { CodingRow, SessionLine } from './print-coding.ts'
import { breakText, cellWidth, duration, oneLine, styled, table, truncate, wrap } from './print.ts'
import type { Page } from './print.ts'
import { frameAt } from './spinner.ts'

/** `coding` is missing for a session of a plain `claude` in another terminal. */
export type WatchRow = SessionLine & { coding?: CodingRow }

export interface WatchState {
  rows: WatchRow[]
  selected: number
  /** The full question of the selected session, or its last output; safe to print. */
  details?: {
    id: string
    text: string
    approvalId?: string
    inputHash?: string
    /** Other requests that ask exactly this, and since when the screen shows how many they are. */
    alike?: { ids: string[]; since: number }
  }
  /** Set while the details fill the screen: from this line on, or without a line at their end. */
  peek?: { from?: number }
  /** The text that is being typed, and the session as it was when the typing began: only that request is answered. */
  answer?: { text: string; row: WatchRow }
  /** The session that ends after a yes. */
  ending?: WatchRow
  /** The list of keys covers the screen. */
  help?: boolean
  /** Since when each working session was seen at work. */
  workingSince?: ReadonlyMap<string, number>
  notice?: string
}

export type Screen = Page & { height: number }

type Typed = { prompt: string; key: string; help: string }
type WaitsFor = NonNullable<CodingRow['waiting']>['for']

/** The effect of a typed text, which depends on the request that the session waits for. */
const typed: Readonly<Record<WaitsFor, Typed>> = {
  approval: {
    prompt: 'deny, because>',
    key: 'r deny, why',
    help: '⏎ denies with this reason   Esc back, then a allows',
  },
  plan: {
    prompt: 'change the plan>',
    key: 'r change',
    help: '⏎ denies and sends what to change   Esc back, then a allows',
  },
  answer: { prompt: 'answer>', key: 'r answer', help: '⏎ answers   Esc back' },
  budget: {
    prompt: 'allow dollars>',
    key: 'r amount',
    help: '⏎ allows this amount   Esc back, then a allows',
  },
  input: { prompt: 'message>', key: 'r message', help: '⏎ sends   Esc back' },
}

function typedFor(row: WatchRow | undefined): Typed {
  return typed[row?.coding?.waiting?.for ?? 'input']
}

const keyList = [
  ['j k ↓ ↑', 'select a session; scroll while you look at one'],
  ['PgDn PgUp', 'ten lines'],
  ['Enter', 'look at the whole question or output'],
  ['a', 'allow, once the whole request is on the screen'],
  ['A', 'allow the same request of several sessions'],
  ['d', 'deny what is asked'],
  ['r', 'type an answer, a message, or why you deny'],
  ['x', 'end the session, after a question'],
  ['? ', 'show these keys'],
  ['q Esc', 'back; leave'],
] as const

/** The whole screen, exactly `height` lines. */
export function renderWatch(state: WatchState, page: Screen): string[] {
  const title = styled(page, 'bold', titleOf(state, page.width))
  const room = roomOf(state, page)
  const foot = [footOf(state, page), ...noticeLines(state, page)]
  return [title, '', ...padTo(bodyOf(state, page, room).slice(0, room), room), ...foot]
}

/** The lines between the title and the keys. */
function roomOf(state: WatchState, page: Screen): number {
  return Math.max(1, page.height - 3 - noticeLines(state, page).length)
}

const maxNoticeLines = 3

/** The effect of the typed text, or the result of the last action: at least one line. */
function noticeLines({ answer, notice = '' }: WatchState, { width }: Screen): string[] {
  const text = oneLine(answer ? typedFor(answer.row).help : notice)
  return wrap(text, width)
    .slice(0, maxNoticeLines)
    .map((line) => truncate(line, width))
}

function bodyOf(state: WatchState, page: Screen, room: number): string[] {
  if (state.help) return keyList.map(([keys, what]) => truncate(`  ${keys.padEnd(10)}  ${what}`, page.width))
  return state.peek ? peekLines(state, page, room) : listAndDetails(state, page, room)
}

function footOf(state: WatchState, page: Screen): string {
  if (state.ending)
    return styled(page, 'yellow', truncate(`End ${oneLine(state.ending.name)}? y/N`, page.width))
  if (state.answer) {
    const { prompt } = typedFor(state.answer.row)
    return truncate(`${prompt} ${oneLine(state.answer.text)}█`, page.width)
  }
  return styled(page, 'dim', fitting(keysOf(state), page.width))
}

/** The keys that do something now, the most important first. */
function keysOf(state: WatchState): string[] {
  const row = state.rows[state.selected]
  const decisions = row?.coding && isAsking(row.coding) ? ['a allow', 'd deny'] : []
  const alike = alikeIn(state).length > 0 ? [`A allow all ${alikeIn(state).length + 1}`] : []
  const isLive = row?.coding !== undefined && row.coding.lifecycle !== 'ended'
  const session = isLive ? [...decisions, ...alike, typedFor(row).key, 'x end'] : []
  return state.peek
    ? [...session, 'q back', 'j k scroll']
    : [...session, '? keys', 'q quit', ...(row ? ['⏎ look', 'j k select'] : [])]
}

/** As many parts as fit in a line. */
function fitting(parts: readonly string[], width: number, between = '   '): string {
  const count = parts.findLastIndex((_, i) => cellWidth(parts.slice(0, i + 1).join(between)) <= width) + 1
  return parts.slice(0, count).join(between)
}

/** True if the whole question of the selected session is on the screen. Only then may it be allowed. */
export function isShownWhole(state: WatchState, page: Screen): boolean {
  const lines = detailLines(state, page).length
  // Not loaded yet, or an earlier question.
  if (lines === 0 || state.details?.approvalId !== state.rows[state.selected]?.coding?.waiting?.approvalId)
    return false
  const room = roomOf(state, page)
  if (!state.peek) return lines <= detailRoom(state, room)
  return lines - (state.peek.from ?? Math.max(0, lines - room)) <= room
}

/** The other requests that ask exactly what the selected session asks. */
export function alikeIn({ details, rows, selected }: WatchState): string[] {
  return details?.id === rows[selected]?.id ? (details?.alike?.ids ?? []) : []
}

/** Counts that do not fit are left out. */
function titleOf({ rows }: WatchState, width: number): string {
  const count = (test: (row: WatchRow) => boolean): number => rows.filter(test).length
  const needing = count((row) => row.needsYou || row.state === 'needs you')
  const parts = (['ready', 'working'] as const).map(
    (state) => `${count((row) => row.state === state)} ${state}`,
  )
  const first = `Rockpool  ${needing} need${needing === 1 ? 's' : ''} you`
  const all = rows.length > 0 ? [`${rows.length} in all`] : []
  return fitting([first, ...parts, ...all], width, ', ')
}

function emptyLines({ width }: Screen): string[] {
  const text =
    'No session was started here, and none runs in a terminal. `rockpool cc launch "…" --repo .` starts one; `rockpool cc list` shows all others.'
  return wrap(text, width)
}

function listAndDetails(state: WatchState, page: Screen, room: number): string[] {
  if (state.rows.length === 0) return emptyLines(page)
  const list = listLines(state, page, listRoom(state, room))
  const details = detailLines(state, page)
  const fits = detailRoom(state, room)
  const shown = details.length <= fits ? details : cutDetails(state, details, fits)
  return [...list, '', ruleFor(state, page), ...shown]
}

/** The name of the selected session; of a working one also a spinner and for how long it has worked. */
function ruleFor({ rows, selected, workingSince }: WatchState, page: Screen): string {
  const row = rows[selected]
  const since = row?.state === 'working' ? workingSince?.get(row.id) : undefined
  const work = since === undefined ? '' : `${frameAt(page.now)} ${duration(Math.max(0, page.now - since))} `
  const name = truncate(`── ${oneLine(row?.name ?? '')} ${work}`, page.width)
  return styled(page, 'dim', name + '─'.repeat(page.width - cellWidth(name)))
}

/** A question is read from its beginning, output from its end. */
function cutDetails(state: WatchState, details: string[], fits: number): string[] {
  const row = state.rows[state.selected]?.coding
  if (!row || !isAsking(row)) return details.slice(-fits)
  const rest = details.length - fits + 1
  return [...details.slice(0, fits - 1), `… ${rest} more lines; ⏎ shows them`]
}

function listRoom({ rows }: WatchState, room: number): number {
  return Math.min(rows.length + 1, Math.max(4, Math.floor(room / 2)))
}

function detailRoom(state: WatchState, room: number): number {
  return Math.max(0, room - listRoom(state, room) - 2)
}

function listLines(state: WatchState, page: Screen, room: number): string[] {
  const narrower = { ...page, width: page.width - 2 }
  const [head = '', ...lines] = table(narrower, state.rows, columnsFor(page)).split('\n')
  const first = Math.max(0, Math.min(state.selected - Math.floor(room / 2), lines.length - (room - 1)))
  const shown = lines.map((line, i) =>
    i === state.selected ? styled(page, 'inverse', `> ${line}`) : `  ${line}`,
  )
  return [`  ${head}`, ...shown.slice(first, first + room - 1)]
}

function peekLines(state: WatchState, page: Screen, room: number): string[] {
  const lines = detailLines(state, page)
  const last = Math.max(0, lines.length - room)
  const from = Math.min(state.peek?.from ?? last, last)
  return lines.slice(from, from + room)
}

function detailLines({ details, rows, selected }: WatchState, page: Screen): string[] {
  if (details === undefined || details.id !== rows[selected]?.id) return []
  return details.text.split('\n').flatMap((line) => breakLine(line, page.width))
}

/** Nothing is cut. A coloured line keeps its colour on each part. */
function breakLine(line: string, width: number): string[] {
  const [, start = '', text = line, end = ''] = /^(\u001b\[\d+m)(.*)(\u001b\[\d+m)$/s.exec(line) ?? []
  return breakText(text, width).map((part) => `${start}${part}${end}`)
}

function padTo(lines: string[], count: number): string[] {
  return [...lines, ...Array.from({ length: Math.max(0, count - lines.length) }, () => '')]
}
