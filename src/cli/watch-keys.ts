// What the keys of `cc watch` do: to the screen, and what they ask for.
import { isAsking } from './print-coding.ts'
import type { CodingRow } from './print-coding.ts'
import { isAlike, isShownWhole } from './watch-screen.ts'
import type { Screen, WatchState } from './watch-screen.ts'

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

export interface Pressed {
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
  if (step !== undefined) return { state: state.peek ? scrolled(quiet, step) : chosen(quiet, step) }
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

function chosen(state: WatchState, step: number): WatchState {
  const selected = Math.max(0, Math.min(state.rows.length - 1, state.selected + step))
  return { ...state, selected }
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
