// The screen of `cc watch` and its keys: the list above, below it the question or the last output of the selected session.
// A request must be shown completely before it can be approved. Everything here is pure; cc-watch.ts has the effects.
import { columnsFor, isAsking } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { cellWidth, oneLine, styled, table, truncate, visible } from './print.ts'
import type { Page } from './print.ts'

export interface WatchState {
  rows: CodingRow[]
  selected: number
  /** The full question of the selected session, or its last output. */
  details?: {
    id: string
    text: string
    approvalId?: string
    /** How many sessions ask exactly this. */
    alike?: number
  }
  /** Set while the details fill the screen: from this line on, or without a line at their end. */
  peek?: { from?: number }
  /** The answer that is being typed. */
  answer?: string
  notice?: string
}

export type Screen = Page & { height: number }

const help = '↑↓ select   ⏎ look   r answer   a approve   d deny   k end   q quit'
const peekHelp = '↑↓ scroll   r answer   a approve   d deny   k end   q back'
const footLines = 2

/** The whole screen, exactly `height` lines. */
export function renderWatch(state: WatchState, page: Screen): string[] {
  const title = styled(page, 'bold', truncate(titleOf(state), page.width))
  const keys = `${state.peek ? peekHelp : help}${isAlike(state) ? `   A approve all ${state.details!.alike}` : ''}`
  const foot = [
    state.answer === undefined
      ? styled(page, 'dim', truncate(page.width < 72 ? keys.replaceAll('   ', ' ') : keys, page.width))
      : truncate(`answer> ${visible(state.answer)}█`, page.width),
    truncate(oneLine(state.notice ?? ''), page.width),
  ]
  const room = page.height - footLines - 2
  const body = state.peek ? peekLines(state, page, room) : [...listAndDetails(state, page, room)]
  return [title, '', ...padTo(body.slice(0, room), room), ...foot]
}

/** True if the whole question of the selected session is on the screen. Only then may it be approved. */
function isShownWhole(state: WatchState, page: Screen): boolean {
  const lines = detailLines(state, page).length
  // Not loaded yet, or an earlier question.
  if (lines === 0 || state.details?.approvalId !== state.rows[state.selected]?.waiting?.approvalId)
    return false
  const room = page.height - footLines - 2
  if (!state.peek) return lines <= detailRoom(state, room)
  return lines - (state.peek.from ?? Math.max(0, lines - room)) <= room
}

/** True if other sessions ask exactly what the selected one asks. */
function isAlike({ details, rows, selected }: WatchState): boolean {
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
  const name = truncate(`── ${oneLine(rows[selected]?.name ?? '')} `, page.width)
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
  return visible(details.text)
    .split('\n')
    .flatMap((line) => breakLine(line, page.width))
}

/** Breaks a line after `width` cells, also inside words; nothing is cut. */
function breakLine(line: string, width: number): string[] {
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

export interface Key {
  name?: string
  sequence?: string
  ctrl?: boolean
  shift?: boolean
}

export type WatchAction =
  | { do: 'quit' }
  | { do: 'respond'; row: CodingRow; text: string }
  | { do: 'decide'; row: CodingRow; decision: 'allow' | 'deny'; alike?: boolean }
  | { do: 'kill'; row: CodingRow }

interface Pressed {
  state: WatchState
  action?: WatchAction
}

export function pressKey(state: WatchState, key: Key, page: Screen): Pressed {
  if (key.ctrl && key.name === 'c') return { state, action: { do: 'quit' } }
  if (state.answer !== undefined) return typeAnswer(state, state.answer, key)
  const quiet = { ...state, notice: undefined }
  if (key.name === 'q' || key.name === 'escape') {
    return state.peek ? { state: { ...quiet, peek: undefined } } : { state, action: { do: 'quit' } }
  }
  const steps: Readonly<Record<string, number>> = { up: -1, down: 1, pageup: -10, pagedown: 10 }
  const step = steps[key.name ?? '']
  if (step !== undefined) return { state: state.peek ? scrolled(quiet, step) : selected(quiet, step) }
  const row = state.rows[state.selected]
  return row ? actOn(row, quiet, key, page) : { state }
}

function actOn(row: CodingRow, state: WatchState, key: Key, page: Screen): Pressed {
  switch (key.name) {
    case 'return':
      return { state: { ...state, peek: isAsking(row) ? { from: 0 } : {} } }
    case 'r':
      return { state: { ...state, answer: '' } }
    case 'a':
      return approve(row, state, page, key.shift === true && isAlike(state))
    case 'd':
      return { state, action: { do: 'decide', row, decision: 'deny' } }
    case 'k':
      return { state, action: { do: 'kill', row } }
    default:
      return { state }
  }
}

/** A request can be approved only after it was shown to its end. */
function approve(row: CodingRow, state: WatchState, page: Screen, alike: boolean): Pressed {
  if (!isAsking(row) || isShownWhole(state, page))
    return { state, action: { do: 'decide', row, decision: 'allow', alike } }
  const notice = 'Read it to the end, then press a.'
  return { state: { ...state, peek: state.peek ?? { from: 0 }, notice } }
}

function selected(state: WatchState, step: number): WatchState {
  return { ...state, selected: Math.max(0, Math.min(state.rows.length - 1, state.selected + step)) }
}

function scrolled(state: WatchState, step: number): WatchState {
  return { ...state, peek: { from: Math.max(0, (state.peek?.from ?? Number.MAX_SAFE_INTEGER) + step) } }
}

function typeAnswer(state: WatchState, answer: string, key: Key): Pressed {
  const row = state.rows[state.selected]
  if (key.name === 'escape' || !row) return { state: { ...state, answer: undefined } }
  if (key.name === 'return') {
    const done = { ...state, answer: undefined }
    return answer.trim() === ''
      ? { state: done }
      : { state: done, action: { do: 'respond', row, text: answer } }
  }
  if (key.name === 'backspace') {
    const shorter = [...new Intl.Segmenter().segment(answer)].slice(0, -1)
    return { state: { ...state, answer: shorter.map(({ segment }) => segment).join('') } }
  }
  const typed = key.sequence && !key.ctrl && key.sequence >= ' ' ? key.sequence : ''
  return { state: { ...state, answer: answer + typed } }
}
