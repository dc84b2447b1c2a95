// The screen of `cc watch`: the list above, and below it what the chosen session asks or said last. What is asked is
// shown whole before it can be approved.
import { cellWidth } from './cell-width.ts'
import { columnsFor, isAsking } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { fit, oneLine, styled, table, visible } from './print.ts'
import type { Page } from './print.ts'

export interface WatchState {
  rows: CodingRow[]
  selected: number
  /** What the chosen session asks, in full, or said last. */
  details?: {
    id: string
    text: string
    asks?: string | undefined
    /** How many sessions ask exactly this. */
    alike?: number
  }
  /** The details on the whole screen, from this line on; from the end when absent. */
  peek?: { from?: number }
  /** What is being typed as an answer. */
  answer?: string
  notice?: string
}

export type Screen = Page & { height: number }

const help = '↑↓ choose   ⏎ look   r answer   a approve   d deny   k end   q quit'
const peekHelp = '↑↓ scroll   r answer   a approve   d deny   k end   q back'
const footLines = 2

/** The whole screen, exactly `height` lines. */
export function renderWatch(state: WatchState, page: Screen): string[] {
  const title = styled(page, 'bold', fit(titleOf(state), page.width))
  const keys = `${state.peek ? peekHelp : help}${isAlike(state) ? `   A approve all ${state.details!.alike}` : ''}`
  const foot = [
    state.answer === undefined
      ? styled(page, 'dim', fit(page.width < 72 ? keys.replaceAll('   ', ' ') : keys, page.width))
      : fit(`answer> ${visible(state.answer)}█`, page.width),
    fit(oneLine(state.notice ?? ''), page.width),
  ]
  const room = page.height - footLines - 2
  const body = state.peek ? peekLines(state, page, room) : [...listAndDetails(state, page, room)]
  return [title, '', ...padTo(body.slice(0, room), room), ...foot]
}

/** Does the chosen question stand on the screen from its first line to its last? Only then may it be approved. */
export function isShownWhole(state: WatchState, page: Screen): boolean {
  const lines = detailLines(state, page).length
  // Not yet fetched, or what was asked before.
  if (lines === 0 || state.details?.asks !== state.rows[state.selected]?.waiting?.approvalId) return false
  const room = page.height - footLines - 2
  if (!state.peek) return lines <= detailRoom(state, room)
  return lines - (state.peek.from ?? Math.max(0, lines - room)) <= room
}

/** Do others ask exactly what the chosen one asks? */
export function isAlike({ details, rows, selected }: WatchState): boolean {
  return details?.id === rows[selected]?.id && (details?.alike ?? 0) > 1
}

function titleOf({ rows }: WatchState): string {
  const count = (test: (row: CodingRow) => boolean): number => rows.filter(test).length
  const asking = count(isAsking)
  const idle = count((row) => row.waiting?.for === 'input')
  const atWork = count((row) => !row.waiting && (row.status === 'running' || row.status === 'starting'))
  const ask = `${asking} ${asking === 1 ? 'asks' : 'ask'} you`
  return `Rockpool  ${ask}, ${idle} done for now, ${atWork} at work, ${rows.length} in all`
}

function listAndDetails(state: WatchState, page: Screen, room: number): string[] {
  if (state.rows.length === 0) return ['No coding sessions. Start one: rockpool cc launch "…" --repo .']
  const list = listLines(state, page, listRoom(state, room))
  const details = detailLines(state, page)
  const fits = detailRoom(state, room)
  const shown = details.length <= fits ? details : cutDetails(state, details, fits)
  return [...list, '', ruleFor(state, page), ...shown]
}

function ruleFor({ rows, selected }: WatchState, page: Screen): string {
  const name = fit(`── ${oneLine(rows[selected]?.name ?? '')} `, page.width)
  return styled(page, 'dim', name + '─'.repeat(page.width - cellWidth(name)))
}

/** A question is read from its beginning, output from its end. */
function cutDetails(state: WatchState, details: string[], fits: number): string[] {
  const row = state.rows[state.selected]
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
  const rows = state.rows.map((row) => ({ ...row, now: page.now }))
  const [head = '', ...lines] = table(rows, columnsFor(page.width), { ...page, width: page.width - 2 }).split(
    '\n',
  )
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
  return visible(details.text)
    .split('\n')
    .flatMap((line) => wrap(line, page.width))
}

/** Lines of at most `width` cells; nothing is cut away. */
export function wrap(line: string, width: number): string[] {
  if (cellWidth(line) <= width) return [line]
  const lines: string[] = []
  let current = ''
  let used = 0
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    const cells = cellWidth(segment)
    if (used + cells > width) {
      lines.push(current)
      current = ''
      used = 0
    }
    current += segment
    used += cells
  }
  return [...lines, current]
}

function padTo(lines: string[], count: number): string[] {
  return [...lines, ...Array.from({ length: Math.max(0, count - lines.length) }, () => '')]
}
